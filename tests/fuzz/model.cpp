// The model file: what is loaded satisfies check_model, predicts, and is the same after it was saved and loaded again.
#include "models.hpp"

using namespace topwolf;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = fuzz::stored(fuzz::text_of(data, size), "input.topwolf");
  if (const auto model = fuzz::attempt([&] { return load_model(path); })) fuzz::check_loaded_model(*model);
  return 0;
}
