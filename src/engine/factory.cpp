// Which engine a problem gets: any psi, then rows in windows, then class features, then the
// plain one.
#include "engine/factory.hpp"

#include <charconv>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "engine/cpu/cpu_engine.hpp"
#include "engine/cuda/cuda_engine.hpp"
#include "engine/device_name.hpp"

namespace topwolf {

std::optional<int> cuda_index(std::string_view device) {
  if (device == "cpu") return {};
  constexpr std::string_view name = "cuda", with_number = "cuda:";
  if (device == name) return 0;
  int index = -1;
  if (device.starts_with(with_number)) {
    const char *const from = device.data() + with_number.size(), *const end = device.data() + device.size();
    const auto [at, error] = std::from_chars(from, end, index);
    if (error == std::errc() && at == end && index >= 0) return index;
  }
  fail(ErrorKind::option, "{} is '{}', but it must be cpu, cuda or cuda:N with the number of a GPU", Field{"device"},
       device);
}

std::unique_ptr<Engine> make_engine(const Problem& problem, const EngineOptions& options) {
  const int threads = resolve_threads(options.threads);
  const std::optional<int> gpu = cuda_index(options.device);
  if (gpu && (options.psi || options.windows || options.classes)) {
    fail(ErrorKind::option, "{} has no {}; {} has them", Field{"device", "cuda"},
         options.psi       ? "joint feature maps"
         : options.windows ? "rows that stay on disk"
                           : "class features",
         Field{"device", "cpu"});
  }
  if (options.psi) return make_joint_engine(problem, *options.psi, threads);
  if (options.windows) return make_window_engine(problem, *options.windows, options.lengths2, threads);
  const GramChoice gram{options.gram, options.shared_gram};
  const auto lengths = [&] {
    return problem.mean ? squared_lengths(problem.X, *problem.mean, problem.bias, threads)
                        : squared_lengths(problem.X, problem.bias, threads);
  };
  const SharedLengths lengths2 = options.lengths2 ? options.lengths2 : share(lengths());
  if (options.classes) return make_class_engine(problem, options.classes, gram, lengths2, threads);
  if (gpu) return make_cuda_engine(problem, *gpu, lengths2, threads);
  return make_cpu_engine(problem, gram, lengths2, threads);
}

}  // namespace topwolf
