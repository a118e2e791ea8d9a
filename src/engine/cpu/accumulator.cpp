#include "engine/cpu/accumulator.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/rows.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// Columns per task: the rows of a chunk, this wide, stay in the second-level cache while all classes pass by.
constexpr std::int64_t columns_per_task = 128;

template <class T, class Out>
void add_rows(const DenseView<T>& X, std::span<const std::int64_t> rows, std::span<const double> values,
              std::int64_t from, std::int64_t to, Out* out) {
  if constexpr (sizeof(T) > sizeof(Out)) {
    fail(ErrorKind::internal, "sums of float64 features were asked for in float32");
  } else {
    accumulate(X.data + from, X.stride, rows.data(), values.data(), static_cast<std::int64_t>(rows.size()), to - from,
               out);
  }
}

// A sparse row is added whole (from = 0, to = d).
template <class T, class Out>
void add_rows(const CsrView<T>& X, std::span<const std::int64_t> rows, std::span<const double> values, std::int64_t,
              std::int64_t, Out* out) {
  for (std::size_t e = 0; e < rows.size(); ++e) {
    for_row(X, rows[e],
            [&, factor = values[e]](std::int64_t column, double x) { out[column] += static_cast<Out>(factor * x); });
  }
}

}  // namespace

void append_entries(const Problem& problem, std::span<const std::int64_t> rows, const std::vector<SparseRow>& change,
                    double times, bool local, std::vector<RowEntry>& entries) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t at = local ? static_cast<std::int64_t>(r) : rows[r];
    const double factor = times * problem.factor(rows[r]);
    for (const auto& [j, value] : change[r]) entries.push_back({at, j, factor * value});
  }
}

template <class Out>
Accumulator<Out>::Accumulator(const FeatureView& X, std::int64_t m, const Bias& bias) : X_(X), m_(m), bias_(bias) {
  d_ = std::visit([](const auto& view) { return view.cols; }, X_);
  D_ = d_ + bias.columns();
}

template <class Out>
void Accumulator<Out>::add(const std::vector<std::vector<RowEntry>>& panels, std::vector<Out>& W, int threads) {
  // Grouping costs two visits of the entries, and makes each output row the sum of a list of input rows: no two tasks
  // write the same number, and no partial sums need adding up.
  by_class_.sort(m_, [&](const auto& visit) {
    for (const auto& panel : panels) {
      for (const RowEntry& entry : panel) visit(entry.column, entry.row, entry.value);
    }
  });
  const bool sparse = is_sparse(X_);
  const std::int64_t width = sparse ? std::max<std::int64_t>(d_, 1) : columns_per_task;
  const std::int64_t strips = std::max<std::int64_t>(1, (d_ + width - 1) / width);
  // Classes per task: as many as leave enough tasks for the threads to share, because classes differ in size.
  const std::int64_t group = std::clamp<std::int64_t>(strips * m_ / (64 * threads), 1, 8);
  const std::int64_t groups = (m_ + group - 1) / group;
  parallel_for(strips * groups, threads, [&](std::int64_t task) {
    const std::int64_t from = task / groups * width, to = std::min(d_, from + width);
    const std::int64_t last = std::min(m_, (task % groups + 1) * group);
    for (std::int64_t j = task % groups * group; j < last; ++j) {
      const auto rows = by_class_.rows_of(j);
      const auto values = by_class_.carried_of(j);
      Out* out = W.data() + j * D_;
      std::visit([&](const auto& X) { add_rows(X, rows, values, from, to, out + from); }, X_);
      // The first strip's task has the constant feature as well.
      if (from == 0) bias_.accumulate(values, out + d_);
    }
  });
}

template class Accumulator<float>;
template class Accumulator<double>;

}  // namespace topwolf
