#include "engine/cpu/face_product.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "data/rows.hpp"
#include "engine/cpu/dense_rows.hpp"
#include "engine/host/entry_groups.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

constexpr std::int64_t product_rows = 128;

// Calls body(i) for all rows that have entries.
template <class Body>
void for_rows(const EntryList& list, int threads, const Body& body) {
  parallel_for((list.rows() + product_rows - 1) / product_rows, threads, [&](std::int64_t task) {
    const std::int64_t last = std::min(list.rows(), (task + 1) * product_rows);
    for (std::int64_t i = task * product_rows; i < last; ++i) {
      if (!list.empty(i)) body(i);
    }
  });
}

// Entries are grouped by chunk of rows, and in a chunk by class. A task owns a strip of features for some classes and
// goes through the chunks in order: a chunk's strip stays in the second-level cache while the classes pass by.
template <class T>
class DenseProduct final : public FaceProduct<T> {
 public:
  DenseProduct(const Problem& problem, const DenseRows& X, int threads)
      : problem_(problem), X_(X), threads_(threads), pitch_(feature_pitch<T>(problem.D())) {}

  void set_entries(const EntryList& list) override {
    list_ = &list;
    const auto group_of = [&](std::int64_t i, std::int64_t j) { return i / chunk_rows * problem_.m + j; };
    sort_list(list, chunks() * problem_.m, group_of, groups_);
    value_.resize(list.size());
  }

  void weigh(const std::vector<double>& U) override {
    const std::int64_t m = problem_.m, d = problem_.d;
    for (std::size_t at = 0; at < value_.size(); ++at) {
      value_[at] = problem_.factor(groups_.row()[at]) * U[groups_.carried()[at]];
    }
    W_.assign(static_cast<std::size_t>(m * pitch_), T{0});
    // Strips of features share out the work where there are many; where there are few, the classes are cut as well.
    const std::int64_t strips = std::max<std::int64_t>(1, (d + strip - 1) / strip);
    const std::int64_t parts = std::min<std::int64_t>(m, strips >= 4 * threads_ ? 1 : 4 * threads_);
    parallel_for(strips * parts, threads_worth(products(), threads_), [&](std::int64_t task) {
      const std::int64_t from = task / parts * strip, to = std::min(d, from + strip), part = task % parts;
      for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
        for (std::int64_t j = m * part / parts; j < m * (part + 1) / parts; ++j) add(chunk, j, from, to);
      }
    });
  }

  const AlignedVector<T>& weights() const override { return W_; }

  void score(const AlignedVector<T>& W, std::vector<double>& S) const override {
    const std::int64_t d = problem_.d;
    S.resize(list_->size());
    std::vector<AlignedVector<T>> space(static_cast<std::size_t>(threads_));
    for_rows(*list_, threads_worth(products(), threads_), [&](std::int64_t i) {
      const std::size_t first = list_->begin(i);
      const auto count = static_cast<std::int64_t>(list_->end(i) - first);
      const std::int32_t* column = list_->column.data() + first;
      double* s = S.data() + first;
      dots(row(i, space[static_cast<std::size_t>(thread_number())]), d, W.data(), pitch_, column, count, s);
      if (!problem_.bias.given()) return;
      for (std::int64_t e = 0; e < count; ++e) s[e] += problem_.bias.score(W.data() + column[e] * pitch_ + d);
    });
  }

 private:
  static constexpr std::int64_t strip = 128, chunk_rows = 1024;

  double products() const { return static_cast<double>(list_->size()) * static_cast<double>(problem_.d); }
  std::int64_t chunks() const { return (problem_.n + chunk_rows - 1) / chunk_rows; }

  void add(std::int64_t chunk, std::int64_t j, std::int64_t from, std::int64_t to) {
    const std::int64_t g = chunk * problem_.m + j, count = groups_.count(g), d = problem_.d;
    if (count == 0) return;
    const double* value = value_.data() + groups_.begin(g);
    T* out = W_.data() + j * pitch_;
    add_rows(groups_.rows_of(g), value, from, to, out + from);
    if (from == 0) problem_.bias.accumulate({value, static_cast<std::size_t>(count)}, out + d);
  }

  void add_rows(std::span<const std::int64_t> rows, const double* value, std::int64_t from, std::int64_t to,
                T* out) const {
    if (X_.accumulate_stored(rows, value, from, to, out)) return;
    // A few strips of rows at a time, copied to the stack: they are used once.
    constexpr std::int64_t step = 16;
    static constexpr std::int64_t every[step] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    alignas(64) T copies[step * strip];
    for (std::size_t first = 0; first < rows.size(); first += step) {
      const std::int64_t count = std::min(step, static_cast<std::int64_t>(rows.size() - first));
      for (std::int64_t r = 0; r < count; ++r) {
        X_.copy(rows[first + static_cast<std::size_t>(r)], from, to, copies + r * strip);
      }
      accumulate(copies, strip, every, value + first, count, to - from, out);
    }
  }

  const T* row(std::int64_t i, AlignedVector<T>& space) const {
    if (X_.as_stored<T>()) return X_.stored<T>() + i * X_.stride();
    space.resize(static_cast<std::size_t>(X_.cols()));
    X_.copy(i, 0, X_.cols(), space.data());
    return space.data();
  }

  const Problem& problem_;
  const DenseRows X_;
  const int threads_;
  const std::int64_t pitch_;
  const EntryList* list_ = nullptr;
  EntryGroups<std::size_t> groups_;  // by chunk and class, each with its place in the list
  std::vector<double> value_;        // in their order
  AlignedVector<T> W_;               // (m x pitch)
};

// A task owns a range of features, balanced by non-zeros, and goes through all rows.
template <class T>
class SparseProduct final : public FaceProduct<T> {
 public:
  SparseProduct(const Problem& problem, const CsrView<T>& X, int threads)
      : problem_(problem), X_(X), threads_(threads), pitch_(class_pitch(problem.m)) {
    std::vector<std::int64_t> count(static_cast<std::size_t>(X.cols), 0);
    const std::int64_t total = stored_values(X);
    for_stored(X, [&](std::int64_t, std::int64_t c, T) { ++count[static_cast<std::size_t>(c)]; });
    // Four parts a thread, so that slow ones even out; but not so many that a row has less in one than its search
    // costs.
    const std::int64_t least = 8, most = std::max<std::int64_t>(1, total / (least * std::max<std::int64_t>(1, X.rows)));
    const std::int64_t parts = threads == 1 ? 1 : std::min<std::int64_t>(most, 4 * threads);
    std::int64_t seen = 0;
    bounds_.push_back(0);
    for (std::int64_t f = 0; f < X.cols; ++f) {
      seen += count[static_cast<std::size_t>(f)];
      if (seen * parts >= static_cast<std::int64_t>(bounds_.size()) * total && bounds_.back() < f + 1) {
        bounds_.push_back(f + 1);
      }
    }
    if (bounds_.back() < X.cols) bounds_.push_back(X.cols);
  }

  void set_entries(const EntryList& list) override { list_ = &list; }

  void weigh(const std::vector<double>& U) override {
    W_.resize(static_cast<std::size_t>(problem_.D() * pitch_));
    const auto parts = static_cast<std::int64_t>(bounds_.size()) - 1;
    parallel_for(parts, threads_worth(products(), threads_), [&](std::int64_t part) {
      const std::int64_t from = bounds_[static_cast<std::size_t>(part)],
                         to = bounds_[static_cast<std::size_t>(part) + 1];
      std::fill(W_.begin() + from * pitch_, W_.begin() + to * pitch_, T{0});
      for (std::int64_t i = 0; i < problem_.n; ++i) add(i, U, from, to, parts > 1);
    });
    if (!problem_.bias.given()) return;
    T* w = W_.data() + problem_.d * pitch_;
    std::fill(w, w + pitch_, T{0});
    for (std::int64_t i = 0; i < problem_.n; ++i) add_row(w, problem_.factor(i) * problem_.bias.value(), i, U);
  }

  const AlignedVector<T>& weights() const override { return W_; }

  void score(const AlignedVector<T>& W, std::vector<double>& S) const override {
    const std::int64_t m = problem_.m;
    S.resize(list_->size());
    std::vector<std::vector<T>> scratch(static_cast<std::size_t>(threads_));
    for_rows(*list_, threads_worth(products(), threads_), [&](std::int64_t i) {
      if (16 * static_cast<std::int64_t>(list_->end(i) - list_->begin(i)) < m) {  // few among many: gathered
        score_few(i, W, S);
        return;
      }
      auto& s = scratch[static_cast<std::size_t>(thread_number())];
      s.resize(static_cast<std::size_t>(m));
      const auto x = row_of(X_, i);
      sparse_scores(x.value, x.columns, x.count, W.data(), pitch_, m, s.data());
      for (std::size_t e = list_->begin(i); e < list_->end(i); ++e) {
        const std::int64_t j = list_->column[e];
        double& score = S[e];
        score = static_cast<double>(s[static_cast<std::size_t>(j)]);
        if (problem_.bias.given()) score += problem_.bias.score(W.data() + problem_.d * pitch_ + j);
      }
    });
  }

 private:
  double products() const {
    const double row = static_cast<double>(stored_values(X_)) / static_cast<double>(std::max<std::int64_t>(1, X_.rows));
    return static_cast<double>(list_->size()) * row;
  }

  void score_few(std::int64_t i, const AlignedVector<T>& W, std::vector<double>& S) const {
    for (std::size_t e = list_->begin(i); e < list_->end(i); ++e) {
      const T* w = W.data() + list_->column[e];
      double sum = problem_.bias.score(w + problem_.d * pitch_);
      for_row(X_, i, [&](std::int64_t c, double x) { sum += x * static_cast<double>(w[c * pitch_]); });
      S[e] = sum;
    }
  }

  // w += factor * u_i
  void add_row(T* w, double factor, std::int64_t i, const std::vector<double>& U) const {
    for (std::size_t e = list_->begin(i); e < list_->end(i); ++e) {
      w[list_->column[e]] += static_cast<T>(factor * U[e]);
    }
  }

  void add(std::int64_t i, const std::vector<double>& U, std::int64_t from, std::int64_t to, bool search) {
    if (list_->empty(i)) return;
    const auto x = row_of(X_, i);
    const std::int32_t* const last = x.columns + x.count;
    const std::int32_t* c = search ? std::lower_bound(x.columns, last, static_cast<std::int32_t>(from)) : x.columns;
    const double factor = problem_.factor(i);
    for (; c != last && *c < to; ++c) {
      add_row(W_.data() + *c * pitch_, factor * static_cast<double>(x.value[c - x.columns]), i, U);
    }
  }

  const Problem& problem_;
  const CsrView<T> X_;
  const int threads_;
  const std::int64_t pitch_;
  const EntryList* list_ = nullptr;
  std::vector<std::int64_t> bounds_;  // of the tasks' features
  AlignedVector<T> W_;                // (D x pitch)
};

}  // namespace

template <class T>
std::unique_ptr<FaceProduct<T>> make_face_product(const Problem& problem, const DenseRows& X, int threads) {
  return std::make_unique<DenseProduct<T>>(problem, X, threads);
}
template <class T>
std::unique_ptr<FaceProduct<T>> make_face_product(const Problem& problem, const CsrView<T>& X, int threads) {
  return std::make_unique<SparseProduct<T>>(problem, X, threads);
}

template std::unique_ptr<FaceProduct<float>> make_face_product(const Problem&, const DenseRows&, int);
template std::unique_ptr<FaceProduct<double>> make_face_product(const Problem&, const DenseRows&, int);
template std::unique_ptr<FaceProduct<float>> make_face_product(const Problem&, const CsrView<float>&, int);
template std::unique_ptr<FaceProduct<double>> make_face_product(const Problem&, const CsrView<double>&, int);

}  // namespace topwolf
