// What stands in the place of the CUDA engine where it was not compiled.
#include "core/fail.hpp"
#include "engine/cuda/cuda_engine.hpp"

namespace topwolf {

std::unique_ptr<Engine> make_cuda_engine(const Problem&, int, SharedLengths, int) {
  fail(ErrorKind::option,
       "{} needs a build with CUDA, which this is not: cmake --preset cuda, where nvcc is installed, makes one",
       Field{"device", "cuda"});
}

}  // namespace topwolf
