// Block scores from W. Dense rows are gathered so that scores and Gram matrix of a block are products; sparse rows go
// one by one, because their inner products would cost more than their scores.

#include <algorithm>

#include "core/threads.hpp"
#include "data/rows.hpp"
#include "engine/cpu/accumulator.hpp"
#include "engine/cpu/blas.hpp"
#include "engine/cpu/cpu_engine.hpp"
#include "engine/cpu/face_product.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// What dense and sparse rows share: the working weights, in the layout that suits the rows, and steps in many rows.
template <class T>
class Weights : public BlockScores, public FaceScores {
 public:
  Weights(const Problem& problem, int threads, std::unique_ptr<FaceProduct<T>> face, std::int64_t size)
      : problem_(problem), threads_(threads), face_(std::move(face)), weights_(static_cast<std::size_t>(size), T{0}) {}

  FaceScores* face() override { return this; }
  void set_entries(const EntryList& entries) override { face_->set_entries(entries); }
  void entry_scores(std::vector<double>& S) override { face_->score(weights_, S); }

  double product(const std::vector<double>& U, std::vector<double>* S) override {
    face_->weigh(U);
    const auto& W = face_->weights();
    if (S) face_->score(W, *S);
    const double norm2 =
        parallel_sum(size(), threads_worth(static_cast<double>(size()), threads_), numbers_per_task,
                     [&](std::int64_t from, std::int64_t to) {
                       double sum = 0.0;
                       for (auto at = static_cast<std::size_t>(from); at < static_cast<std::size_t>(to); ++at) {
                         sum += static_cast<double>(W[at]) * static_cast<double>(W[at]);
                       }
                       return sum;
                     });
    return problem_.lambda * problem_.N * norm2;
  }

  void scale(double factor) override {
    for (T& w : weights_) w = factor == 0.0 ? T{0} : w * static_cast<T>(factor);
  }

  void exchange(State& state) override { state("scores", weights_, {size()}); }

  void add_product(double gamma) override {
    const auto& W = face_->weights();
    parallel_for((size() + numbers_per_task - 1) / numbers_per_task,
                 threads_worth(static_cast<double>(size()), threads_), [&](std::int64_t task) {
                   const std::int64_t end = std::min(size(), (task + 1) * numbers_per_task);
                   for (auto at = static_cast<std::size_t>(task * numbers_per_task); at < static_cast<std::size_t>(end);
                        ++at) {
                     weights_[at] += static_cast<T>(gamma) * W[at];
                   }
                 });
  }

 protected:
  std::int64_t size() const { return static_cast<std::int64_t>(weights_.size()); }

  const Problem& problem_;
  const int threads_;
  const std::unique_ptr<FaceProduct<T>> face_;
  std::vector<T> weights_;
};

// weights_: W (m x D).
template <class T>
class DenseWeights final : public Weights<T> {
  using Weights<T>::problem_;
  using Weights<T>::weights_;

 public:
  DenseWeights(const Problem& problem, const DenseView<T>& X, int threads)
      : Weights<T>(problem, threads, make_face_product(problem, X, threads), problem.m * problem.D()),
        X_(X),
        block_threads_(products_of_block() < worth_waking ? 1 : threads),
        gathered_(static_cast<std::size_t>(block_rows() * X.cols)) {
    view_ = DenseView<T>{gathered_.data(), block_rows(), X.cols, X.cols};
    accumulator_ = std::make_unique<Accumulator<T>>(view_, problem.m, problem.bias);
  }

  std::int64_t block_rows() const override { return 32; }

  void load(std::span<const std::int64_t> rows, std::vector<double>& S, std::vector<double>& G) override {
    const std::int64_t count = static_cast<std::int64_t>(rows.size()), m = problem_.m, d = X_.cols, D = problem_.D();
    // Copied side by side: the rows of a block lie all over X, and two products and an update read them.
    for (std::int64_t r = 0; r < count; ++r) {
      const T* x = X_.data + rows[static_cast<std::size_t>(r)] * X_.stride;
      std::copy(x, x + d, gathered_.data() + r * d);
    }
    scores_.resize(static_cast<std::size_t>(count * m));
    gram_.resize(static_cast<std::size_t>(count * count));
    // The first task is the Gram matrix, the others are groups of classes.
    const std::int64_t groups = std::min<std::int64_t>(m, block_threads_ == 1 ? 1 : 2 * block_threads_);
    parallel_for(groups + 1, block_threads_, [&](std::int64_t task) {
      if (task == 0) {
        multiply_transposed(count, count, d, gathered_.data(), d, gathered_.data(), d, gram_.data(), count);
        return;
      }
      const std::int64_t from = m * (task - 1) / groups, to = m * task / groups;
      multiply_transposed(count, to - from, d, gathered_.data(), d, weights_.data() + from * D, D,
                          scores_.data() + from, m);
    });
    // The row steps are in double: they subtract numbers that are nearly equal.
    S.assign(scores_.begin(), scores_.end());
    G.assign(gram_.begin(), gram_.end());
    if (!problem_.bias.given()) return;
    for (double& g : G) g += problem_.bias.product();
    for (std::int64_t r = 0; r < count; ++r) problem_.bias.add_scores(weights_.data() + d, D, m, S.data() + r * m);
  }

  void add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change) override {
    entries_.resize(1);
    entries_[0].clear();
    append_entries(problem_, rows, change, true, entries_[0]);
    accumulator_->add(entries_, weights_, block_threads_);
  }

  void reset(const std::vector<double>& W, const Dual&) override { std::copy(W.begin(), W.end(), weights_.begin()); }

 private:
  // Threads take longer to wake than a small block takes.
  static constexpr double worth_waking = 4e6;
  double products_of_block() const {
    return static_cast<double>(block_rows()) * static_cast<double>(problem_.m + block_rows()) *
           static_cast<double>(X_.cols);
  }

  const DenseView<T> X_;
  const int block_threads_;
  SingleThreadedBlas blas_;  // for as long as this lives: switching takes longer than a block
  std::vector<T> gathered_;  // (block x d)
  DenseView<T> view_;
  std::unique_ptr<Accumulator<T>> accumulator_;
  std::vector<T> scores_, gram_;
  std::vector<std::vector<RowEntry>> entries_;
};

// weights_: W^T (D x pitch), feature by feature.
template <class T>
class SparseWeights final : public Weights<T> {
  using Weights<T>::problem_;
  using Weights<T>::weights_;

 public:
  SparseWeights(const Problem& problem, const CsrView<T>& X, const std::vector<double>& lengths2, int threads)
      : Weights<T>(problem, threads, make_face_product(problem, X, threads), problem.D() * class_pitch(problem.m)),
        X_(X),
        pitch_(class_pitch(problem.m)),
        lengths2_(lengths2) {}

  std::int64_t block_rows() const override { return 1; }

  // The features of a row lie all over them; most of a visit would be spent waiting for them.
  void expect(std::span<const std::int64_t> rows) const override {
    constexpr std::int64_t line = 64 / sizeof(T);
    for (const std::int64_t i : rows) {
      for_row(X_, i, [&](std::int64_t c, T) {
        const T* w = weights_.data() + c * pitch_;
        for (std::int64_t j = 0; j < std::min<std::int64_t>(problem_.m, 4 * line); j += line)
          __builtin_prefetch(w + j, 1);
      });
    }
  }

  void load(std::span<const std::int64_t> rows, std::vector<double>& S, std::vector<double>& G) override {
    const std::int64_t i = rows[0], m = problem_.m;
    const auto x = row_of(X_, i);
    scores_.resize(static_cast<std::size_t>(m));
    sparse_scores(x.value, x.columns, x.count, weights_.data(), pitch_, m, scores_.data());
    S.assign(scores_.begin(), scores_.end());
    // The Gram matrix of one row is its squared length, which is known.
    G.assign(1, lengths2_[static_cast<std::size_t>(i)]);
    problem_.bias.add_scores(weights_.data() + problem_.d * pitch_, 1, m, S.data());
  }

  void add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change) override {
    entries_.clear();
    append_entries(problem_, rows, change, false, entries_);
    for_row(X_, problem_.bias, rows[0], [&](std::int64_t c, double x) { add_feature(c, x); });
  }

  void reset(const std::vector<double>& W, const Dual&) override {
    const std::int64_t D = problem_.D();
    for (std::int64_t j = 0; j < problem_.m; ++j) {
      for (std::int64_t f = 0; f < D; ++f) {
        weights_[static_cast<std::size_t>(f * pitch_ + j)] = static_cast<T>(W[static_cast<std::size_t>(j * D + f)]);
      }
    }
  }

  // A product costs a third of an epoch here.
  std::int64_t epochs_per_ascent() const override { return 16; }

 private:
  void add_feature(std::int64_t feature, double x) {
    T* w = weights_.data() + feature * pitch_;
    for (const RowEntry& entry : entries_) w[entry.column] += static_cast<T>(entry.value * x);
  }

  const CsrView<T> X_;
  const std::int64_t pitch_;
  const std::vector<double>& lengths2_;
  std::vector<T> scores_;
  std::vector<RowEntry> entries_;
};

}  // namespace

std::unique_ptr<BlockScores> make_weights_scores(const Problem& problem, const std::vector<double>& lengths2,
                                                 int threads) {
  return std::visit(
      [&]<class View>(const View& X) -> std::unique_ptr<BlockScores> {
        using T = std::remove_cv_t<typename View::Value>;
        if constexpr (std::is_same_v<View, DenseView<T>>) {
          return std::make_unique<DenseWeights<T>>(problem, X, threads);
        } else {
          return std::make_unique<SparseWeights<T>>(problem, X, lengths2, threads);
        }
      },
      problem.X);
}

}  // namespace topwolf
