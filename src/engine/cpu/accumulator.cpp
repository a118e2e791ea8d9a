#include "engine/cpu/accumulator.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// Columns per task: the rows of a chunk, this wide, stay in the second-level cache while all classes pass by.
constexpr std::int64_t columns_per_task = 128;

template <class T, class Out>
void add_rows(const DenseView<T>& X, const std::int64_t* row, const double* value, std::int64_t count,
              std::int64_t from, std::int64_t to, Out* out) {
  if constexpr (sizeof(T) > sizeof(Out)) {
    fail(ErrorKind::internal, "sums of float64 features were asked for in float32");
  } else {
    accumulate(X.data + from, X.stride, row, value, count, to - from, out);
  }
}

// A sparse row is added whole (from = 0, to = d).
template <class T, class Out>
void add_rows(const CsrView<T>& X, const std::int64_t* row, const double* value, std::int64_t count, std::int64_t,
              std::int64_t, Out* out) {
  for (std::int64_t e = 0; e < count; ++e) {
    for (std::int64_t p = X.row_begin[row[e]]; p < X.row_begin[row[e] + 1]; ++p) {
      out[X.column[p]] += static_cast<Out>(value[e] * static_cast<double>(X.value[p]));
    }
  }
}

}  // namespace

void append_entries(const Problem& problem, std::span<const std::int64_t> rows, const std::vector<SparseRow>& change,
                    bool local, std::vector<RowEntry>& entries) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t at = local ? static_cast<std::int64_t>(r) : rows[r];
    for (const auto& [j, value] : change[r]) entries.push_back({at, j, problem.factor(rows[r]) * value});
  }
}

template <class Out>
Accumulator<Out>::Accumulator(const FeatureView& X, std::int64_t m, double bias) : X_(X), m_(m), bias_(bias) {
  d_ = std::visit([](const auto& view) { return view.cols; }, X_);
  D_ = d_ + (bias != 0.0 ? 1 : 0);
}

template <class Out>
void Accumulator<Out>::group_by_class(const std::vector<std::vector<RowEntry>>& panels) {
  begin_.assign(static_cast<std::size_t>(m_ + 1), 0);
  for (const auto& panel : panels) {
    for (const RowEntry& entry : panel) ++begin_[static_cast<std::size_t>(entry.column) + 1];
  }
  for (std::int64_t j = 0; j < m_; ++j) begin_[static_cast<std::size_t>(j) + 1] += begin_[static_cast<std::size_t>(j)];
  row_.resize(static_cast<std::size_t>(begin_.back()));
  value_.resize(row_.size());
  std::vector<std::int64_t> next(begin_.begin(), begin_.end() - 1);
  for (const auto& panel : panels) {
    for (const RowEntry& entry : panel) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(entry.column)]++);
      row_[at] = entry.row;
      value_[at] = entry.value;
    }
  }
}

template <class Out>
void Accumulator<Out>::add(const std::vector<std::vector<RowEntry>>& panels, std::vector<Out>& W, int threads) {
  group_by_class(panels);
  const bool sparse = X_.index() >= 2;
  const std::int64_t width = sparse ? std::max<std::int64_t>(d_, 1) : columns_per_task;
  const std::int64_t strips = std::max<std::int64_t>(1, (d_ + width - 1) / width);
  // Classes per task: as many as leave enough tasks for the threads to share, because classes differ in size.
  const std::int64_t group = std::clamp<std::int64_t>(strips * m_ / (64 * threads), 1, 8);
  const std::int64_t groups = (m_ + group - 1) / group;
  parallel_for(strips * groups, threads, [&](std::int64_t task) {
    const std::int64_t from = task / groups * width, to = std::min(d_, from + width);
    const std::int64_t last = std::min(m_, (task % groups + 1) * group);
    for (std::int64_t j = task % groups * group; j < last; ++j) {
      const std::int64_t first = begin_[static_cast<std::size_t>(j)];
      const std::int64_t count = begin_[static_cast<std::size_t>(j) + 1] - first;
      Out* out = W.data() + j * D_;
      std::visit(
          [&](const auto& X) { add_rows(X, row_.data() + first, value_.data() + first, count, from, to, out + from); },
          X_);
      if (bias_ != 0.0 && from == 0) {
        for (std::int64_t e = first; e < first + count; ++e) {
          out[d_] += static_cast<Out>(bias_ * value_[static_cast<std::size_t>(e)]);
        }
      }
    }
  });
}

template class Accumulator<float>;
template class Accumulator<double>;

}  // namespace topwolf
