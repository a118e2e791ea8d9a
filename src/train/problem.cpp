#include "train/problem.hpp"

#include <cmath>
#include <utility>

#include "core/fail.hpp"

namespace topwolf {
namespace {

// Null where the usual margins would say the same.
std::shared_ptr<const std::vector<double>> cost_of(std::shared_ptr<const LossSpec> asked, const Margins& margins,
                                                   double usual, std::int64_t m) {
  const std::vector<double>& cost = asked->cost_matrix;
  if (cost.empty()) return nullptr;
  if (margins.given())
    fail(ErrorKind::option, "{} and {} both say what errors cost; give one of them", Field{"cost_matrix"},
         Field{"margins"});
  for (std::int64_t y = 0; y < m; ++y) {
    for (std::int64_t j = 0; j < m; ++j) {
      if (cost[static_cast<std::size_t>(y * m + j)] != (y == j ? 0.0 : usual)) {
        return {std::move(asked), &cost};
      }
    }
  }
  return nullptr;
}

}  // namespace

void set_lambda(const TrainOptions& options, Problem& problem) {
  problem.lambda = options.lambda ? *options.lambda : 1.0 / (options.C * problem.N);
  constexpr double least = 1e-305, most = 1e305;  // its inverse, too, must have precision
  const double lambda_N = problem.lambda * problem.N;
  if (!(lambda_N >= least && lambda_N <= most)) {
    fail(ErrorKind::option,
         "lambda is {:.3g} for examples that weigh {:.3g} in all, but their product must lie between {} and {}",
         problem.lambda, problem.N, least, most);
  }
}

void set_loss(std::shared_ptr<const LossSpec> asked, const Margins& margins, Problem& problem) {
  problem.loss = resolve_loss(*asked, problem.m);
  problem.cost = cost_of(std::move(asked), margins, problem.loss.usual_margin(), problem.m);
}

LossSpec resolved_spec(const LossSpec& asked, const Loss& loss) {
  LossSpec spec = asked;
  if (traits(spec.name).takes_k()) spec.k = loss.K();
  if (traits(spec.name).takes_rho()) spec.rho = loss.rho;
  if (loss.entropic()) spec.temperature = loss.temperature;
  if (loss.oracle) {
    spec.title = loss.oracle->name();
    spec.rho = loss.rho;  // its reach, for whoever has the model and not the oracle
  }
  return spec;
}

}  // namespace topwolf
