#include "engine/cpu/class_map.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "engine/cpu/blas.hpp"

namespace topwolf {
namespace {

// Calls body(j, column, value) for the non-zeros of phi, row by row.
template <class Body>
void for_nonzeros(const FeatureView& phi, const Body& body) {
  struct Rows {
    const Body& body;
    void operator()(const DenseView<double>& view) const {
      for (std::int64_t j = 0; j < view.rows; ++j) {
        for (std::int64_t c = 0; c < view.cols; ++c) {
          const double value = view.data[j * view.stride + c];
          if (value != 0.0) body(j, c, value);
        }
      }
    }
    void operator()(const CsrView<double>& view) const {
      for (std::int64_t j = 0; j < view.rows; ++j) {
        for (std::int64_t e = view.row_begin[j]; e < view.row_begin[j + 1]; ++e) {
          if (view.value[e] != 0.0) body(j, view.column[e], view.value[e]);
        }
      }
    }
    void operator()(const DenseView<float>&) const { refuse(); }
    void operator()(const CsrView<float>&) const { refuse(); }
    [[noreturn]] static void refuse() { fail(ErrorKind::internal, "class features are not in float64"); }
  };
  std::visit(Rows{body}, phi);
}

// Columns per task: one strip of W and of V stays in the cache while phi goes by.
constexpr std::int64_t strip_columns = 256;

template <class Body>
void for_strips(std::int64_t D, std::size_t nonzeros, int threads, const Body& body) {
  SingleThreadedBlas blas;
  const double work = static_cast<double>(nonzeros) * static_cast<double>(D);
  parallel_for((D + strip_columns - 1) / strip_columns, threads_worth(work, threads),
               [&](std::int64_t task) { body(task * strip_columns, std::min(D, (task + 1) * strip_columns)); });
}

void add_scaled(double factor, const double* from, std::int64_t count, double* to) {
  for (std::int64_t f = 0; f < count; ++f) to[f] += factor * from[f];
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
  if (4.0 * static_cast<double>(value_.size()) > static_cast<double>(m_) * static_cast<double>(p_)) {
    dense_.assign(static_cast<std::size_t>(m_ * p_), 0.0);
    transposed_ = dense_;
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      dense_[static_cast<std::size_t>(j * p_ + c)] = transposed_[static_cast<std::size_t>(c * m_ + j)] = value;
    });
  }
}

void ClassMap::prepare_products() {
  constexpr double most_bytes = 256e6;
  const double m = static_cast<double>(m_);
  if (!K_.empty() || m * m > 4.0 * static_cast<double>(value_.size()) || 8.0 * m * m > most_bytes) return;
  std::vector<double> K(static_cast<std::size_t>(m_ * m_));
  if (!dense_.empty()) {
    const SingleThreadedBlas blas;
    multiply_transposed(m_, m_, p_, dense_.data(), p_, dense_.data(), p_, K.data(), m_);
  } else {
    std::vector<double> row, scratch;
    for (std::int64_t j = 0; j < m_; ++j) {
      const Entry one[] = {{static_cast<std::int32_t>(j), 1.0}};
      spread(one, row, scratch);
      std::copy(row.begin(), row.end(), K.begin() + j * m_);
    }
  }
  K_ = std::move(K);
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

void ClassMap::lift(const std::vector<double>& V, std::vector<double>& W, int threads) const {
  const std::int64_t D = static_cast<std::int64_t>(V.size()) / p_;
  W.assign(static_cast<std::size_t>(m_ * D), 0.0);
  for_strips(D, value_.size(), threads, [&](std::int64_t from, std::int64_t to) {
    if (!dense_.empty()) {
      multiply(m_, to - from, p_, dense_.data(), p_, V.data() + from, D, W.data() + from, D);
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
      multiply(p_, to - from, m_, transposed_.data(), m_, W.data() + from, D, V.data() + from, D);
      return;
    }
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      add_scaled(value, W.data() + j * D + from, to - from, V.data() + c * D + from);
    });
  });
}

void ClassMap::couple(std::vector<double>& rows, std::vector<double>& scratch) const {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / m_;
  if (!K_.empty()) {
    scratch.resize(rows.size());
    multiply_transposed(count, m_, m_, rows.data(), m_, K_.data(), m_, scratch.data(), m_);
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
  if (!K_.empty()) {
    for (const auto& [j, value] : change) add_scaled(value, K_.data() + j * m_, m_, scores.data());
    return;
  }
  for (const auto& [j, value] : change) scores[static_cast<std::size_t>(j)] = value;
  couple(scores, scratch);
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
