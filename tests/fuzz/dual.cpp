// The dual file: what is loaded is well formed, and the same after it was saved and loaded again.
#include "topwolf/dual.hpp"

#include "fuzz.hpp"

using namespace topwolf;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t n = 3, m = 4;  // those of the seeds
  const std::string path = fuzz::stored(fuzz::text_of(data, size), "input.dual");
  const auto dual = fuzz::attempt([&] { return load_dual(path, n, m); });
  if (!dual) return 0;
  check_dual(*dual, n, m, "dual");
  const std::string written_to = fuzz::scratch_file("again.dual");
  save_dual(*dual, m, "hash", written_to);
  const SparseRows again = load_dual(written_to, n, m);
  fuzz::require(dual->row_begin == again.row_begin && dual->column == again.column && dual->values == again.values,
                "a dual saved and loaded again is the same");
  return 0;
}
