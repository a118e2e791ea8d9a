// Examples and weights as verify reads them, and the loss of one example, proven.
#include <algorithm>
#include <functional>
#include <numeric>
#include <variant>

#include "data/rows.hpp"
#include "report/proof.hpp"

namespace topwolf::proof {

Example example_of(const FeatureView& X, double bias, std::int64_t i) {
  Example example;
  std::visit(
      [&](const auto& rows) {
        for_row(rows, i, [&](std::int64_t c, double x) { example.add(c, x); });
        example.add(rows.cols, bias);
      },
      X);
  return example;
}

const Vector& trained(const Classifier& model) {
  return model.class_features.rows() > 0 ? model.V : model.W;
}

Vector margins_of(const Dataset& data, const Model& model, std::int64_t i) {
  const std::int64_t m = model.m(), y = data.y[i];
  const Vector& costs = model.provenance.loss.cost_matrix;
  Vector delta(static_cast<std::size_t>(m), temperature_of(model) > 0.0L ? 0.0 : 1.0);
  if (data.margins.given()) {
    if (data.margins.values.sparse()) std::fill(delta.begin(), delta.end(), data.margins.other);
    std::visit([&](const auto& rows) { for_row(rows, i, [&](std::int64_t j, double x) { delta[j] = x; }); },
               data.margins.values.view());
  } else if (!costs.empty()) {
    std::copy_n(costs.begin() + y * m, m, delta.begin());
  }
  delta[y] = 0.0;
  return delta;
}

Real temperature_of(const Model& model) {
  const LossSpec& loss = model.provenance.loss;
  return traits(loss.name).takes_temperature ? loss.temperature.value_or(1.0) : 0.0;
}

ClassRows class_rows(const Classifier& model) {
  const std::int64_t m = model.m();
  const bool given = model.class_features.rows() > 0;
  ClassRows phi{given ? model.class_features.cols() : m, std::vector<Example>(static_cast<std::size_t>(m))};
  for (std::int64_t j = 0; j < m; ++j) {
    if (!given) {
      phi.row[j].add(j, 1.0);
      continue;
    }
    std::visit([&](const auto& rows) { for_row(rows, j, [&](std::int64_t c, double x) { phi.row[j].add(c, x); }); },
               model.class_features.view());
  }
  for (const Example& row : phi.row) {
    phi.length.push_back(row.length());
    phi.longest = std::max(phi.longest, phi.length.back());
    phi.most = std::max(phi.most, static_cast<std::int64_t>(row.column.size()));
  }
  return phi;
}

Mean mean_of(const Model& model) {
  const Vector& values = model.provenance.mean;
  return {values, std::sqrt(norm2(values)) * (1.0L + roundings(values.size())), model.bias};
}

namespace {

// ||w||^2 + (w_B + <w, mean> / B)^2, not rounded down.
Real regularised(std::span<const double> row, const Mean& mean) {
  const std::size_t d = mean.values.size();
  Real constant = row[d], size = std::abs(constant);
  for (std::size_t c = 0; c < d; ++c) {
    const Real term = static_cast<Real>(row[c]) * mean.values[c] / mean.bias;
    constant += term;
    size += std::abs(term);
  }
  const Real most = std::abs(constant) + roundings(2 * d) * size;
  return norm2(row.first(d)) + most * most;
}

}  // namespace

Weights weights_of(const Model& model, const ClassRows& phi, const Mean& mean) {
  const std::int64_t D = model.D();
  const Vector& V = trained(model);
  Weights weights{Vector(V.size())};
  Real all = 0.0L;  // ||V||^2
  for (std::int64_t r = 0; r < phi.p; ++r) {
    const std::span<const double> row(V.data() + r * D, static_cast<std::size_t>(D));
    for (std::int64_t c = 0; c < D; ++c) weights.transposed[c * phi.p + r] = row[c];
    const Real of_row = norm2(row);
    all += of_row;
    weights.norm2 += mean.values.empty() ? of_row : regularised(row, mean);
    weights.longest = std::max(weights.longest, of_row);
  }
  const Real up = 1.0L + roundings(static_cast<std::size_t>(D + phi.p));
  weights.norm2 *= up;
  const bool mapped = model.class_features.rows() > 0;
  weights.longest = std::sqrt(mapped ? all * up : weights.longest) * phi.longest;
  weights.longest *= 1.0L + roundings(static_cast<std::size_t>(D));
  return weights;
}

namespace {

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

// y, and those that can be among the K largest or above 0; with softmax, or an oracle, everybody.
std::vector<std::size_t> deciding_classes(const Loss& loss, const Vector& delta, const Vector& s, std::int64_t y,
                                          double off) {
  Vector z(s.size());
  for (std::size_t j = 0; j < s.size(); ++j) z[j] = delta[j] + s[j] - s[y];
  Vector ranked = z;
  const auto last = ranked.begin() + static_cast<std::ptrdiff_t>(loss.rho.size() - 1);
  std::nth_element(ranked.begin(), last, ranked.end(), std::greater<>());
  const double least =
      loss.entropic() || loss.oracle ? -std::numeric_limits<double>::infinity() : std::min(0.0, *last) - 8.0 * off;
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

}  // namespace

// The scores that do not decide stay, rounded up: the loss grows with every score but that of y.
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

}  // namespace topwolf::proof
