// Which engine a problem gets: any psi, then rows in windows, then class features, then the
// plain one.
#include "engine/factory.hpp"

#include "core/threads.hpp"
#include "engine/cpu/cpu_engine.hpp"

namespace topwolf {

std::unique_ptr<Engine> make_engine(const Problem& problem, const EngineOptions& options) {
  const int threads = resolve_threads(options.threads);
  if (options.psi) return make_joint_engine(problem, *options.psi, threads);
  if (options.windows) return make_window_engine(problem, *options.windows, options.lengths2, threads);
  const GramChoice gram{options.gram, options.shared_gram};
  const auto lengths = [&] {
    return problem.mean ? squared_lengths(problem.X, *problem.mean, problem.bias, threads)
                        : squared_lengths(problem.X, problem.bias, threads);
  };
  const SharedLengths lengths2 = options.lengths2 ? options.lengths2 : share(lengths());
  if (options.classes) return make_class_engine(problem, options.classes, gram, lengths2, threads);
  return make_cpu_engine(problem, gram, lengths2, threads);
}

}  // namespace topwolf
