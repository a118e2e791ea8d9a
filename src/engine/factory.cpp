#include "engine/factory.hpp"

#include "core/threads.hpp"
#include "engine/cpu/cpu_engine.hpp"

namespace topwolf {

std::unique_ptr<Engine> make_engine(const Problem& problem, const EngineOptions& options) {
  const int threads = resolve_threads(options.threads);
  if (options.psi) return make_joint_engine(problem, *options.psi, threads);
  const GramChoice gram{options.gram, options.shared_gram};
  if (options.classes) return make_class_engine(problem, options.classes, gram, threads);
  return make_cpu_engine(problem, gram, threads);
}

}  // namespace topwolf
