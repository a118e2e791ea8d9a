// LIBLINEAR's models: what is read is a model, and the same classifier after it was exported and read again, but for
// the last bit of weights so small that their half is not a number.
#include "model/liblinear_format.hpp"

#include <cmath>
#include <limits>

#include "models.hpp"

using namespace topwolf;

namespace {

bool halves_alike(double a, double b) {
  return a == b || std::abs(a - b) <= std::numeric_limits<double>::denorm_min();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto model = fuzz::attempt([&] { return parse_liblinear(fuzz::text_of(data, size), "model"); });
  if (!model) return 0;
  fuzz::check_loaded_model(*model);
  const std::string path = fuzz::scratch_file("again.liblinear");
  save_liblinear(*model, path);
  auto again = fuzz::attempt([&] { return parse_liblinear(fuzz::content(path), path); });
  if (again && std::equal(model->W.begin(), model->W.end(), again->W.begin(), again->W.end(), halves_alike)) {
    again->W = model->W;
  }
  fuzz::require(again && fuzz::same_classifier(*model, *again), "a model exported and read again predicts the same");
  return 0;
}
