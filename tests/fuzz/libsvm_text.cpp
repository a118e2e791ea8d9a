// LIBSVM text: rows and errors do not depend on how the text is cut into chunks, and what was read is the same after it
// was written and read again.
#include "data/readers.hpp"

#include "data/write.hpp"
#include "rows.hpp"

using namespace topwolf;

namespace {

std::optional<RawDataset> read(std::string_view text, const ReadOptions& options, std::size_t chunk_bytes,
                               std::string* sentence = nullptr) {
  return fuzz::attempt([&] { return parse_libsvm(TextSource(Buffer(text)), options, "text", chunk_bytes); }, sentence);
}

void check(std::string_view text, const ReadOptions& options) {
  std::string sentence, sentence_in_chunks;
  const auto raw = read(text, options, libsvm_chunk_bytes, &sentence);
  const auto in_chunks = read(text, options, 16, &sentence_in_chunks);
  fuzz::require(sentence == sentence_in_chunks, "errors do not depend on chunks");
  if (!raw) return;
  fuzz::require(fuzz::same_rows(*raw, *in_chunks), "rows do not depend on chunks");
  fuzz::check_rows(*raw);

  const std::string path = fuzz::scratch_file("again.svm");
  const auto written = fuzz::attempt([&] { return write_libsvm(*raw, path), true; });
  if (!written) return;
  const auto again = read(fuzz::content(path), options, libsvm_chunk_bytes);
  fuzz::require(again && fuzz::same_rows(*raw, *again), "rows written and read again are the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  ReadOptions options;
  options.threads = 1;
  check(text, options);
  options.precision = Precision::float64;
  options.index_base = 0;
  options.labels_optional = true;
  check(text, options);
  options.labels_optional = false;
  options.label_weights = true;
  static_cast<void>(read(text, options, libsvm_chunk_bytes));
  return 0;
}
