// What an oracle says about one example, looked at before it is used: a certificate may rest on an oracle that is
// wrong, but not on numbers that no oracle could mean.
#include "loss/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/fail.hpp"
#include "loss/select.hpp"

namespace topwolf {
namespace {

constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;

template <class... Args>
[[noreturn]] void refuse(const Loss& loss, fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorKind::option, "the oracle of the loss {} is wrong: {}", loss.oracle->name(),
       fmt::format(format, std::forward<Args>(args)...));
}

// The row that was asked about ahead, if this is it: the next one, or once more the last.
std::optional<std::size_t> place_ahead(const AskedAhead& ahead, std::int64_t y, const std::vector<double>& z) {
  const std::size_t m = z.size();
  for (const std::size_t row : {ahead.next, ahead.next - 1}) {
    if (row >= ahead.y.size() || ahead.y[row] != y) continue;
    if (!std::equal(z.begin(), z.end(), ahead.Z.begin() + static_cast<std::ptrdiff_t>(row * m))) continue;
    ahead.next = row + 1;
    return row;
  }
  return std::nullopt;
}

void keep_entries(const std::vector<double>& u, SparseRow& row) {
  row.clear();
  for (std::size_t j = 0; j < u.size(); ++j) {
    if (u[j] != 0.0) row.push_back({static_cast<std::int32_t>(j), u[j]});
  }
}

// Rounding's part in a point of Q is undone: no entry above 0 but at y, which makes the sum 0.
void look_at(const Loss& loss, const char* what, std::int64_t y, std::vector<double>& u) {
  const double reach = loss.rho.front(), allowed = honest_share * reach;
  const auto own = static_cast<std::size_t>(y);
  double pulled = 0.0;
  for (std::size_t j = 0; j < u.size(); ++j) {
    if (!std::isfinite(u[j])) refuse(loss, "its {} has {} for class {} where the label is {}", what, u[j], j, y);
    if (j == own) continue;
    if (u[j] > allowed) {
      refuse(loss, "its {} has {} above 0 for class {}, where that is allowed for the label, {}, alone", what, u[j], j,
             y);
    }
    u[j] = std::min(u[j], 0.0);
    pulled -= u[j];
  }
  if (!(std::abs(u[own] - pulled) <= allowed * 8.0)) {
    refuse(loss, "its {} where the label is {} sums to {:.6g}, not to 0", what, y, u[own] - pulled);
  }
  if (!(pulled <= reach * (1.0 + honest_share))) {
    refuse(loss, "its {} pulls by {:.6g} where the label is {}, further than its reach of {}", what, pulled, y, reach);
  }
  u[own] = pulled;
}

}  // namespace

template <class T>
void violations(const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, std::vector<double>& z) {
  margin_keys(delta, s, m, -static_cast<double>(s[y]), 1.0, z);
  z[static_cast<std::size_t>(y)] = 0.0;
}

// Scores that overflowed are nothing to ask about; the row functions do not.
void PanelAsked::ask(const Loss& loss, What what) {
  const std::size_t m = ahead_.Z.size() / ahead_.y.size();
  for (std::size_t row = 0; row < ahead_.y.size(); ++row) {
    const auto z = std::span(ahead_.Z).subspan(row * m, m);
    if (!std::all_of(z.begin(), z.end(), [](double x) { return std::isfinite(x); })) std::fill(z.begin(), z.end(), 0.0);
  }
  ahead_.next = 0;
  ahead_.vertices.clear();
  ahead_.values.clear();
  if (what == What::values) {
    ahead_.values.assign(ahead_.y.size(), 0.0);
    loss.oracle->values(ahead_.Z, ahead_.y, ahead_.values);
  } else {
    ahead_.vertices.assign(ahead_.Z.size(), 0.0);
    loss.oracle->vertices(ahead_.Z, ahead_.y, ahead_.vertices);
  }
}

double largest_size(const std::vector<double>& values) {
  double size = 0.0;
  for (const double x : values) size = std::max(size, std::abs(x));
  return size;
}

double ask_vertex(const Loss& loss, std::int64_t y, OracleScratch& at) {
  const std::size_t m = at.z.size();
  const auto known = at.ahead.vertices.empty() ? std::nullopt : place_ahead(at.ahead, y, at.z);
  if (known) {
    const auto said = at.ahead.vertices.begin() + static_cast<std::ptrdiff_t>(*known * m);
    at.u.assign(said, said + static_cast<std::ptrdiff_t>(m));
  } else {
    at.u.assign(m, 0.0);
    loss.oracle->vertex(at.z, y, at.u);
  }
  look_at(loss, "vertex", y, at.u);
  double worth = 0.0;
  for (std::size_t j = 0; j < at.u.size(); ++j) worth -= at.z[j] * at.u[j];
  return worth;
}

double ask_value(const Loss& loss, std::int64_t y, OracleScratch& at) {
  const auto known = at.ahead.values.empty() ? std::nullopt : place_ahead(at.ahead, y, at.z);
  const double value = known ? at.ahead.values[*known] : loss.oracle->value(at.z, y);
  if (std::isnan(value)) refuse(loss, "its value is no number where the label is {}", y);
  if (value < -honest_share * loss.rho.front() * largest_size(at.z)) {
    refuse(loss, "its value is {:.6g} where the label is {}, but 0 must be among its directions", value, y);
  }
  return std::max(value, 0.0);
}

template <class T>
VertexValue oracle_vertex(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                          SparseRow& u, RowScratch& scratch) {
  OracleScratch& at = scratch.oracle;
  violations(delta, s, m, y, at.z);
  // A score that overflowed says nothing, and is nothing to ask about.
  if (!std::isfinite(largest_size(at.z))) {
    u.clear();
    return {std::numeric_limits<double>::quiet_NaN(), 0.0};
  }
  const double worth = ask_vertex(loss, y, at);
  keep_entries(at.u, u);
  return {worth, dot_c(delta, y, u)};
}

template <class T>
double oracle_value(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                    RowScratch& scratch) {
  OracleScratch& at = scratch.oracle;
  violations(delta, s, m, y, at.z);
  return std::isfinite(largest_size(at.z)) ? ask_value(loss, y, at) : std::numeric_limits<double>::quiet_NaN();
}

// A sum of m terms, none above reach times the largest of z, in any order.
double rounding_at(const Loss& loss, const std::vector<double>& z) {
  return unit_roundoff * static_cast<double>(2 * z.size() + 32) * loss.rho.front() * largest_size(z);
}

EnvelopeRounding envelope_rounding(const Loss& loss, const double* s, std::int64_t m, double beta_sum,
                                   const std::vector<double>& r) {
  if (!loss.oracle) return {};
  const double terms = static_cast<double>(2 * m + 32), moved = loss.smoothing * beta_sum;
  double longest = 0.0;
  for (std::int64_t j = 0; j < m; ++j) longest = std::max(longest, std::abs(s[j]));
  // beta_sum is itself a sum of m terms, and no z_j is further from r_j than twice `moved`.
  const double of_scores = unit_roundoff * (8.0 * longest + terms * moved), largest = largest_size(r) + 2.0 * moved;
  EnvelopeRounding lost;
  lost.slope = of_scores + 4.0 * unit_roundoff * largest;
  lost.nearby = beta_sum * (of_scores + unit_roundoff * terms * (largest + moved));
  lost.part = unit_roundoff * terms;
  lost.moved = loss.rho_sum() * of_scores + unit_roundoff * terms * moved * beta_sum;
  return lost;
}

bool oracle_project(const Loss& loss, std::int64_t y, SparseRow& alpha, RowScratch& scratch) {
  OracleScratch& at = scratch.oracle;
  constexpr double most = 1e100;  // its square is a number
  at.target.resize(scratch.key.size());
  for (std::size_t j = 0; j < at.target.size(); ++j) at.target[j] = -scratch.key[j];
  at.target[static_cast<std::size_t>(y)] = 0.0;
  alpha.clear();
  if (!(largest_size(at.target) <= most)) return false;
  at.u.assign(at.target.size(), 0.0);
  if (loss.oracle->project(at.target, y, at.u)) {
    look_at(loss, "projection", y, at.u);
    keep_entries(at.u, alpha);
  } else {
    find_nearest(loss, y, at);
    nearest_point(at, y, alpha);
  }
  return true;
}

double oracle_distance(const Loss& loss, std::int64_t y, RowView alpha, RowScratch& scratch) {
  OracleScratch& at = scratch.oracle;
  if (alpha.empty()) return 0.0;  // 0 is one of the directions
  at.target.assign(static_cast<std::size_t>(loss.classes), 0.0);
  long double sum = 0.0L;
  for (const auto& [j, value] : alpha) {
    at.target[static_cast<std::size_t>(j)] = value;
    sum += value;
  }
  find_nearest(loss, y, at);
  double apart = static_cast<double>(std::abs(sum));
  for (std::size_t j = 0; j < at.residual.size(); ++j) {
    if (static_cast<std::int64_t>(j) != y) apart += std::abs(at.residual[j]);
  }
  // The point is a sum of products, too.
  return apart + unit_roundoff * static_cast<double>(at.weights.size() + 8) * loss.rho.front();
}

template void violations(const RowMargins&, const float*, std::int64_t, std::int64_t, std::vector<double>&);
template void violations(const RowMargins&, const double*, std::int64_t, std::int64_t, std::vector<double>&);
template VertexValue oracle_vertex(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, SparseRow&,
                                   RowScratch&);
template VertexValue oracle_vertex(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t,
                                   SparseRow&, RowScratch&);
template double oracle_value(const Loss&, const RowMargins&, const float*, std::int64_t, std::int64_t, RowScratch&);
template double oracle_value(const Loss&, const RowMargins&, const double*, std::int64_t, std::int64_t, RowScratch&);

}  // namespace topwolf
