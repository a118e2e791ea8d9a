// CSV: what was read is the same after it was written and read again.
#include "data/readers.hpp"

#include "data/write.hpp"
#include "rows.hpp"

using namespace topwolf;

namespace {

std::optional<RawDataset> read(std::string_view text, const ReadOptions& options) {
  return fuzz::attempt([&] { return parse_csv(Buffer(text), options, "text"); });
}

void check(std::string_view text, const ReadOptions& options) {
  const auto raw = read(text, options);
  if (!raw) return;
  fuzz::check_rows(*raw);

  const std::string path = fuzz::scratch_file("again.csv");
  write_csv(*raw, path);
  ReadOptions own = options;
  own.label_column.clear();  // it is called label now
  const auto again = read(fuzz::content(path), own);
  fuzz::require(again && fuzz::same_rows(*raw, *again), "rows written and read again are the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  ReadOptions options;
  check(text, options);
  options.precision = Precision::float64;
  options.label_column = "1";
  check(text, options);
  options.label_column.clear();
  options.labels_path = "elsewhere";  // no label column
  check(text, options);
  return 0;
}
