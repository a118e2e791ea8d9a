// Products with phi: between the weights V and the class weights W, strip by strip of their columns, and with
// phi phi^T for the scores of a few rows, which block ascent asks for all the time.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/threads.hpp"
#include "engine/cpu/class_map.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// Columns per task: one strip of W and of V stays in the cache while phi goes by.
constexpr std::int64_t strip = 256;

template <class Body>
void for_strips(std::int64_t D, std::size_t nonzeros, int threads, const Body& body) {
  const double work = static_cast<double>(nonzeros) * static_cast<double>(D);
  parallel_for((D + strip - 1) / strip, threads_worth(work, threads),
               [&](std::int64_t task) { body(task * strip, std::min(D, (task + 1) * strip)); });
}

// C += A B, for a strip of columns of B and C, whose pitch is D.
void add_products(const std::vector<double>& A, std::int64_t inner, const double* B, std::int64_t D, std::int64_t cols,
                  double* C) {
  std::vector<std::int64_t> row(static_cast<std::size_t>(inner));
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t j = 0; j * row.size() < A.size(); ++j) {
    accumulate(B, D, row.data(), A.data() + j * row.size(), inner, cols, C + static_cast<std::int64_t>(j) * D);
  }
}

void add_scaled(double factor, const double* from, std::int64_t count, double* to) {
  for (std::int64_t f = 0; f < count; ++f) to[f] += factor * from[f];
}

}  // namespace

void ClassMap::prepare_products() {
  constexpr double most_bytes = 256e6;
  const double m = static_cast<double>(m_);
  // Going through phi and back takes two loops over its non-zeros; with phi phi^T it is one product of m^2.
  if (!G_.empty() || m * m > 4.0 * static_cast<double>(value_.size()) || 8.0 * m * m > most_bytes) return;
  std::vector<double> G(static_cast<std::size_t>(m_ * m_));
  if (!dense_.empty()) {
    products(dense_.data(), p_, m_, dense_.data(), p_, m_, p_, G.data(), m_);
  } else {
    std::vector<double> row, scratch;
    for (std::int64_t j = 0; j < m_; ++j) {
      const Entry one[] = {{static_cast<std::int32_t>(j), 1.0}};
      spread(one, row, scratch);
      std::copy(row.begin(), row.end(), G.begin() + j * m_);
    }
  }
  G_ = std::move(G);
}

void ClassMap::lift(const std::vector<double>& V, std::vector<double>& W, int threads) const {
  const std::int64_t D = static_cast<std::int64_t>(V.size()) / p_;
  W.assign(static_cast<std::size_t>(m_ * D), 0.0);
  for_strips(D, value_.size(), threads, [&](std::int64_t from, std::int64_t to) {
    if (!dense_.empty()) {
      add_products(dense_, p_, V.data() + from, D, to - from, W.data() + from);
      return;
    }
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      add_scaled(value, V.data() + c * D + from, to - from, W.data() + j * D + from);
    });
  });
}

void ClassMap::reduce(const std::vector<double>& W, std::vector<double>& V, int threads) const {
  const std::int64_t D = static_cast<std::int64_t>(W.size()) / m_;
  V.assign(static_cast<std::size_t>(p_ * D), 0.0);
  for_strips(D, value_.size(), threads, [&](std::int64_t from, std::int64_t to) {
    if (!dense_.empty()) {
      add_products(transposed_, m_, W.data() + from, D, to - from, V.data() + from);
      return;
    }
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      add_scaled(value, W.data() + j * D + from, to - from, V.data() + c * D + from);
    });
  });
}

void ClassMap::couple(std::vector<double>& rows, std::vector<double>& scratch) const {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / m_;
  if (!G_.empty()) {
    scratch.resize(rows.size());
    products(rows.data(), m_, count, G_.data(), m_, m_, m_, scratch.data(), m_);
    rows.swap(scratch);
    return;
  }
  for (std::int64_t r = 0; r < count; ++r) {
    double* const row = rows.data() + r * m_;
    scratch.assign(static_cast<std::size_t>(p_), 0.0);
    for_stored(
        [&](std::int64_t j, std::int64_t c, double value) { scratch[static_cast<std::size_t>(c)] += value * row[j]; });
    std::fill(row, row + m_, 0.0);
    for_stored(
        [&](std::int64_t j, std::int64_t c, double value) { row[j] += value * scratch[static_cast<std::size_t>(c)]; });
  }
}

void ClassMap::spread(RowView change, std::vector<double>& scores, std::vector<double>& scratch) const {
  scores.assign(static_cast<std::size_t>(m_), 0.0);
  if (!G_.empty()) {
    for (const auto& [j, value] : change) add_scaled(value, G_.data() + j * m_, m_, scores.data());
    return;
  }
  for (const auto& [j, value] : change) scores[static_cast<std::size_t>(j)] = value;
  couple(scores, scratch);
}

}  // namespace topwolf
