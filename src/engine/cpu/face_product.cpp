#include "engine/cpu/face_product.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "engine/cpu/entry_groups.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

constexpr std::int64_t product_rows = 128;

// Rows and entries that both layouts share.
class Entries {
 public:
  explicit Entries(const Problem& problem) : problem_(problem) {}

  void set(const EntryList& list) { list_ = &list; }
  std::int64_t begin(std::int64_t i) const { return list_->row_begin[static_cast<std::size_t>(i)]; }
  std::int64_t end(std::int64_t i) const { return list_->row_begin[static_cast<std::size_t>(i) + 1]; }
  const std::int32_t* column(std::int64_t e) const { return list_->column.data() + e; }
  std::size_t size() const { return list_->size(); }

  // Calls body(i) for all rows that have entries.
  template <class Body>
  void for_rows(int threads, const Body& body) const {
    parallel_for((problem_.n + product_rows - 1) / product_rows, threads, [&](std::int64_t task) {
      const std::int64_t last = std::min(problem_.n, (task + 1) * product_rows);
      for (std::int64_t i = task * product_rows; i < last; ++i) {
        if (begin(i) < end(i)) body(i);
      }
    });
  }

 private:
  const Problem& problem_;
  const EntryList* list_ = nullptr;
};

// Entries are grouped by chunk of rows, and in a chunk by class. A task owns a strip of features for some classes and
// goes through the chunks in order: a chunk's strip stays in the second-level cache while the classes pass by.
template <class T>
class DenseProduct final : public FaceProduct<T> {
 public:
  DenseProduct(const Problem& problem, const DenseView<T>& X, int threads)
      : problem_(problem), X_(X), threads_(threads), entries_(problem) {}

  void set_entries(const EntryList& list) override {
    entries_.set(list);
    groups_.sort(list, chunks() * problem_.m,
                 [&](std::int64_t i, std::int64_t j) { return i / chunk_rows * problem_.m + j; });
    value_.resize(list.size());
  }

  void weigh(const std::vector<double>& P) override {
    const std::int64_t m = problem_.m, D = problem_.D(), d = problem_.d;
    for (std::size_t at = 0; at < value_.size(); ++at) {
      value_[at] = problem_.factor(groups_.row[at]) * P[static_cast<std::size_t>(groups_.place[at])];
    }
    W_.assign(static_cast<std::size_t>(m * D), T{0});
    const std::int64_t strips = std::max<std::int64_t>(1, (d + strip - 1) / strip);
    const std::int64_t parts = std::min<std::int64_t>(m, strips >= 4 * threads_ ? 1 : 4 * threads_);
    parallel_for(strips * parts, threads_worth(products(), threads_), [&](std::int64_t task) {
      const std::int64_t from = task / parts * strip, to = std::min(d, from + strip), part = task % parts;
      for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) {
        for (std::int64_t j = m * part / parts; j < m * (part + 1) / parts; ++j) add(chunk, j, from, to);
      }
    });
  }

  const std::vector<T>& weights() const override { return W_; }

  void score(const std::vector<T>& W, std::vector<double>& S) const override {
    const std::int64_t D = problem_.D(), d = problem_.d;
    S.resize(entries_.size());
    entries_.for_rows(threads_worth(products(), threads_), [&](std::int64_t i) {
      const std::int64_t first = entries_.begin(i), count = entries_.end(i) - first;
      double* s = S.data() + first;
      dots(X_.data + i * X_.stride, d, W.data(), D, entries_.column(first), count, s);
      if (problem_.bias == 0.0) return;
      for (std::int64_t e = 0; e < count; ++e) {
        s[e] += problem_.bias * static_cast<double>(W[static_cast<std::size_t>(entries_.column(first)[e] * D + d)]);
      }
    });
  }

 private:
  static constexpr std::int64_t strip = 128, chunk_rows = 1024;

  double products() const { return static_cast<double>(entries_.size()) * static_cast<double>(problem_.d); }
  std::int64_t chunks() const { return (problem_.n + chunk_rows - 1) / chunk_rows; }

  void add(std::int64_t chunk, std::int64_t j, std::int64_t from, std::int64_t to) {
    const std::int64_t g = chunk * problem_.m + j, count = groups_.count(g), d = problem_.d;
    const std::int64_t first = groups_.begin[static_cast<std::size_t>(g)];
    if (count == 0) return;
    T* out = W_.data() + j * problem_.D();
    accumulate(X_.data + from, X_.stride, groups_.row.data() + first, value_.data() + first, count, to - from,
               out + from);
    if (problem_.bias == 0.0 || from > 0) return;
    for (std::int64_t e = first; e < first + count; ++e) {
      out[d] += static_cast<T>(problem_.bias * value_[static_cast<std::size_t>(e)]);
    }
  }

  const Problem& problem_;
  const DenseView<T> X_;
  const int threads_;
  Entries entries_;
  EntryGroups groups_;         // by chunk and class
  std::vector<double> value_;  // in their order
  std::vector<T> W_;           // (m x D)
};

// A task owns a range of features, balanced by non-zeros, and goes through all rows.
template <class T>
class SparseProduct final : public FaceProduct<T> {
 public:
  SparseProduct(const Problem& problem, const CsrView<T>& X, int threads)
      : problem_(problem), X_(X), threads_(threads), pitch_(class_pitch(problem.m)), entries_(problem) {
    std::vector<std::int64_t> count(static_cast<std::size_t>(X.cols), 0);
    const std::int64_t total = X.row_begin[X.rows];
    for (std::int64_t p = 0; p < total; ++p) ++count[static_cast<std::size_t>(X.column[p])];
    const std::int64_t parts = threads == 1 ? 1 : 4 * threads;
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

  void set_entries(const EntryList& list) override { entries_.set(list); }

  void weigh(const std::vector<double>& P) override {
    V_.resize(static_cast<std::size_t>(problem_.D() * pitch_));
    const auto parts = static_cast<std::int64_t>(bounds_.size()) - 1;
    parallel_for(parts, threads_worth(products(), threads_), [&](std::int64_t part) {
      const std::int64_t from = bounds_[static_cast<std::size_t>(part)],
                         to = bounds_[static_cast<std::size_t>(part) + 1];
      std::fill(V_.begin() + from * pitch_, V_.begin() + to * pitch_, T{0});
      for (std::int64_t i = 0; i < problem_.n; ++i) add(i, P, from, to, parts > 1);
    });
    if (problem_.bias == 0.0) return;
    T* v = V_.data() + problem_.d * pitch_;
    std::fill(v, v + pitch_, T{0});
    for (std::int64_t i = 0; i < problem_.n; ++i) add_row(v, problem_.factor(i) * problem_.bias, i, P);
  }

  const std::vector<T>& weights() const override { return V_; }

  void score(const std::vector<T>& V, std::vector<double>& S) const override {
    const std::int64_t m = problem_.m;
    S.resize(entries_.size());
    std::vector<std::vector<T>> scratch(static_cast<std::size_t>(threads_));
    entries_.for_rows(threads_worth(products(), threads_), [&](std::int64_t i) {
      if (16 * (entries_.end(i) - entries_.begin(i)) < m) {  // few among many: gathered
        score_few(i, V, S);
        return;
      }
      auto& s = scratch[static_cast<std::size_t>(thread_number())];
      s.resize(static_cast<std::size_t>(m));
      const std::int64_t first = X_.row_begin[i];
      sparse_scores(X_.value + first, X_.column + first, X_.row_begin[i + 1] - first, V.data(), pitch_, m, s.data());
      for (std::int64_t e = entries_.begin(i); e < entries_.end(i); ++e) {
        const std::int64_t j = *entries_.column(e);
        double& score = S[static_cast<std::size_t>(e)];
        score = static_cast<double>(s[static_cast<std::size_t>(j)]);
        if (problem_.bias != 0.0) {
          score += problem_.bias * static_cast<double>(V[static_cast<std::size_t>(problem_.d * pitch_ + j)]);
        }
      }
    });
  }

 private:
  double products() const {
    const double row =
        static_cast<double>(X_.row_begin[X_.rows]) / static_cast<double>(std::max<std::int64_t>(1, X_.rows));
    return static_cast<double>(entries_.size()) * row;
  }

  void score_few(std::int64_t i, const std::vector<T>& V, std::vector<double>& S) const {
    for (std::int64_t e = entries_.begin(i); e < entries_.end(i); ++e) {
      const T* v = V.data() + *entries_.column(e);
      double sum = problem_.bias == 0.0 ? 0.0 : problem_.bias * static_cast<double>(v[problem_.d * pitch_]);
      for (std::int64_t p = X_.row_begin[i]; p < X_.row_begin[i + 1]; ++p) {
        sum += static_cast<double>(X_.value[p]) * static_cast<double>(v[X_.column[p] * pitch_]);
      }
      S[static_cast<std::size_t>(e)] = sum;
    }
  }

  // v += factor * p_i
  void add_row(T* v, double factor, std::int64_t i, const std::vector<double>& P) const {
    for (std::int64_t e = entries_.begin(i); e < entries_.end(i); ++e) {
      v[*entries_.column(e)] += static_cast<T>(factor * P[static_cast<std::size_t>(e)]);
    }
  }

  void add(std::int64_t i, const std::vector<double>& P, std::int64_t from, std::int64_t to, bool search) {
    if (entries_.begin(i) == entries_.end(i)) return;
    const std::int32_t* const first = X_.column + X_.row_begin[i];
    const std::int32_t* const last = X_.column + X_.row_begin[i + 1];
    const std::int32_t* c = search ? std::lower_bound(first, last, static_cast<std::int32_t>(from)) : first;
    const double factor = problem_.factor(i);
    for (; c != last && *c < to; ++c) {
      add_row(V_.data() + *c * pitch_, factor * static_cast<double>(X_.value[c - X_.column]), i, P);
    }
  }

  const Problem& problem_;
  const CsrView<T> X_;
  const int threads_;
  const std::int64_t pitch_;
  Entries entries_;
  std::vector<std::int64_t> bounds_;  // of the tasks' features
  std::vector<T> V_;                  // (D x pitch)
};

}  // namespace

template <class T>
std::unique_ptr<FaceProduct<T>> make_face_product(const Problem& problem, const DenseView<T>& X, int threads) {
  return std::make_unique<DenseProduct<T>>(problem, X, threads);
}
template <class T>
std::unique_ptr<FaceProduct<T>> make_face_product(const Problem& problem, const CsrView<T>& X, int threads) {
  return std::make_unique<SparseProduct<T>>(problem, X, threads);
}

template std::unique_ptr<FaceProduct<float>> make_face_product(const Problem&, const DenseView<float>&, int);
template std::unique_ptr<FaceProduct<double>> make_face_product(const Problem&, const DenseView<double>&, int);
template std::unique_ptr<FaceProduct<float>> make_face_product(const Problem&, const CsrView<float>&, int);
template std::unique_ptr<FaceProduct<double>> make_face_product(const Problem&, const CsrView<double>&, int);

}  // namespace topwolf
