// Recomputes what a model claims, as bounds that hold whatever rounding does (ledger, G4): the primal is not
// rounded down, nor the dual up. What is proven is in proof.hpp; here is whether data, model and dual fit together, one
// run over the data, and the judgement.
#include "topwolf/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "data/fingerprint.hpp"
#include "data/window.hpp"
#include "model/shared_columns.hpp"
#include "report/proof.hpp"
#include "topwolf/dual.hpp"

namespace topwolf {
namespace {

using namespace proof;

Loss loss_of(const LossSpec& spec, std::int64_t m) {
  Loss loss;
  if (spec.name == LossName::oracle) {
    if (!spec.oracle) {
      fail(
          ErrorKind::data,
          "the model's loss, {}, is known by its oracle alone, which is a program's own and not here: that program can "
          "verify it",
          spec.title);
    }
    loss.rho = {spec.oracle->reach()};
    if (!(loss.rho.front() > 0.0) || !std::isfinite(loss.rho.front()))
      fail(ErrorKind::option, "the reach of the loss {} is {}", spec.title, loss.rho.front());
    loss.smoothing = spec.smoothing;
    loss.oracle = spec.oracle;
    loss.classes = m;
    return loss;
  }
  const LossTraits& of = traits(spec.name);
  loss.family = of.family;
  loss.smoothing = spec.smoothing;
  if (of.takes_temperature) {
    loss.temperature = spec.temperature.value_or(1.0);
    if (!(loss.temperature > 0.0) || !std::isfinite(loss.temperature) || loss.smoothing != 0.0) {
      fail(ErrorKind::data, "the model's temperature is {} and its smoothing {}; more than 0, and 0, is allowed",
           loss.temperature, loss.smoothing);
    }
  }
  switch (of.ranks) {
    case Ranks::largest:
      loss.rho = {1.0};
      break;
    case Ranks::mean: {
      const std::int64_t k = spec.k.value_or(0);
      if (k < 1 || k >= m) fail(ErrorKind::data, "the model's loss has k = {}; 1 to {} is allowed", k, m - 1);
      loss.rho.assign(static_cast<std::size_t>(k), 1.0 / static_cast<double>(k));
      break;
    }
    case Ranks::given:
      loss.rho = spec.rho;
  }
  const auto zero = std::find(loss.rho.begin(), loss.rho.end(), 0.0);
  const bool finite = std::all_of(loss.rho.begin(), loss.rho.end(), [](double r) { return std::isfinite(r); });
  if (!finite || zero == loss.rho.begin() || zero - loss.rho.begin() >= m || loss.rho.back() < 0.0 ||
      !std::is_sorted(loss.rho.rbegin(), loss.rho.rend())) {
    fail(ErrorKind::data, "the model's rho must be finite, non-increasing, positive at first, and 0 from place {} on",
         m);
  }
  loss.rho.erase(zero, loss.rho.end());
  return loss;
}

void check_fit(const Dataset& data, const Model& model) {
  const std::int64_t n = data.X.rows(), m = model.m();
  const auto size = [](const auto& items) { return static_cast<std::int64_t>(items.size()); };
  if (n < 1 || size(data.y) != n) fail(ErrorKind::data, "the data has {} rows and {} labels", n, data.y.size());
  if (data.X.cols() != model.d) {
    fail(ErrorKind::data, "the data has {} features, but the model was trained on {}", data.X.cols(), model.d);
  }
  if (m < 2 || data.classes.names != model.classes.names) {
    fail(ErrorKind::data, "the {} classes of the data are not the {} classes of the model", data.classes.size(), m);
  }
  const std::int64_t rows = model.class_features.rows() > 0 ? model.class_features.cols() : m;
  if (size(trained(model)) != rows * model.D()) {
    fail(ErrorKind::data, "the model has {} weights, but {} x {} are needed", trained(model).size(), rows, model.D());
  }
  check_class_features(model.class_features, m);
  check_margins(data.margins, data.y, m);
  check_weights(data.weights, n);
  if (!std::all_of(data.y.begin(), data.y.end(), [m](std::int32_t y) { return y >= 0 && y < m; })) {
    fail(ErrorKind::data, "A row of the data has no label among the model's {} classes", m);
  }
  const std::vector<double>& mean = model.provenance.mean;
  if (!mean.empty() && (size(mean) != model.width() || model.bias == 0.0)) {
    fail(ErrorKind::data, "the model has a mean of {} numbers and a bias of {}, but {} and a bias are needed",
         mean.size(), model.bias, model.width());
  }
  const double lambda = model.provenance.lambda;
  const LossSpec& loss = model.provenance.loss;
  if (!(lambda > 0.0) || !std::isfinite(lambda) || !(loss.smoothing >= 0.0)) {
    fail(ErrorKind::data, "the model's lambda is {} and its smoothing {}; more than 0, and at least 0, is allowed",
         lambda, loss.smoothing);
  }
  if (!loss.cost_matrix.empty() && size(loss.cost_matrix) != m * m) {
    fail(ErrorKind::data, "the model's cost matrix has {} entries, but {} x {} are needed", loss.cost_matrix.size(), m,
         m);
  }
}

// A number for each of these columns, 0 for those that are not the model's.
Vector spread_mean(const Model& model, const std::vector<std::int32_t>& columns) {
  const Vector& mean = model.provenance.mean;
  if (mean.empty()) return {};
  Vector out(columns.size(), 0.0);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    out[std::lower_bound(columns.begin(), columns.end(), model.columns[c]) - columns.begin()] = mean[c];
  }
  return out;
}

struct Pass {
  std::string fingerprint;  // of the data
  double weight_sum = 0.0;
  bool right_mean = true;  // if the model says that one was taken off the rows
  Vector infeasibility;    // n
  Real primal = 0.0L;      // P at the model's weights is not above this, ...
  Real dual = 0.0L;        // ... and D at a point of the dual set not below this
};

// Whether the model's mean is the rows', as near as two sums of the same numbers are. Far from 0 a mean moves the
// objective by many times its own error: it may have next to none.
bool is_mean(const Dataset& data, const Mean& mean, Real N) {
  const std::size_t d = mean.values.size();
  if (d == 0) return true;
  std::vector<Real> sum(d, 0.0L), size(d, 0.0L);
  constexpr Real lost = std::numeric_limits<double>::denorm_min();  // of a share, in double, that underflows
  constexpr Real rounding = 1e-14L;                                 // of the terms, and long sums of them
  for_windows(data.X, resolve_threads(0), [&](std::int64_t first, const FeatureView& X) {
    const std::int64_t rows = std::visit([](const auto& view) { return view.rows; }, X);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Example example = example_of(X, 0.0, i);
      const Real share = (data.weights.empty() ? 1.0 : data.weights[first + i]) / N;
      for (std::size_t q = 0; q < example.column.size(); ++q) {
        sum[example.column[q]] += share * example.value[q];
        size[example.column[q]] += (share + lost / rounding) * std::abs(example.value[q]);
      }
    }
  });
  constexpr Real least = 1e-300L;  // where a double has no precision left
  for (std::size_t c = 0; c < d; ++c) {
    if (!(std::abs(mean.values[c] - sum[c]) <= rounding * size[c] + least)) return false;
  }
  return true;
}

Pass run_over(const Dataset& data, const Model& model, const ClassRows& phi, const Loss& loss, const SparseRows& dual) {
  const std::int64_t n = data.X.rows(), m = model.m(), D = model.D();
  const Mean mean = mean_of(model);
  const Weights weights = weights_of(model, phi, mean);
  const auto omega = [&](std::int64_t i) { return data.weights.empty() ? 1.0 : data.weights[i]; };
  Real N = 0.0L;
  for (std::int64_t i = 0; i < n; ++i) N += omega(i);
  Pass pass;
  pass.weight_sum = static_cast<double>(N);
  if (!(N > 0.0L)) fail(ErrorKind::data, "the example weights sum to 0");
  pass.right_mean = is_mean(data, mean, N);
  pass.infeasibility.resize(n);
  std::vector<Real> losses(static_cast<std::size_t>(n));
  std::vector<RowMiss> miss(static_cast<std::size_t>(n));
  const std::optional<Claim>& claim = model.provenance.claim;
  const Real allowed = claim ? 0.1L * verification_tolerance * claim->certificate.primal : 0.0L;
  DualSums sums;
  sums.W.assign(static_cast<std::size_t>(m * D), 0.0);
  sums.coefficients.assign(static_cast<std::size_t>(m), 0.0L);
  sums.lengths.assign(static_cast<std::size_t>(m), 0.0L);
  sums.entries.assign(static_cast<std::size_t>(m), 0);
  Real over = 1.0L;
  for_windows(data.X, resolve_threads(0), [&](std::int64_t first, const FeatureView& X) {
    const std::int64_t rows = std::visit([](const auto& view) { return view.rows; }, X);
    parallel_for(rows, resolve_threads(0), [&](std::int64_t r) {
      const std::int64_t i = first + r;
      const Example example = example_of(X, model.bias, r);
      losses[i] = loss_of_example(example, weights, phi, loss, margins_of(data, model, i), data.y[i], allowed);
      Vector alpha(static_cast<std::size_t>(m), 0.0);
      for (std::int64_t p = dual.row_begin[i]; p < dual.row_begin[i + 1]; ++p) alpha[dual.column[p]] = dual.values[p];
      miss[i] = row_miss(loss, alpha, data.y[i]);
      pass.infeasibility[i] = miss[i].infeasibility;
    });
    for (std::int64_t i = first; i < first + rows; ++i) {
      const auto count = static_cast<std::size_t>(dual.row_begin[i + 1] - dual.row_begin[i]);
      if (!(omega(i) > 0.0)) continue;
      pass.primal += omega(i) / N * losses[i];
      over = std::max(over, miss[i].ratio);
      add_row({{dual.column.data() + dual.row_begin[i], count}, {dual.values.data() + dual.row_begin[i], count}},
              miss[i], data.y[i], example_of(X, model.bias, i - first), margins_of(data, model, i), omega(i) / N, model,
              phi, mean, sums);
    }
  });
  const Real lambda = model.provenance.lambda, up = 1.0L + roundings(static_cast<std::size_t>(2 * n));
  pass.primal = (pass.primal + 0.5L * lambda * weights.norm2) * up;
  const Real length = longest_weights(sums, phi, mean, D);
  const Real rounding = roundings(dual.values.size() + static_cast<std::size_t>(2 * n)) * (sums.size + sums.moved);
  pass.dual = sums.terms - sums.moved - rounding - 0.5L * lambda * length * length * up;
  // D(A / t) >= D(A) / t, because D is concave and D(0) = 0.
  if (pass.dual > 0.0L) pass.dual /= over * up;
  return pass;
}

// The double that is not below.
double rounded_up(Real x) {
  const auto near = static_cast<double>(x);
  return static_cast<Real>(near) < x ? std::nextafter(near, std::numeric_limits<double>::infinity()) : near;
}

// The first objection, or the confirmation. Written so that a claim that is not a number fails.
std::string judge(const Provenance& made, const Pass& pass, Verification& v) {
  const auto worst = std::max_element(pass.infeasibility.begin(), pass.infeasibility.end());
  const double allowance = verification_tolerance * v.primal;
  if (!made.claim) return "The model claims no certificate, so there is nothing to confirm.";
  if (!made.data_hash.empty() && made.data_hash != pass.fingerprint) {
    return "The claim is about other data: the fingerprint of these rows, labels, weights and margins is not the one "
           "in the model.";
  }
  if (!pass.right_mean) return "The claim is about other data: the mean of these rows is not the one in the model.";
  if (!(std::abs(made.weight_sum - pass.weight_sum) <= verification_tolerance * pass.weight_sum)) {
    return fmt::format("The claim is about other data: examples weigh {:.10g} in all, the model says {:.10g}.",
                       pass.weight_sum, made.weight_sum);
  }
  if (!(v.infeasibility <= verification_tolerance)) {
    return fmt::format("The dual is not feasible: row {} leaves its set by {:.3g} of sum(rho), {:.0e} is allowed.",
                       worst - pass.infeasibility.begin() + 1, v.infeasibility, verification_tolerance);
  }
  if (!(made.claim->certificate.primal >= v.primal - allowance)) {
    return fmt::format(
        "The claim does not hold: the model says its primal is {:.12g}, but what can be proven is {:.12g}.",
        made.claim->certificate.primal, v.primal);
  }
  if (!(made.claim->certificate.dual <= v.dual + allowance)) {
    return fmt::format(
        "The claim does not hold: the model says the dual reaches {:.12g}, but what can be proven is {:.12g}.",
        made.claim->certificate.dual, v.dual);
  }
  v.holds = true;
  return fmt::format("The claim holds{}: the optimum{} lies between {:.12g} and {:.12g}.", condition_of(made.loss),
                     made.mean.empty() ? "" : ", regularised at the mean of the rows,", v.dual, v.primal);
}

}  // namespace

Verification verify(const Dataset& given, const Model& claimed, const SparseRows& dual) {
  const IeeeArithmetic ieee;
  Dataset data = given;
  Model model = claimed;
  data.class_features = model.class_features;
  check_fit(data, model);
  check_dual(dual, data.X.rows(), model.m(), "the dual");
  const std::string hash = fingerprint(data);
  if (!model.columns.empty()) {
    SharedColumns shared = on_shared_columns(data.X, model);
    model.provenance.mean = spread_mean(model, shared.columns);
    data.X = std::move(shared.X);
    static_cast<Classifier&>(model) = std::move(shared.classifier);
  }
  const Loss loss = loss_of(model.provenance.loss, model.m());
  Pass pass = run_over(data, model, class_rows(model), loss, dual);
  pass.fingerprint = hash;
  Verification v;
  v.primal = rounded_up(pass.primal);
  v.dual = -rounded_up(-pass.dual);
  v.gap = v.primal - v.dual;
  v.relative_gap = v.gap <= 0.0 ? 0.0 : v.gap / v.primal;
  v.infeasibility = *std::max_element(pass.infeasibility.begin(), pass.infeasibility.end());
  v.finding = judge(model.provenance, pass, v);
  return v;
}

}  // namespace topwolf
