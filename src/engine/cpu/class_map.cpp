// phi itself: its non-zeros, and how long and how coupled the classes are.
#include "engine/cpu/class_map.hpp"

#include <algorithm>
#include <cmath>

#include "data/rows.hpp"

namespace topwolf {
namespace {

// Calls body(j, column, value) for the non-zeros of phi, row by row.
template <class Body>
void for_nonzeros(const FeatureView& phi, const Body& body) {
  std::visit(
      [&](const auto& view) {
        for_stored(view, [&](std::int64_t j, std::int64_t c, double value) {
          if (value != 0.0) body(j, c, value);
        });
      },
      phi);
}

}  // namespace

ClassMap::ClassMap(const FeatureView& phi) {
  std::visit([&](const auto& view) { m_ = view.rows, p_ = view.cols; }, phi);
  begin_.assign(static_cast<std::size_t>(m_ + 1), 0);
  for_nonzeros(phi, [&](std::int64_t j, std::int64_t c, double value) {
    ++begin_[static_cast<std::size_t>(j) + 1];
    column_.push_back(static_cast<std::int32_t>(c));
    value_.push_back(value);
  });
  for (std::size_t j = 1; j < begin_.size(); ++j) begin_[j] += begin_[j - 1];
  // As for X (data/features.hpp): dense products from a quarter on.
  if (4.0 * static_cast<double>(value_.size()) > static_cast<double>(m_) * static_cast<double>(p_)) {
    dense_.assign(static_cast<std::size_t>(m_ * p_), 0.0);
    transposed_ = dense_;
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      dense_[static_cast<std::size_t>(j * p_ + c)] = transposed_[static_cast<std::size_t>(c * m_ + j)] = value;
    });
  }
}

double ClassMap::longest2() const {
  std::vector<double> lengths2(static_cast<std::size_t>(m_), 0.0);
  for_stored(
      [&](std::int64_t j, std::int64_t, double value) { lengths2[static_cast<std::size_t>(j)] += value * value; });
  return *std::max_element(lengths2.begin(), lengths2.end());
}

// The largest sum of a row of |phi| |phi|^T bounds the norm.
double ClassMap::coupling() const {
  const double longest = longest2();
  if (!(longest > 0.0)) return 1.0;
  std::vector<double> columns(static_cast<std::size_t>(p_), 0.0), rows(static_cast<std::size_t>(m_), 0.0);
  for_stored(
      [&](std::int64_t, std::int64_t c, double value) { columns[static_cast<std::size_t>(c)] += std::abs(value); });
  for_stored([&](std::int64_t j, std::int64_t c, double value) {
    rows[static_cast<std::size_t>(j)] += std::abs(value) * columns[static_cast<std::size_t>(c)];
  });
  const double largest = *std::max_element(rows.begin(), rows.end());
  return std::max(1.0, largest / longest);
}

bool is_identity(const FeatureView& phi) {
  std::int64_t m = 0, p = 0, ones = 0;
  std::visit([&](const auto& view) { m = view.rows, p = view.cols; }, phi);
  bool only_ones = m == p;
  for_nonzeros(phi, [&](std::int64_t j, std::int64_t c, double value) {
    only_ones = only_ones && j == c && value == 1.0;
    ++ones;
  });
  return only_ones && ones == m;
}

}  // namespace topwolf
