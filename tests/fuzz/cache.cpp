// .twd, topwolf's own store of data: what is read is a data set, the same after it was written and read
// again, and goes the way of every other data set.
#include "data/readers.hpp"
#include "data/write.hpp"

#include "rows.hpp"

using namespace topwolf;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::stored(fuzz::text_of(data, size), "input.twd");
  const auto raw = fuzz::attempt([&] { return read_cache(path); });
  if (!raw) return 0;
  fuzz::check_rows(*raw);
  const std::string written_to = fuzz::scratch_file("again.twd");
  write_cache(*raw, written_to);
  const RawDataset again = read_cache(written_to);
  fuzz::require(fuzz::same_rows(*raw, again) && raw->index_base == again.index_base &&
                    raw->label_type == again.label_type && raw->weights == again.weights,
                "rows written and read again are the same");
  ReadOptions options;
  options.path = path;
  options.labels_optional = true;
  options.threads = 1;
  fuzz::attempt([&] { return read_raw(options); });
  return 0;
}
