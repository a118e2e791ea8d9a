// Recomputes what a model claims. See verify.hpp.
#include "report/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "data/fingerprint.hpp"
#include "model/dual_file.hpp"
#include "model/shared_columns.hpp"
#include "report/row_check.hpp"

namespace topwolf {
namespace {

using Vector = std::vector<double>;

// The non-zeros of one example, the constant feature included.
struct Example {
  std::vector<std::int64_t> column;
  Vector value;
  void add(std::int64_t c, double x) {
    if (x == 0.0) return;
    column.push_back(c);
    value.push_back(x);
  }
};

// Calls body(column, value) for what row i stores.
template <class T, class Body>
void for_stored(const DenseView<T>& X, std::int64_t i, const Body& body) {
  for (std::int64_t c = 0; c < X.cols; ++c) body(c, static_cast<double>(X.data[i * X.stride + c]));
}

template <class T, class Body>
void for_stored(const CsrView<T>& X, std::int64_t i, const Body& body) {
  for (std::int64_t p = X.row_begin[i]; p < X.row_begin[i + 1]; ++p) {
    body(X.column[p], static_cast<double>(X.value[p]));
  }
}

Example example_of(const Dataset& data, double bias, std::int64_t i) {
  Example example;
  std::visit([&](const auto& X) { for_stored(X, i, [&](std::int64_t c, double x) { example.add(c, x); }); },
             data.X.view());
  example.add(data.X.cols(), bias);
  return example;
}

Loss loss_of(const LossSpec& spec, std::int64_t m) {
  Loss loss;
  const bool top_k = spec.name == LossName::top_k || spec.name == LossName::weighted_top_k;
  loss.family = top_k ? Family::top_k : Family::usunier;
  loss.smoothing = spec.smoothing;
  if (spec.name == LossName::weighted_top_k || spec.name == LossName::weighted_usunier) {
    loss.rho = spec.rho;
  } else if (spec.name == LossName::top_k || spec.name == LossName::usunier) {
    const std::int64_t k = spec.k.value_or(0);
    if (k < 1 || k >= m) fail(ErrorKind::data, "the model's loss has k = {}; 1 to {} is allowed", k, m - 1);
    loss.rho.assign(static_cast<std::size_t>(k), 1.0 / static_cast<double>(k));
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

// The weights that are trained: W, or V with class features.
const Vector& trained(const Classifier& model) {
  return model.class_features.rows() > 0 ? model.V : model.W;
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

// delta: the row's own margins, or row y of the cost matrix, or 1 for every other class.
Vector margins_of(const Dataset& data, const Model& model, std::int64_t i) {
  const std::int64_t m = model.m(), y = data.y[i];
  const Vector& costs = model.provenance.loss.cost_matrix;
  Vector delta(static_cast<std::size_t>(m), 1.0);
  if (data.margins.given()) {
    if (data.margins.values.sparse()) std::fill(delta.begin(), delta.end(), data.margins.other);
    std::visit([&](const auto& rows) { for_stored(rows, i, [&](std::int64_t j, double x) { delta[j] = x; }); },
               data.margins.values.view());
  } else if (!costs.empty()) {
    std::copy_n(costs.begin() + y * m, m, delta.begin());
  }
  delta[y] = 0.0;
  return delta;
}

// phi row by row; the identity where there are no class features.
struct ClassRows {
  std::int64_t p = 0;
  std::vector<Example> row;  // m
};

ClassRows class_rows(const Classifier& model) {
  const std::int64_t m = model.m();
  const bool given = model.class_features.rows() > 0;
  ClassRows phi{given ? model.class_features.cols() : m, std::vector<Example>(static_cast<std::size_t>(m))};
  for (std::int64_t j = 0; j < m; ++j) {
    if (!given) {
      phi.row[j].add(j, 1.0);
      continue;
    }
    std::visit([&](const auto& rows) { for_stored(rows, j, [&](std::int64_t c, double x) { phi.row[j].add(c, x); }); },
               model.class_features.view());
  }
  return phi;
}

// (D x m): the features of one example then meet all classes in one plain loop.
Vector transposed_weights(const Classifier& model, const ClassRows& phi) {
  const std::int64_t m = model.m(), D = model.D();
  const Vector& V = trained(model);
  Vector weights(static_cast<std::size_t>(D * m), 0.0);
  for (std::int64_t j = 0; j < m; ++j) {
    const Example& row = phi.row[j];
    for (std::size_t e = 0; e < row.column.size(); ++e) {
      for (std::int64_t c = 0; c < D; ++c) weights[c * m + j] += row.value[e] * V[row.column[e] * D + c];
    }
  }
  return weights;
}

// ||phi^T S||^2 / scale^2 for S^T (D x m). Divided before it is squared, here and below: the squares themselves need
// not fit in a double.
double mapped_norm2(const Vector& transposed, const ClassRows& phi, double scale) {
  const auto m = static_cast<std::int64_t>(phi.row.size());
  const std::int64_t D = static_cast<std::int64_t>(transposed.size()) / m;
  double total = 0.0;
  Vector sum(static_cast<std::size_t>(phi.p));
  for (std::int64_t c = 0; c < D; ++c) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::int64_t j = 0; j < m; ++j) {
      const Example& row = phi.row[j];
      for (std::size_t e = 0; e < row.column.size(); ++e) sum[row.column[e]] += row.value[e] * transposed[c * m + j];
    }
    for (const double x : sum) total += (x / scale) * (x / scale);
  }
  return total;
}

double scaled_norm2(const Vector& v, double scale) {
  double total = 0.0;
  for (const double x : v) total += (scale * x) * (scale * x);
  return total;
}

double example_loss(const Example& example, const Vector& weights, const Loss& loss, const Vector& delta,
                    std::int64_t y) {
  const std::size_t m = delta.size();
  Vector s(m, 0.0);
  for (std::size_t p = 0; p < example.column.size(); ++p) {
    const double x = example.value[p];
    const double* w = weights.data() + example.column[p] * static_cast<std::int64_t>(m);
    for (std::size_t j = 0; j < m; ++j) s[j] += x * w[j];
  }
  return smoothed_loss(loss, {delta, s, y});
}

// What one run over the data finds, example by example.
struct Pass {
  Vector loss;              // n: Phi_i at the model's weights
  Vector infeasibility;     // n
  std::string fingerprint;  // of the data
  double weight_sum = 0.0;
  double dual_terms = 0.0;  // sum of omega_i (<c_i, alpha_i> - smoothing/2 |alpha_i|^2)
  Vector dual_weights;      // (D x m): sum of omega_i x_i alpha_i^T = lambda N W(A)^T
};

Pass run_over(const Dataset& data, const Model& model, const ClassRows& phi, const Loss& loss, const SparseRows& dual) {
  const std::int64_t n = data.X.rows(), m = model.m();
  const Vector weights = transposed_weights(model, phi);
  Pass pass;
  pass.loss.resize(n);
  pass.infeasibility.resize(n);
  pass.dual_weights.assign(weights.size(), 0.0);
  parallel_for(n, resolve_threads(0), [&](std::int64_t i) {
    const Vector delta = margins_of(data, model, i);
    pass.loss[i] = example_loss(example_of(data, model.bias, i), weights, loss, delta, data.y[i]);
    Vector alpha(static_cast<std::size_t>(m), 0.0);
    for (std::int64_t p = dual.row_begin[i]; p < dual.row_begin[i + 1]; ++p) alpha[dual.column[p]] = dual.values[p];
    pass.infeasibility[i] = row_infeasibility(loss, alpha, data.y[i]);
  });
  for (std::int64_t i = 0; i < n; ++i) {
    const double omega = data.weights.empty() ? 1.0 : data.weights[i];
    const Vector delta = margins_of(data, model, i);
    const Example example = example_of(data, model.bias, i);
    pass.weight_sum += omega;
    for (std::int64_t p = dual.row_begin[i]; p < dual.row_begin[i + 1]; ++p) {
      const std::int64_t j = dual.column[p];
      const double alpha = dual.values[p];
      pass.dual_terms -= omega * (delta[j] * alpha + 0.5 * loss.smoothing * alpha * alpha);
      for (std::size_t q = 0; q < example.column.size(); ++q) {
        pass.dual_weights[example.column[q] * m + j] += omega * alpha * example.value[q];
      }
    }
  }
  return pass;
}

// What infeasibility can have added to the dual. A row that leaves its set by e (in units of R = sum(rho)) is within it
// when divided by 1 + e R / rho_1, so it is off by at most 2 R e R / rho_1 in sum; that meets scores of the optimum,
// which are bounded because lambda/2 ||W*||^2 <= P.
double slack_of(const Dataset& data, const Model& model, const ClassRows& phi, const Loss& loss, const Pass& pass,
                double primal) {
  const bool costs = data.margins.given() || !model.provenance.loss.cost_matrix.empty();
  double R = 0.0, largest_margin = costs ? 0.0 : 1.0, longest_phi2 = 0.0;
  for (const double weight : loss.rho) R += weight;
  for (const double cost : model.provenance.loss.cost_matrix) largest_margin = std::max(largest_margin, cost);
  for (const Example& row : phi.row) {
    double phi2 = 0.0;
    for (const double x : row.value) phi2 += x * x;
    longest_phi2 = std::max(longest_phi2, phi2);
  }
  const double length = std::sqrt(2.0 * longest_phi2) * std::sqrt(primal) / std::sqrt(model.provenance.lambda);
  // In the top-k family beta_y must fit in, too, and what mends rank k is a part of rho_k, k < K.
  const bool ranked = loss.family == Family::top_k && loss.rho.size() > 1;
  const double least = ranked ? loss.rho[loss.rho.size() - 2] : loss.rho.front();
  double slack = 0.0;
  for (std::size_t i = 0; i < pass.infeasibility.size(); ++i) {
    if (!(pass.infeasibility[i] > 0.0)) continue;
    double x2 = 0.0;
    for (const double x : example_of(data, model.bias, static_cast<std::int64_t>(i)).value) x2 += x * x;
    if (data.margins.given()) {
      for (const double x : margins_of(data, model, static_cast<std::int64_t>(i)))
        largest_margin = std::max(largest_margin, x);
    }
    const double off = 2.0 * R * pass.infeasibility[i] * R / least;
    slack += (data.weights.empty() ? 1.0 : data.weights[i]) * off * (largest_margin + 2.0 * std::sqrt(x2) * length);
  }
  return slack / pass.weight_sum;
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
  if (!(std::abs(made.weight_sum - pass.weight_sum) <= verification_tolerance * pass.weight_sum)) {
    return fmt::format("The claim is about other data: examples weigh {:.10g} in all, the model says {:.10g}.",
                       pass.weight_sum, made.weight_sum);
  }
  if (!(v.infeasibility <= verification_tolerance)) {
    return fmt::format("The dual is not feasible: row {} leaves its set by {:.3g} of sum(rho), {:.0e} is allowed.",
                       worst - pass.infeasibility.begin() + 1, v.infeasibility, verification_tolerance);
  }
  if (!(made.claim->certificate.primal >= v.primal - allowance)) {
    return fmt::format("The claim is false: the model says its primal is {:.12g}, but it is {:.12g}.",
                       made.claim->certificate.primal, v.primal);
  }
  if (!(made.claim->certificate.dual <= v.dual + allowance)) {
    return fmt::format("The claim is false: the model says the dual reaches {:.12g}, but it reaches {:.12g}.",
                       made.claim->certificate.dual, v.dual);
  }
  v.holds = true;
  return fmt::format("The claim holds: the optimum lies between {:.12g} and {:.12g}.", v.dual, v.primal);
}

}  // namespace

Verification verify(const Dataset& given, const Model& claimed, const SparseRows& dual) {
  Dataset data = given;
  Model model = claimed;
  data.class_features = model.class_features;
  check_fit(data, model);
  check_dual(dual, data.X.rows(), model.m(), "the dual");
  const std::string hash = fingerprint(data);
  if (!model.columns.empty()) {
    SharedColumns shared = on_shared_columns(data.X, model);
    data.X = std::move(shared.X);
    static_cast<Classifier&>(model) = std::move(shared.classifier);
  }
  const Loss loss = loss_of(model.provenance.loss, model.m());
  const ClassRows phi = class_rows(model);
  Pass pass = run_over(data, model, phi, loss, dual);
  pass.fingerprint = hash;
  if (!(pass.weight_sum > 0.0)) fail(ErrorKind::data, "the example weights sum to 0");

  double losses = 0.0;
  for (std::size_t i = 0; i < pass.loss.size(); ++i) {
    losses += (data.weights.empty() ? 1.0 : data.weights[i]) * pass.loss[i];
  }
  const double N = pass.weight_sum, lambda = model.provenance.lambda;
  Verification v;
  v.primal = 0.5 * scaled_norm2(trained(model), std::sqrt(lambda)) + losses / N;
  v.dual = pass.dual_terms / N - 0.5 * mapped_norm2(pass.dual_weights, phi, std::sqrt(lambda) * N);
  v.dual -= slack_of(data, model, phi, loss, pass, v.primal);
  v.gap = v.primal - v.dual;
  v.relative_gap = v.gap <= 0.0 ? 0.0 : v.gap / v.primal;
  v.infeasibility = *std::max_element(pass.infeasibility.begin(), pass.infeasibility.end());
  v.finding = judge(model.provenance, pass, v);
  return v;
}

}  // namespace topwolf
