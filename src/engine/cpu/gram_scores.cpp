// Block scores from X X^T and a table of all scores, class-major: a block's scores are read, and a change of alpha_i
// adds row i of X X^T to the scores of the changed classes. Costs n numbers per changed class, whatever d is.

#include <algorithm>
#include <numeric>

#include "core/threads.hpp"
#include "data/rows.hpp"
#include "engine/cpu/accumulator.hpp"
#include "engine/cpu/cpu_engine.hpp"
#include "engine/cpu/dense_rows.hpp"
#include "engine/cpu/scorer.hpp"
#include "engine/host/entry_groups.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// G (n x n) = X X^T, by panels of rows; only panels on and below the diagonal are computed.
template <class T>
void fill_gram(const DenseRows& X, const Bias& bias, int threads, const Pause& pause, std::vector<T>& G) {
  // G is symmetric: half of its panels are computed, and each is written twice.
  constexpr std::int64_t panel = 256, step = 32;
  const bool in_place = X.in_place<T>();
  const std::int64_t n = X.rows(), panels = (n + panel - 1) / panel;
  const std::int64_t pitch = in_place ? X.stride() : feature_pitch<T>(X.cols());
  AlignedVector<T> high;  // (panel x pitch): copies of the rows of a, and of some of b for every thread
  std::vector<AlignedVector<T>> wide(static_cast<std::size_t>(threads));
  const auto fill = [&](std::int64_t a, std::int64_t b) {
    const std::int64_t rows = std::min(panel, n - a * panel), cols = std::min(panel, n - b * panel);
    T* corner = G.data() + a * panel * n + b * panel;
    if (in_place) {
      products(X.stored<T>() + a * panel * pitch, pitch, rows, X.stored<T>() + b * panel * pitch, pitch, cols, X.cols(),
               corner, n);
    } else {
      auto& mine = wide[static_cast<std::size_t>(thread_number())];
      mine.resize(static_cast<std::size_t>(step * pitch));
      for (std::int64_t p = 0; p < cols; p += step) {
        const std::int64_t first = b * panel + p, last = std::min(first + step, b * panel + cols);
        X.copy_rows(first, last, pitch, mine.data());
        products(high.data(), pitch, rows, mine.data(), pitch, last - first, X.cols(), corner + p, n);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t p = 0; p < (a == b ? i + 1 : cols); ++p) {
        T& value = corner[i * n + p];
        value += static_cast<T>(bias.product());
        G[static_cast<std::size_t>((b * panel + p) * n + a * panel + i)] = value;
      }
    }
  };
  // One row of panels between two pauses: all n^2 d / 2 products may take long.
  for (std::int64_t a = 0; a < panels; ++a) {
    if (pause) pause();
    if (!in_place) {
      high.resize(static_cast<std::size_t>(panel * pitch));
      parallel_for(std::min(panel, n - a * panel), threads,
                   [&](std::int64_t r) { X.copy(a * panel + r, 0, X.cols(), high.data() + r * pitch); });
    }
    parallel_for(a + 1, threads, [&](std::int64_t b) { fill(a, b); });
  }
}

// Sparse rows: each is spread out once and met by all rows before it. <x_i - mean, x_k - mean> is taken from the
// products of what is stored, in double.
template <class T>
void fill_gram(const CsrView<T>& X, const SharedMean& mean, const Bias& bias, int threads, const Pause& pause,
               std::vector<T>& G) {
  const std::int64_t n = X.rows;
  const auto with_mean =
      mean ? products_with(X, *mean, threads) : std::vector<double>(static_cast<std::size_t>(n), 0.0);
  const double of_all =
      bias.product() + (mean ? std::inner_product(mean->begin(), mean->end(), mean->begin(), 0.0) : 0.0);
  const auto fill = [&](std::int64_t i) {
    std::vector<double> spread(static_cast<std::size_t>(X.cols), 0.0);
    for_row(X, i, [&](std::int64_t c, double x) { spread[static_cast<std::size_t>(c)] = x; });
    for (std::int64_t k = 0; k <= i; ++k) {
      double sum = of_all - with_mean[static_cast<std::size_t>(i)] - with_mean[static_cast<std::size_t>(k)];
      for_row(X, k, [&](std::int64_t c, double x) { sum += spread[static_cast<std::size_t>(c)] * x; });
      G[static_cast<std::size_t>(i * n + k)] = G[static_cast<std::size_t>(k * n + i)] = static_cast<T>(sum);
    }
  };
  constexpr std::int64_t piece = 256;
  for (std::int64_t first = 0; first < n; first += piece) {
    if (pause) pause();
    parallel_for(std::min(piece, n - first), threads, [&](std::int64_t r) { fill(first + r); });
  }
}

template <class T>
class GramScores final : public BlockScores, public FaceScores {
 public:
  GramScores(const Problem& problem, std::shared_ptr<const Gram> gram, int threads, Pause pause)
      : problem_(problem),
        threads_(threads),
        n_(problem.n),
        pause_(std::move(pause)),
        S_(static_cast<std::size_t>(problem.m * n_), T{0}) {
    if (gram) use(std::move(gram));
  }

  std::int64_t group_rows() const override { return 64; }

  void load(std::span<const std::int64_t> rows, std::int64_t group, std::vector<double>& S,
            std::vector<double>& G) override {
    // Made here and not in the constructor, because here it can be stopped.
    if (!gram_) use(make_gram(problem_, threads_, pause_));
    const std::size_t count = rows.size(), m = static_cast<std::size_t>(problem_.m), n = static_cast<std::size_t>(n_);
    S.resize(count * m);
    const auto size = static_cast<std::size_t>(group);
    G.resize(count * size);
    // Class by class, as S_ lies.
    for (std::size_t j = 0; j < m; ++j) {
      const T* scores = S_.data() + j * n;
      for (std::size_t r = 0; r < count; ++r) S[r * m + j] = static_cast<double>(scores[rows[r]]);
    }
    for (std::size_t r = 0; r < count; ++r) {
      const T* row = G_ + static_cast<std::size_t>(rows[r]) * n;
      const std::size_t first = r / size * size, last = std::min(count, first + size);
      for (std::size_t p = first; p < last; ++p) G[r * size + p - first] = static_cast<double>(row[rows[p]]);
    }
  }

  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override {
    entries_.resize(1);
    entries_[0].clear();
    append_entries(problem_, rows, change, times, false, entries_[0]);
    accumulator_->add(entries_, S_, threads_);
    return 0.0;  // its groups never step at once
  }

  void reset(const std::vector<double>& W, const Dual&) override {
    // From X and W in double, and not from G, which has the precision of the features: rounding is what this takes
    // away.
    const std::int64_t m = problem_.m, panel = panel_rows(m);
    Scorer<double> scorer(problem_.X, m, problem_.bias, numbers(problem_.mean));
    scorer.set_weights(W.data(), threads_);
    parallel_for((n_ + panel - 1) / panel, threads_, [&](std::int64_t p) {
      const std::int64_t begin = p * panel, end = std::min(n_, begin + panel);
      std::vector<double> S(static_cast<std::size_t>((end - begin) * m));
      AlignedVector<double> scratch;
      scorer.scores(begin, end, S.data(), scratch);
      for (std::int64_t j = 0; j < m; ++j) {
        for (std::int64_t i = begin; i < end; ++i) {
          S_[static_cast<std::size_t>(j * n_ + i)] = static_cast<T>(S[static_cast<std::size_t>((i - begin) * m + j)]);
        }
      }
    });
  }

  void scale(double factor) override {
    for (T& s : S_) s = factor == 0.0 ? T{0} : s * static_cast<T>(factor);
  }

  void exchange(State& state) override { state("scores", S_, {problem_.m * n_}); }

  FaceScores* face() override { return this; }
  void set_entries(const EntryList& entries) override {
    if (!gram_) use(make_gram(problem_, threads_, pause_));
    list_ = &entries;
    sort_list(
        entries, problem_.m, [](std::int64_t, std::int64_t j) { return j; }, by_class_);
    pack();
  }

  void entry_scores(std::vector<double>& S) override {
    S.resize(by_class_.size());
    for (std::int64_t j = 0; j < problem_.m; ++j) {
      for_class(j, [&](std::size_t at) {
        S[by_class_.carried()[at]] = static_cast<double>(S_[static_cast<std::size_t>(j * n_ + by_class_.row()[at])]);
      });
    }
  }

  // Rows meet only in the classes that both have entries for.
  double product(const std::vector<double>& U, std::vector<double>* S) override {
    last_ = U;
    // One partial sum a class, added in order: the same bits for any number of threads.
    std::vector<double> curvature(static_cast<std::size_t>(problem_.m));
    if (S) S->resize(U.size());
    parallel_for(problem_.m, threads_worth(products_, threads_), [&](std::int64_t j) {
      const auto first = static_cast<std::size_t>(by_class_.begin(j));
      std::vector<T> u;
      for_class(j, [&](std::size_t at) { u.push_back(static_cast<T>(weighted(at))); });
      std::vector<double> s(u.size());
      class_product(j, u, s);
      double sum = 0.0;
      for_class(j, [&](std::size_t at) {
        const std::size_t place = by_class_.carried()[at];
        if (S) (*S)[place] = s[at - first];
        sum += problem_.weight(by_class_.row()[at]) * last_[place] * s[at - first];
      });
      curvature[static_cast<std::size_t>(j)] = sum;
    });
    return std::accumulate(curvature.begin(), curvature.end(), 0.0);
  }

  void add_product(double gamma) override {
    entries_.resize(1);
    entries_[0].clear();
    for_entries(*list_, [&](std::int64_t i, std::size_t e) {
      if (last_[e] != 0.0) entries_[0].push_back({i, list_->column[e], gamma * problem_.factor(i) * last_[e]});
    });
    accumulator_->add(entries_, S_, threads_);
  }

 private:
  void use(std::shared_ptr<const Gram> gram) {
    gram_ = std::move(gram);
    G_ = std::get<std::vector<T>>(gram_->values).data();
    accumulator_ = std::make_unique<Accumulator<T>>(DenseView<T>{G_, n_, n_, n_}, problem_.m, Bias());
  }

  template <class Body>
  void for_class(std::int64_t j, const Body& body) const {
    const auto first = static_cast<std::size_t>(by_class_.begin(j));
    for (std::size_t at = first; at < first + static_cast<std::size_t>(by_class_.count(j)); ++at) body(at);
  }

  // The Gram matrix of each class's rows, side by side, because tens of products use it; not where they take more room
  // than the Gram matrix of all rows.
  void pack() {
    packed_begin_.assign(static_cast<std::size_t>(problem_.m + 1), 0);
    for (std::int64_t j = 0; j < problem_.m; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const std::int64_t rows = by_class_.count(j);
      packed_begin_[at + 1] = packed_begin_[at] + rows * rows;
    }
    products_ = static_cast<double>(packed_begin_.back());
    if (packed_begin_.back() > n_ * n_) packed_begin_.assign(packed_begin_.size(), 0);
    packed_.resize(static_cast<std::size_t>(packed_begin_.back()));
    every_.resize(static_cast<std::size_t>(n_));
    std::iota(every_.begin(), every_.end(), 0);
    if (packed_.empty()) return;
    parallel_for(problem_.m, threads_worth(products_, threads_), [&](std::int64_t j) {
      T* to = packed_.data() + packed_begin_[static_cast<std::size_t>(j)];
      for_class(j, [&](std::size_t a) {
        const T* g = G_ + by_class_.row()[a] * n_;
        for_class(j, [&](std::size_t b) { *to++ = g[by_class_.row()[b]]; });
      });
    });
  }

  // s = G u for the rows that have an entry for class j.
  void class_product(std::int64_t j, const std::vector<T>& u, std::vector<double>& s) const {
    const auto at = static_cast<std::size_t>(j);
    const auto rows = static_cast<std::int64_t>(u.size());
    if (packed_begin_[at + 1] > packed_begin_[at]) {
      const T* G = packed_.data() + packed_begin_[at];
      dots(u.data(), rows, G, rows, every_.data(), rows, s.data());
      return;
    }
    const auto row = by_class_.rows_of(j);
    for (std::size_t a = 0; a < u.size(); ++a) {
      const T* g = G_ + row[a] * n_;
      T sum{0};
      for (std::size_t b = 0; b < u.size(); ++b) sum += g[row[b]] * u[b];
      s[a] = static_cast<double>(sum);
    }
  }

  double weighted(std::size_t at) const {
    return problem_.factor(by_class_.row()[at]) * last_[by_class_.carried()[at]];
  }

  const Problem& problem_;
  const int threads_;
  const std::int64_t n_;
  const Pause pause_;
  std::shared_ptr<const Gram> gram_;  // null before it is needed
  const T* G_ = nullptr;              // (n x n)
  std::vector<T> S_;                  // (m x n), class-major
  std::unique_ptr<Accumulator<T>> accumulator_;
  std::vector<std::vector<RowEntry>> entries_;
  const EntryList* list_ = nullptr;
  EntryGroups<std::size_t> by_class_;  // each with its place in the list
  std::vector<T> packed_;              // (rows x rows) of class j at packed_begin_[j]
  std::vector<std::int64_t> packed_begin_;
  double products_ = 0.0;            // how many multiplications class_product takes for all classes
  std::vector<std::int32_t> every_;  // 0, 1, 2, ...
  std::vector<double> last_;         // U of the last product
};

}  // namespace

std::shared_ptr<const Gram> make_gram(const Problem& problem, int threads, const Pause& pause) {
  return std::visit(
      [&]<class View>(const View& X) {
        std::vector<Working<typename View::Value>> G(static_cast<std::size_t>(problem.n * problem.n));
        if constexpr (requires { X.row_begin; }) {
          fill_gram(X, problem.mean, problem.bias, threads, pause, G);
        } else {
          fill_gram(DenseRows(X, numbers(problem.mean)), problem.bias, threads, pause, G);
        }
        return std::make_shared<const Gram>(Gram{std::move(G)});
      },
      problem.X);
}

std::unique_ptr<BlockScores> make_gram_scores(const Problem& problem, std::shared_ptr<const Gram> gram, int threads,
                                              Pause pause) {
  return std::visit(
      [&]<class View>(const View&) -> std::unique_ptr<BlockScores> {
        return std::make_unique<GramScores<Working<typename View::Value>>>(problem, std::move(gram), threads,
                                                                           std::move(pause));
      },
      problem.X);
}

}  // namespace topwolf
