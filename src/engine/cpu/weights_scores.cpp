// Block scores from W. Dense rows are gathered so that scores and Gram matrices of a batch are products; sparse rows
// are groups of one, because their inner products would cost more than their scores.

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/aligned.hpp"
#include "core/threads.hpp"
#include "data/rows.hpp"
#include "engine/cpu/accumulator.hpp"
#include "engine/cpu/centred_scores.hpp"
#include "engine/cpu/cpu_engine.hpp"
#include "engine/cpu/dense_rows.hpp"
#include "engine/cpu/face_product.hpp"
#include "engine/host/entry_groups.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// What dense and sparse rows share: the working weights, in the layout that suits the rows, and steps in many rows.
// How many groups of rows step at once: they disturb each other where they change the same classes, so the more classes
// the more groups, as far as most_rows_of_batch() goes.
struct Groups {
  std::int64_t to_begin_with = 1, most = 1;

  Groups(const Problem& problem, std::int64_t n, std::int64_t rows, std::int64_t classes_for_one) {
    constexpr std::int64_t most_groups = 1024;
    most = floor_power(std::min(most_rows_of_batch(n, problem.m) / rows, most_groups));
    to_begin_with = std::min(most, floor_power(problem.m / classes_for_one));
  }
  static std::int64_t floor_power(std::int64_t count) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, count))));
  }
};

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
  AlignedVector<T> weights_;
};

// weights_: W (m x pitch).
template <class T>
class DenseWeights final : public Weights<T> {
  using Weights<T>::problem_;
  using Weights<T>::threads_;
  using Weights<T>::weights_;

 public:
  DenseWeights(const Problem& problem, const DenseRows& X, int threads, std::int64_t n)
      : Weights<T>(problem, threads, make_face_product<T>(problem, X, threads),
                   problem.m * feature_pitch<T>(problem.D())),
        X_(X),
        pitch_(feature_pitch<T>(problem.D())),
        groups_(problem, n, rows_of_group, 64) {}

  std::int64_t group_rows() const override { return rows_of_group; }
  std::int64_t groups_to_begin_with() const override { return groups_.to_begin_with; }
  std::int64_t most_groups() const override { return groups_.most; }

  void load(std::span<const std::int64_t> rows, std::int64_t group, std::vector<double>& S,
            std::vector<double>& G) override {
    const auto count = static_cast<std::int64_t>(rows.size());
    const std::int64_t m = problem_.m, d = X_.cols();
    S.resize(static_cast<std::size_t>(count * m));
    G.resize(static_cast<std::size_t>(count * group));
    const double work = static_cast<double>(count) * static_cast<double>((m + group) * d);
    batch_threads_ = threads_worth(work, threads_);
    find_rows(rows, batch_threads_);
    // Columns are classes, and after them the rows of a group. Tiles are small enough to be shared out, and in the
    // order of the columns: whoever changes a class multiplies with it next. Their size changes no bit.
    const std::int64_t strips = (count + tile_rows - 1) / tile_rows, tiles = (m + tile_columns - 1) / tile_columns;
    const std::int64_t gram_tiles = (group + tile_columns - 1) / tile_columns;
    parallel_for(strips * (tiles + gram_tiles), batch_threads_, [&](std::int64_t task) {
      const std::int64_t from = task % strips * tile_rows, to = std::min(count, from + tile_rows);
      const std::int64_t tile = task / strips;
      if (tile >= tiles) return gram(from, to, (tile - tiles) * tile_columns, group, G.data());
      const std::int64_t j = tile * tile_columns, classes = std::min(tile_columns, m - j);
      const T* w[tile_columns];
      for (std::int64_t c = 0; c < classes; ++c) w[c] = weights_.data() + (j + c) * pitch_;
      products(row_.data() + from, to - from, w, classes, d, S.data() + from * m + j, m);
    });
    if (!problem_.bias.given()) return;
    for (std::int64_t r = 0; r < count; ++r) problem_.bias.add_scores(weights_.data() + d, pitch_, m, S.data() + r * m);
  }

  // The sums of a class run through the rows in order.
  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override {
    by_class_.sort(problem_.m, [&](const auto& visit) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const double factor = times * problem_.factor(rows[r]);
        for (const auto& [j, value] : change[r]) visit(j, static_cast<std::int64_t>(r), factor * value);
      }
    });
    norm2_.assign(static_cast<std::size_t>(problem_.m), 0.0);
    // The tiles of the products, on as many threads: the same threads have the same classes.
    const std::int64_t tiles = (problem_.m + tile_columns - 1) / tile_columns;
    const std::int64_t gram_tiles = (rows_of_group + tile_columns - 1) / tile_columns;
    parallel_for(tiles + gram_tiles, batch_threads_, [&](std::int64_t tile) {
      const std::int64_t last = std::min(problem_.m, (tile + 1) * tile_columns);
      for (std::int64_t j = tile * tile_columns; j < last; ++j) add_to_class(j);
    });
    return problem_.lambda * problem_.N * std::accumulate(norm2_.begin(), norm2_.end(), 0.0);
  }

  void reset(const std::vector<double>& W, const Dual&) override {
    const std::int64_t D = problem_.D();
    for (std::int64_t j = 0; j < problem_.m; ++j) {
      const double* from = W.data() + j * D;
      std::transform(from, from + D, weights_.begin() + j * pitch_, [](double w) { return static_cast<T>(w); });
    }
  }

 private:
  static constexpr std::int64_t rows_of_group = 32, tile_rows = 32, tile_columns = 12;

  void add_to_class(std::int64_t j) {
    const std::int64_t count = by_class_.count(j);
    if (count == 0) return;
    const auto values = by_class_.carried_of(j);
    T* const w = weights_.data() + j * pitch_;
    double& norm2 = norm2_[static_cast<std::size_t>(j)];
    norm2 = add_rows(row_.data(), by_class_.rows_of(j).data(), values.data(), count, X_.cols(), w);
    if (!problem_.bias.given()) return;
    double bias = 0.0;
    problem_.bias.accumulate(values, &bias);
    problem_.bias.accumulate(values, w + X_.cols());
    norm2 += bias * bias;
  }

  // Where the rows of a batch are: in X, or copied.
  void find_rows(std::span<const std::int64_t> rows, int threads) {
    row_.resize(rows.size());
    if (X_.in_place<T>()) {
      for (std::size_t r = 0; r < rows.size(); ++r) row_[r] = X_.stored<T>() + rows[r] * X_.stride();
      return;
    }
    gathered_.resize(rows.size() * static_cast<std::size_t>(pitch_));
    parallel_for(static_cast<std::int64_t>(rows.size()), threads, [&](std::int64_t r) {
      T* const to = gathered_.data() + r * pitch_;
      X_.copy(rows[static_cast<std::size_t>(r)], 0, X_.cols(), to);
      row_[static_cast<std::size_t>(r)] = to;
    });
  }

  // The inner products of the rows [from, to) with some of those of their groups, from `column` on, as far as they come
  // before them.
  void gram(std::int64_t from, std::int64_t to, std::int64_t column, std::int64_t group, double* G) const {
    for (std::int64_t begin = from / group * group; begin < to; begin += group) {
      const std::int64_t first = begin + column, last = std::min({first + tile_columns, begin + group, to});
      const std::int64_t r = std::max(from, first), end = std::min(to, begin + group);
      if (first >= last || r >= end) continue;
      products(row_.data() + r, end - r, row_.data() + first, last - first, X_.cols(), G + r * group + column, group);
      for (std::int64_t i = r; i < end; ++i) {
        for (std::int64_t c = column; c < column + last - first; ++c) G[i * group + c] += problem_.bias.product();
      }
    }
  }

  const DenseRows X_;
  const std::int64_t pitch_;
  const Groups groups_;
  std::vector<const T*> row_;  // of the batch
  AlignedVector<T> gathered_;  // (batch x pitch), where they had to be copied
  EntryGroups<double> by_class_;
  std::vector<double> norm2_;  // m
  int batch_threads_ = 1;      // that the products of the batch were worth
};

// weights_: W^T (D x pitch), feature by feature.
template <class T>
class SparseWeights final : public Weights<T> {
  using Weights<T>::problem_;
  using Weights<T>::threads_;
  using Weights<T>::weights_;

 public:
  SparseWeights(const Problem& problem, const CsrView<T>& X, const std::vector<double>& lengths2, int threads,
                std::int64_t n)
      : Weights<T>(problem, threads, make_face_product<T>(problem, X, threads), problem.D() * class_pitch(problem.m)),
        X_(X),
        pitch_(class_pitch(problem.m)),
        lengths2_(lengths2),
        groups_(problem, n, 1, 4),
        mean_row_(static_cast<double>(stored_values(X)) / static_cast<double>(std::max<std::int64_t>(1, X.rows))) {
    // Of as many features each as have the same number of values.
    std::vector<std::int64_t> count(static_cast<std::size_t>(X.cols), 0);
    for_stored(X, [&](std::int64_t, std::int64_t c, T) { ++count[static_cast<std::size_t>(c)]; });
    const std::int64_t total = stored_values(X);
    std::int64_t seen = 0;
    for (std::int64_t f = 0; f < X.cols; ++f) {
      seen += count[static_cast<std::size_t>(f)];
      if (seen * static_cast<std::int64_t>(most_parts) >= static_cast<std::int64_t>(bounds_.size() + 1) * total &&
          bounds_.size() + 1 < most_parts) {
        bounds_.push_back(f + 1);
      }
    }
    bounds_.resize(most_parts, X.cols);
  }

  std::int64_t group_rows() const override { return 1; }
  std::int64_t groups_to_begin_with() const override { return groups_.to_begin_with; }
  std::int64_t most_groups() const override { return groups_.most; }

  // The features of a row lie all over them; most of a visit would be spent waiting for them.
  void expect(std::span<const std::int64_t> rows) const override {
    constexpr std::int64_t line = 64 / sizeof(T);
    for (const std::int64_t i : rows.first(std::min<std::size_t>(1, rows.size()))) {
      for_row(X_, i, [&](std::int64_t c, T) {
        const T* w = weights_.data() + c * pitch_;
        for (std::int64_t j = 0; j < std::min<std::int64_t>(problem_.m, 4 * line); j += line)
          __builtin_prefetch(w + j, 1);
      });
    }
  }

  void load(std::span<const std::int64_t> rows, std::int64_t, std::vector<double>& S, std::vector<double>& G) override {
    const auto m = static_cast<std::size_t>(problem_.m);
    S.resize(rows.size() * m);
    G.resize(rows.size());
    scores_.resize(rows.size() * m);
    for_rows(rows.size(), mean_row_ * static_cast<double>(m), [&](std::size_t r) {
      const auto x = row_of(X_, rows[r]);
      T* const s = scores_.data() + r * m;
      if (r + 1 < rows.size()) expect(rows.subspan(r + 1, 1));
      sparse_scores(x.value, x.columns, x.count, weights_.data(), pitch_, problem_.m, s);
      std::copy(s, s + m, S.data() + r * m);
      problem_.bias.add_scores(weights_.data() + problem_.d * pitch_, 1, problem_.m, S.data() + r * m);
      // A row with itself: its squared length, which is known.
      G[r] = lengths2_[static_cast<std::size_t>(rows[r])];
    });
  }

  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override {
    if (rows.size() == 1) {
      const double factor = times * problem_.factor(rows[0]);
      for_row(X_, problem_.bias, rows[0], [&](std::int64_t c, double x) {
        for (const auto& [j, value] : change[0]) weights_[at(c, j)] += static_cast<T>(factor * value * x);
      });
      return 0.0;  // nobody else steps
    }
    double entries = 0.0;
    for (const SparseRow& row : change) entries += static_cast<double>(row.size());
    // A fixed number of parts, since sums run part by part; one where threads would not be worth waking.
    constexpr double least_work = 2e4;
    const std::size_t parts = entries * mean_row_ < least_work ? 1 : most_parts;
    // ||W(d)||^2, row by row: its own, and twice what it has with those before it, which is by how much they have
    // changed its scores.
    disturbed_.assign(rows.size() * parts, 0.0);
    // A task is some of the parts: every one costs a search in every row.
    const int threads = threads_worth(entries * mean_row_, threads_, 1e4);
    const std::size_t tasks = std::min(parts, std::bit_floor(static_cast<std::size_t>(threads)));
    const std::size_t parts_per_task = parts / tasks;
    parallel_for(static_cast<std::int64_t>(tasks), threads, [&](std::int64_t task) {
      const std::size_t first = static_cast<std::size_t>(task) * parts_per_task;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (tasks == 1 && r + 1 < rows.size()) expect(rows.subspan(r + 1, 1));
        if (change[r].empty()) continue;
        update(rows[r], first, first + parts_per_task, parts, change[r], times, disturbed_.data() + r * parts);
      }
    });
    double norm2 = add_to_bias(rows, change, times);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto begin = disturbed_.begin() + static_cast<std::ptrdiff_t>(r * parts);
      double disturbed = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(parts), 0.0), own = 0.0;
      const T* const s = scores_.data() + r * static_cast<std::size_t>(problem_.m);
      for (const auto& [j, value] : change[r]) {
        disturbed -= value * static_cast<double>(s[j]);
        own += value * value;
      }
      own *= problem_.factor(rows[r]) * (lengths2_[static_cast<std::size_t>(rows[r])] - problem_.bias.product());
      norm2 += problem_.weight(rows[r]) * (own + 2.0 * disturbed);
    }
    return norm2;
  }

  void reset(const std::vector<double>& W, const Dual&) override {
    const std::int64_t D = problem_.D();
    for (std::int64_t j = 0; j < problem_.m; ++j) {
      for (std::int64_t f = 0; f < D; ++f) weights_[at(f, j)] = static_cast<T>(W[static_cast<std::size_t>(j * D + f)]);
    }
  }

  // A product costs a third of an epoch here.
  std::int64_t epochs_per_ascent() const override { return 16; }

 private:
  static constexpr std::size_t most_parts = 16;  // of the features

  std::size_t at(std::int64_t feature, std::int64_t j) const { return static_cast<std::size_t>(feature * pitch_ + j); }

  template <class Body>
  void for_rows(std::size_t count, double work_of_row, const Body& body) const {
    constexpr std::size_t rows_per_task = 4;
    parallel_for(static_cast<std::int64_t>((count + rows_per_task - 1) / rows_per_task),
                 threads_worth(work_of_row * static_cast<double>(count), threads_, 1e5), [&](std::int64_t task) {
                   const std::size_t first = static_cast<std::size_t>(task) * rows_per_task;
                   for (std::size_t r = first; r < std::min(count, first + rows_per_task); ++r) body(r);
                 });
  }

  // Adds a row's change to the weights of the features of the parts [first, last) of `parts`. sums[q] becomes <d, s> as
  // far as the features of part q go, with the scores that it found.
  void update(std::int64_t i, std::size_t first, std::size_t last, std::size_t parts, RowView change, double times,
              double* sums) {
    const auto x = row_of(X_, i);
    const std::int32_t* const end = x.columns + x.count;
    const std::int32_t* c = first == 0 ? x.columns : std::lower_bound(x.columns, end, bounds_[first - 1]);
    const double factor = times * problem_.factor(i);
    for (std::size_t q = first; q < last; ++q) {
      const std::int64_t to = parts == 1 ? X_.cols : bounds_[q];
      double sum = 0.0;
      for (; c != end && *c < to; ++c) {
        const double value = static_cast<double>(x.value[c - x.columns]);
        T* const w = weights_.data() + *c * pitch_;
        double meets = 0.0;
        for (const auto& [j, d] : change) {
          meets += d * static_cast<double>(w[j]);
          w[j] += static_cast<T>(factor * value * d);
        }
        sum += value * meets;
      }
      sums[q] = sum;
    }
  }

  // The constant feature meets every row. Returns its part of the norm.
  double add_to_bias(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) {
    if (!problem_.bias.given()) return 0.0;
    bias_.assign(static_cast<std::size_t>(problem_.m), 0.0);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const auto& [j, value] : change[r]) {
        bias_[static_cast<std::size_t>(j)] += times * problem_.factor(rows[r]) * problem_.bias.value() * value;
      }
    }
    double norm2 = 0.0;
    for (std::int64_t j = 0; j < problem_.m; ++j) {
      const double moved = bias_[static_cast<std::size_t>(j)];
      weights_[at(problem_.d, j)] += static_cast<T>(moved);
      norm2 += moved * moved;
    }
    return problem_.lambda * problem_.N * norm2;
  }

  const CsrView<T> X_;
  const std::int64_t pitch_;
  const std::vector<double>& lengths2_;
  const Groups groups_;
  const double mean_row_;             // stored values
  std::vector<std::int64_t> bounds_;  // parts: where each one's features end
  std::vector<T> scores_;             // (batch x m), without the constant feature
  std::vector<double> disturbed_;     // (batch x parts)
  std::vector<double> bias_;          // m
};

// Whether numbers of T that are rounded with the mean in them have enough digits left without it.
template <class T>
bool mean_is_small(const Problem& problem, const std::vector<double>& lengths2) {
  constexpr double few = sizeof(T) == sizeof(float) ? 16.0 : 1e3;  // 2 and 5 binary digits of a length
  const std::vector<double>& mean = *problem.mean;
  const double mean2 = std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0);
  const double sum = std::accumulate(lengths2.begin(), lengths2.end(), 0.0), n = static_cast<double>(lengths2.size());
  return mean2 <= few * (sum / n - problem.bias.product());
}

}  // namespace

std::int64_t most_rows_of_batch(std::int64_t n, std::int64_t m) {
  constexpr std::int64_t most_scores = 1 << 21, least_batches = 16;
  return std::min(most_scores / m, n / least_batches);
}

std::unique_ptr<BlockScores> make_weights_scores(const Problem& problem, const std::vector<double>& lengths2,
                                                 int threads, const AmongRows& all) {
  return std::visit(
      [&]<class View>(const View& X) -> std::unique_ptr<BlockScores> {
        using T = Working<typename View::Value>;
        constexpr bool sparse = requires {
          X.row_begin;
        };
        const auto plain = [&](const std::vector<double>& plain_lengths2) -> std::unique_ptr<BlockScores> {
          if constexpr (sparse) {
            return std::make_unique<SparseWeights<T>>(problem, X, plain_lengths2, threads, all.n);
          } else {
            return std::make_unique<DenseWeights<T>>(problem, X, threads, all.n);
          }
        };
        if (!problem.mean) return plain(lengths2);
        if constexpr (!sparse) {
          // A copy of every row that is visited costs as much as its products where there are few classes.
          if (!mean_is_small<T>(problem, all.lengths2)) {
            return std::make_unique<DenseWeights<T>>(problem, DenseRows(X, numbers(problem.mean)), threads, all.n);
          }
        }
        return std::make_unique<CentredScores>(problem, lengths2, threads, plain);
      },
      problem.X);
}

}  // namespace topwolf
