// .npz: what was read is the same after it was written and read again.
#include "data/readers.hpp"

#include "data/write.hpp"
#include "rows.hpp"

using namespace topwolf;

namespace {

std::optional<RawDataset> read(const std::string& path, std::optional<Precision> precision) {
  ReadOptions options;
  options.path = path;
  options.precision = precision;
  options.labels_optional = true;
  options.threads = 1;
  return fuzz::attempt([&] { return read_npz(options); });
}

void check(const std::string& path, std::optional<Precision> precision) {
  const auto raw = read(path, precision);
  if (!raw) return;
  // Labels of another number than rows are refused by load_raw, before anything is written.
  const std::int64_t rows = std::visit([](const auto& X) { return X.rows; }, raw->X);
  if (!raw->label.empty() && static_cast<std::int64_t>(raw->label.size()) != rows) return;
  fuzz::check_rows(*raw);

  const std::string written_to = fuzz::scratch_file("again.npz");
  const auto written = fuzz::attempt([&] { return write_npz(*raw, written_to), true; });
  if (!written) return;
  const auto again = read(written_to, precision);
  fuzz::require(again && fuzz::same_features(raw->X, again->X), "features written and read again are the same");
  fuzz::require(raw->spelling.empty() || fuzz::labels_of(*raw) == fuzz::labels_of(*again),
                "labels written and read again are the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::stored(fuzz::text_of(data, size), "input.npz");
  check(path, Precision::float32);
  check(path, Precision::float64);
  check(path, std::nullopt);  // float16 is kept
  return 0;
}
