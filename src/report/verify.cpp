// Recomputes what a model claims, as bounds that hold whatever rounding does (docs/maths.md, G4): the primal is not
// rounded down, nor the dual up. See verify.hpp.
#include "topwolf/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "data/fingerprint.hpp"
#include "model/shared_columns.hpp"
#include "report/row_check.hpp"
#include "topwolf/dual.hpp"

namespace topwolf {
namespace {

using Vector = std::vector<double>;
using Real = long double;

template <class T>
constexpr T unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

// So many roundings in long double, and some more for what is done with the sum.
Real roundings(std::size_t count) {
  return static_cast<Real>(count + 16) * unit_roundoff<Real>;
}

Real norm2(std::span<const double> values) {
  Real total = 0.0L;
  for (const double x : values) total += static_cast<Real>(x) * x;
  return total;
}

// The non-zeros of one example, the constant feature included; or of one row of phi.
struct Example {
  std::vector<std::int64_t> column;
  Vector value;
  void add(std::int64_t c, double x) {
    if (x == 0.0) return;
    column.push_back(c);
    value.push_back(x);
  }
  Real length() const { return std::sqrt(norm2(value)) * (1.0L + roundings(value.size())); }
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
  std::vector<Example> row;    // m
  std::vector<Real> length{};  // m
  Real longest = 0.0L;         // of the rows
  std::int64_t most = 0;       // non-zeros of a row
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
  for (const Example& row : phi.row) {
    phi.length.push_back(row.length());
    phi.longest = std::max(phi.longest, phi.length.back());
    phi.most = std::max(phi.most, static_cast<std::int64_t>(row.column.size()));
  }
  return phi;
}

// ---- The primal

// The trained weights V (p x D; W where there is no phi), the other way round: the features of one example then meet
// all rows of V in one plain loop.
struct Weights {
  Vector transposed;    // (D x p)
  Real longest = 0.0L;  // no w_j = phi_j V is longer, nor the sum of |phi_jr| ||v_r||
  Real norm2 = 0.0L;    // ||V||^2, not rounded down
};

Weights weights_of(const Model& model, const ClassRows& phi) {
  const std::int64_t D = model.D();
  const Vector& V = trained(model);
  Weights weights{Vector(V.size())};
  for (std::int64_t r = 0; r < phi.p; ++r) {
    const std::span<const double> row(V.data() + r * D, static_cast<std::size_t>(D));
    for (std::int64_t c = 0; c < D; ++c) weights.transposed[c * phi.p + r] = row[c];
    const Real of_row = norm2(row);
    weights.norm2 += of_row;
    weights.longest = std::max(weights.longest, of_row);
  }
  weights.norm2 *= 1.0L + roundings(static_cast<std::size_t>(D + phi.p));
  const bool mapped = model.class_features.rows() > 0;
  weights.longest = std::sqrt(mapped ? weights.norm2 : weights.longest) * phi.longest;
  weights.longest *= 1.0L + roundings(static_cast<std::size_t>(D));
  return weights;
}

// Scores of one example, summed in pieces: a number then takes part in few additions. Of these classes alone, or of
// all.
constexpr std::size_t piece = 64;

template <class T>
std::vector<T> scores_of(const Example& example, const Vector& transposed, const ClassRows& phi,
                         std::span<const std::size_t> classes) {
  const auto p = static_cast<std::size_t>(phi.p);
  std::vector<std::size_t> rows;  // of V, where they are few
  for (const std::size_t j : classes) rows.insert(rows.end(), phi.row[j].column.begin(), phi.row[j].column.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::vector<T> t(p, 0), part(p, 0);  // <x, v_r>
  for (std::size_t q = 0; q < example.column.size(); ++q) {
    const T x = static_cast<T>(example.value[q]);
    const double* const v = transposed.data() + example.column[q] * phi.p;
    if (rows.size() < p) {
      for (const std::size_t r : rows) part[r] += x * static_cast<T>(v[r]);
    } else {
      for (std::size_t r = 0; r < p; ++r) part[r] += x * static_cast<T>(v[r]);
    }
    if ((q + 1) % piece != 0 && q + 1 != example.column.size()) continue;
    for (std::size_t r = 0; r < p; ++r) t[r] += part[r];
    std::fill(part.begin(), part.end(), T{0});
  }
  std::vector<T> s(phi.row.size(), 0);
  for (const std::size_t j : classes) {
    const Example& row = phi.row[j];
    for (std::size_t e = 0; e < row.column.size(); ++e) s[j] += static_cast<T>(row.value[e]) * t[row.column[e]];
  }
  return s;
}

// No score is off by more than a rounding for each addition that a term takes part in, and for its products, times
// sum |x_c| |phi_jr| |v_rc| <= ||x|| times the longest weights.
template <class T>
T score_error(const Example& example, const Weights& weights, const ClassRows& phi) {
  const std::size_t terms = example.column.size();
  const Real steps = static_cast<Real>(std::min(terms, piece) + terms / piece + static_cast<std::size_t>(phi.most) + 8);
  const Real off = steps * static_cast<Real>(unit_roundoff<T>) * example.length() * weights.longest;
  return static_cast<T>(off) * (1 + 2 * std::numeric_limits<T>::epsilon());
}

// y, and those that can be among the K largest or above 0.
std::vector<std::size_t> deciding_classes(const Loss& loss, const Vector& delta, const Vector& s, std::int64_t y,
                                          double off) {
  Vector z(s.size());
  for (std::size_t j = 0; j < s.size(); ++j) z[j] = delta[j] + s[j] - s[y];
  Vector ranked = z;
  const auto last = ranked.begin() + static_cast<std::ptrdiff_t>(loss.rho.size() - 1);
  std::nth_element(ranked.begin(), last, ranked.end(), std::greater<>());
  const double least = std::min(0.0, *last) - 8.0 * off;
  std::vector<std::size_t> classes;
  for (std::size_t j = 0; j < z.size(); ++j) {
    if (z[j] >= least || static_cast<std::int64_t>(j) == y) classes.push_back(j);
  }
  return classes;
}

// In double nothing vanishes beside what rounding is allowed for if all numbers are of such a size, or 0.
bool ordinary(Real size) {
  return size == 0.0L || (size > 1e-75L && size < 1e75L);
}

bool ordinary(const Loss& loss) {
  return ordinary(loss.smoothing) && ordinary(loss.rho.front()) && ordinary(loss.rho.back());
}

// The loss is not above this. Where double may lose more than `allowed`, the scores that decide are computed in long
// double. The others stay, rounded up: the loss grows with every score but that of y.
Real loss_of_example(const Example& example, const Weights& weights, const ClassRows& phi, const Loss& loss,
                     const Vector& delta, std::int64_t y, Real allowed) {
  const double margin = *std::max_element(delta.begin(), delta.end());
  const Real length = example.length();
  std::vector<std::size_t> classes(delta.size());
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  std::vector<Real> upper(delta.size());
  if (ordinary(loss) && ordinary(margin) && ordinary(length) && ordinary(weights.longest) &&
      ordinary(length * weights.longest)) {
    const Vector s = scores_of<double>(example, weights.transposed, phi, classes);
    const auto off = score_error<double>(example, weights, phi);
    const ProvenLoss<double> found = proven_loss(loss, RowProblem<double>{delta, s, y, off});
    if (static_cast<Real>(found.most) - found.about <= allowed) return found.most;
    classes = deciding_classes(loss, delta, s, y, off);
    for (std::size_t j = 0; j < s.size(); ++j) upper[j] = (static_cast<Real>(s[j]) + off) + unit_roundoff<double> * off;
  }
  const std::vector<Real> exact = scores_of<Real>(example, weights.transposed, phi, classes);
  for (const std::size_t j : classes) upper[j] = exact[j];
  if (!std::all_of(upper.begin(), upper.end(), [](Real x) { return std::isfinite(x); })) return INFINITY;
  const std::vector<Real> margins(delta.begin(), delta.end());
  return proven_loss(loss, RowProblem<Real>{margins, upper, y, score_error<Real>(example, weights, phi)}).most;
}

// ---- The dual

// D of a point of the dual set near A, bit by bit. A row within `distance` of the set (row_miss) counts with the least
// that the point there can be worth, and with the furthest that it can take W(A).
struct DualSums {
  Real terms = 0.0L;                  // sum of omega_i/N (<c_i, alpha_i> - smoothing/2 |alpha_i|^2), ...
  Real size = 0.0L;                   // ... its terms without their signs, ...
  Real moved = 0.0L;                  // ... and what moving the rows takes off at most
  Vector W;                           // (m x D): the sum of omega_i/(lambda N) alpha_i x_i^T; W(A), but for phi
  std::vector<Real> lengths;          // m: the sum of the lengths of what was added for a class, ...
  std::vector<std::int64_t> entries;  // ... and of how many
  Real drift = 0.0L;                  // how far the rows move W(A)
};

struct DualRow {
  std::span<const std::int32_t> column;
  std::span<const double> value;
};

void add_row(const DualRow& alpha, const RowMiss& miss, const Example& example, const Vector& delta, Real share,
             const Model& model, const ClassRows& phi, DualSums& sums) {
  if (alpha.column.empty()) return;
  const std::int64_t D = model.D();
  const Real length = example.length(), smoothing = model.provenance.loss.smoothing,
             factor = share / model.provenance.lambda;
  Real size = 0.0L, largest_margin = 0.0L;
  for (const double x : delta) largest_margin = std::max(largest_margin, static_cast<Real>(std::abs(x)));
  for (std::size_t e = 0; e < alpha.column.size(); ++e) {
    const std::int64_t j = alpha.column[e];
    const Real a = alpha.value[e], linear = share * delta[j] * a, squares = 0.5L * share * smoothing * a * a;
    sums.terms -= linear + squares;
    sums.size += std::abs(linear) + squares;
    sums.lengths[j] += factor * std::abs(a) * length;
    ++sums.entries[j];
    size += std::abs(a);
    const Real scaled = factor * a;
    double* const w = sums.W.data() + j * D;
    for (std::size_t q = 0; q < example.column.size(); ++q) {
      double& cell = w[example.column[q]];
      cell = static_cast<double>(cell + scaled * example.value[q]);
    }
  }
  sums.moved += share * miss.distance * (largest_margin + smoothing * (size + miss.distance));
  sums.drift += factor * 2.0L * miss.distance * length * phi.longest;
}

// ||W(A)||, not rounded down. A number of W sums as many terms as its class has entries, each time rounded to double,
// and phi takes it to V in long double.
Real longest_weights(const DualSums& sums, const ClassRows& phi, std::int64_t D) {
  constexpr Real least = std::numeric_limits<double>::denorm_min();
  const std::size_t m = phi.row.size();
  std::vector<std::vector<std::pair<std::size_t, double>>> of(static_cast<std::size_t>(phi.p));
  Real drift = sums.drift, total = 0.0L;
  for (std::size_t j = 0; j < m; ++j) {
    const auto entries = static_cast<Real>(sums.entries[j]);
    for (std::size_t e = 0; e < phi.row[j].column.size(); ++e)
      of[phi.row[j].column[e]].push_back({j, phi.row[j].value[e]});
    drift += phi.length[j] * sums.lengths[j] * ((entries + 2.0L) * unit_roundoff<double> + roundings(m));
    drift += phi.length[j] * entries * least * std::sqrt(static_cast<Real>(D));
  }
  for (const auto& classes : of) {
    Real of_row = 0.0L;
    for (std::int64_t c = 0; c < D; ++c) {
      Real v = 0.0L;
      for (const auto& [j, x] : classes) v += static_cast<Real>(x) * sums.W[j * static_cast<std::size_t>(D) + c];
      of_row += v * v;
    }
    total += of_row;
  }
  return (std::sqrt(total) + drift) * (1.0L + roundings(static_cast<std::size_t>(D) + m + of.size()));
}

// ---- Both, in one run over the data

struct Pass {
  std::string fingerprint;  // of the data
  double weight_sum = 0.0;
  Vector infeasibility;  // n
  Real primal = 0.0L;    // P at the model's weights is not above this, ...
  Real dual = 0.0L;      // ... and D at a point of the dual set not below this
};

Pass run_over(const Dataset& data, const Model& model, const ClassRows& phi, const Loss& loss, const SparseRows& dual) {
  const std::int64_t n = data.X.rows(), m = model.m(), D = model.D();
  const Weights weights = weights_of(model, phi);
  const auto omega = [&](std::int64_t i) { return data.weights.empty() ? 1.0 : data.weights[i]; };
  Real N = 0.0L;
  for (std::int64_t i = 0; i < n; ++i) N += omega(i);
  Pass pass;
  pass.weight_sum = static_cast<double>(N);
  if (!(N > 0.0L)) fail(ErrorKind::data, "the example weights sum to 0");
  pass.infeasibility.resize(n);
  std::vector<Real> losses(static_cast<std::size_t>(n));
  std::vector<RowMiss> miss(static_cast<std::size_t>(n));
  const std::optional<Claim>& claim = model.provenance.claim;
  const Real allowed = claim ? 0.1L * verification_tolerance * claim->certificate.primal : 0.0L;
  parallel_for(n, resolve_threads(0), [&](std::int64_t i) {
    const Example example = example_of(data, model.bias, i);
    losses[i] = loss_of_example(example, weights, phi, loss, margins_of(data, model, i), data.y[i], allowed);
    Vector alpha(static_cast<std::size_t>(m), 0.0);
    for (std::int64_t p = dual.row_begin[i]; p < dual.row_begin[i + 1]; ++p) alpha[dual.column[p]] = dual.values[p];
    miss[i] = row_miss(loss, alpha, data.y[i]);
    pass.infeasibility[i] = miss[i].infeasibility;
  });
  DualSums sums;
  sums.W.assign(static_cast<std::size_t>(m * D), 0.0);
  sums.lengths.assign(static_cast<std::size_t>(m), 0.0L);
  sums.entries.assign(static_cast<std::size_t>(m), 0);
  Real over = 1.0L;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto count = static_cast<std::size_t>(dual.row_begin[i + 1] - dual.row_begin[i]);
    if (!(omega(i) > 0.0)) continue;
    pass.primal += omega(i) / N * losses[i];
    over = std::max(over, miss[i].ratio);
    add_row({{dual.column.data() + dual.row_begin[i], count}, {dual.values.data() + dual.row_begin[i], count}}, miss[i],
            example_of(data, model.bias, i), margins_of(data, model, i), omega(i) / N, model, phi, sums);
  }
  const Real lambda = model.provenance.lambda, up = 1.0L + roundings(static_cast<std::size_t>(2 * n));
  pass.primal = (pass.primal + 0.5L * lambda * weights.norm2) * up;
  const Real length = longest_weights(sums, phi, D);
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
