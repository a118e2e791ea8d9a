// The engine on this machine's cores. Rows go by in panels (one product each, thread-private scores) and panels in
// chunks (one accumulation each); no n x m matrix exists. Sums are kept per panel and added in order.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/length.hpp"
#include "core/threads.hpp"
#include "data/row_lengths.hpp"
#include "engine/accumulator.hpp"
#include "engine/blas.hpp"
#include "engine/engine.hpp"
#include "engine/joint_map.hpp"
#include "engine/scorer.hpp"

namespace topwolf {
namespace {

// Memory of one thread, kept between passes.
template <class R>
struct ThreadSpace {
  std::vector<R> S;  // (panel x m)
  std::vector<R> scratch;
  RowScratch row;
  SparseRow u, v, step;
};

// psi(x, j) = e_j (x) x: scores and sums are products with the features, of type T.
template <class T>
class KroneckerMap {
 public:
  using Real = T;  // of the scores in a pass
  KroneckerMap(const Problem& problem, int threads)
      : problem_(problem),
        threads_(threads),
        scorer_(problem.X, problem.m, problem.bias),
        accumulator_(problem.X, problem.m, problem.bias) {}

  Geometry geometry() const {
    return {problem_.m * problem_.D(), problem_.n, std::numeric_limits<T>::epsilon(),
            squared_lengths(problem_.X, problem_.bias, threads_)};
  }
  std::int64_t row_bytes() const { return problem_.d * static_cast<std::int64_t>(sizeof(T)); }

  void set_weights(const std::vector<double>& W) { scorer_.set_weights(W.data(), threads_); }
  void scores(std::int64_t begin, std::int64_t end, T* S, std::vector<T>& scratch) const {
    scorer_.scores(begin, end, S, scratch);
  }
  // The same in double.
  Scorer<double> exact_scores(const std::vector<double>& W) const {
    Scorer<double> scorer(problem_.X, problem_.m, problem_.bias);
    scorer.set_weights(W.data(), threads_);
    return scorer;
  }
  // How many products a score of example i sums, and how long weights can be that one class has.
  std::int64_t terms(std::int64_t i) const {
    const auto count = [i](const auto& X) {
      if constexpr (requires { X.row_begin; })
        return X.row_begin[i + 1] - X.row_begin[i];
      else
        return X.cols;
    };
    return std::visit(count, problem_.X) + 1;
  }
  double longest_weights(const std::vector<double>& W) const {
    const auto D = static_cast<std::size_t>(problem_.D());
    double longest = 0.0;
    for (std::size_t from = 0; from < W.size(); from += D) {
      longest = std::max(longest, length(std::span(W).subspan(from, D)));
    }
    return longest;
  }
  void add(const std::vector<std::vector<RowEntry>>& panels, std::vector<double>& W) {
    accumulator_.add(panels, W, threads_);
  }

 private:
  const Problem& problem_;
  const int threads_;
  Scorer<T> scorer_;
  Accumulator<double> accumulator_;
};

// Any psi, by its two verbs, in double.
class AnyMap {
 public:
  using Real = double;
  AnyMap(const Problem& problem, const JointMap& psi, int threads) : problem_(problem), psi_(psi), threads_(threads) {}

  Geometry geometry() const {
    // Every class of every example may add to the same number.
    Geometry out{psi_.dimension(), problem_.n * problem_.m, std::numeric_limits<double>::epsilon(), {}};
    out.lengths2 = squared_lengths(psi_, threads_);
    out.coupling = static_cast<double>(problem_.m);
    return out;
  }
  std::int64_t row_bytes() const { return problem_.m * static_cast<std::int64_t>(sizeof(double)); }

  void set_weights(const std::vector<double>& W) { W_ = &W; }
  void scores(std::int64_t begin, std::int64_t end, double* S, std::vector<double>&) const {
    const auto m = static_cast<std::size_t>(problem_.m);
    for (std::int64_t i = begin; i < end; ++i, S += m) psi_.scores(i, *W_, {S, m});
  }
  std::int64_t terms(std::int64_t) const { return psi_.dimension(); }
  double longest_weights(const std::vector<double>& W) const { return length(W); }
  AnyMap exact_scores(const std::vector<double>& W) const {
    AnyMap at(*this);
    at.set_weights(W);
    return at;
  }
  void add(const std::vector<std::vector<RowEntry>>& panels, std::vector<double>& W) {
    // One after the other: a row has few entries, and takes far less time here than its m scores.
    for (const auto& panel : panels) {
      for (std::size_t first = 0; first < panel.size();) {
        row_.clear();
        std::size_t e = first;
        for (; e < panel.size() && panel[e].row == panel[first].row; ++e)
          row_.push_back({panel[e].column, panel[e].value});
        psi_.accumulate(panel[first].row, row_, W);
        first = e;
      }
    }
  }

 private:
  const Problem& problem_;
  const JointMap& psi_;
  const int threads_;
  const std::vector<double>* W_ = nullptr;
  SparseRow row_;
};

template <class Map>
class CpuEngine final : public Engine {
  using T = typename Map::Real;

 public:
  CpuEngine(const Problem& problem, Map map, int threads)
      : Engine(map.geometry()),
        problem_(problem),
        threads_(threads),
        panel_(panel_rows(problem.m)),
        panels_((problem.n + panel_ - 1) / panel_),
        map_(std::move(map)),
        space_(static_cast<std::size_t>(threads)) {}

  PassSums pass(const std::vector<double>& W, Direction direction, const DualRows* A, DualRows* U,
                std::vector<double>& W_U) override {
    SingleThreadedBlas blas;
    map_.set_weights(W);
    std::vector<PassSums> sums(static_cast<std::size_t>(panels_));
    accumulate_chunks<true>(W_U, [&](std::int64_t panel, std::vector<RowEntry>& entries) {
      sums[static_cast<std::size_t>(panel)] = pass_panel(panel, direction, A, U, entries);
    });
    PassSums total;
    for (const PassSums& part : sums) add(part, total);
    return total;
  }

  AscentSums ascend(const std::vector<double>& W, const Extrapolation& V, double q, DualRows& A_next,
                    std::vector<double>& W_next) override {
    SingleThreadedBlas blas;
    map_.set_weights(W);
    std::vector<AscentSums> sums(static_cast<std::size_t>(panels_));
    accumulate_chunks<true>(W_next, [&](std::int64_t panel, std::vector<RowEntry>& entries) {
      auto& mine = space_[static_cast<std::size_t>(thread_number())];
      const auto [begin, end] = score_panel(map_, panel, mine);
      for (std::int64_t i = begin; i < end; ++i) {
        SparseRow& next = A_next[static_cast<std::size_t>(i)];
        ascend_row(i, mine.S.data() + (i - begin) * problem_.m, V, q, next, mine,
                   sums[static_cast<std::size_t>(panel)]);
        append(i, next, entries);
      }
    });
    AscentSums total;
    for (const AscentSums& part : sums) add(part, total);
    return total;
  }

  using Engine::loss_sum;
  LossSum loss_sum(const std::vector<double>& W, const AtRows& wanted) override {
    if (wanted.shares) wanted.shares->resize(static_cast<std::size_t>(problem_.n));
    if (wanted.ranks) wanted.ranks->resize(static_cast<std::size_t>(problem_.n));
    SingleThreadedBlas blas;
    const auto exact = map_.exact_scores(W);
    std::vector<ThreadSpace<double>> space(static_cast<std::size_t>(threads_));
    const double longest = map_.longest_weights(W);
    std::vector<std::pair<long double, double>> sums(static_cast<std::size_t>(panels_));
    parallel_for(panels_, threads_, [&](std::int64_t panel) {
      auto& mine = space[static_cast<std::size_t>(thread_number())];
      const auto [begin, end] = score_panel(exact, panel, mine);
      auto& [sum, rounding] = sums[static_cast<std::size_t>(panel)];
      for (std::int64_t i = begin; i < end; ++i) {
        const double* s = mine.S.data() + (i - begin) * problem_.m;
        // A score that overflowed must not pass for a small loss.
        if (!std::all_of(s, s + problem_.m, [](double x) { return std::isfinite(x); })) {
          sum = NAN;
          continue;
        }
        const LossBound loss =
            loss_bound(problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i), mine.u, mine.row);
        sum += static_cast<long double>(problem_.weight(i)) * loss.phi;
        rounding += problem_.weight(i) * row_rounding(i, longest, loss);
        const auto at = static_cast<std::size_t>(i);
        if (wanted.ranks) (*wanted.ranks)[at] = rank(s, problem_.label(i));
        if (!wanted.shares) continue;
        (*wanted.shares)[at] = gap_share(problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i),
                                         (*wanted.A)[at], mine.u, mine.row);
      }
    });
    std::pair<long double, double> total{};
    for (const auto& [sum, rounding] : sums) total.first += sum, total.second += rounding;
    return {static_cast<double>(total.first), total.second};
  }

  void weights_of(const DualRows& A, std::vector<double>& W) override {
    accumulate_chunks<false>(W, [&](std::int64_t panel, std::vector<RowEntry>& entries) {
      const auto [begin, end] = range(panel);
      for (std::int64_t i = begin; i < end; ++i) append(i, A[static_cast<std::size_t>(i)], entries);
    });
  }

  void round_weights(std::vector<double>& W) const override {
    if constexpr (std::is_same_v<T, float>) {
      for (double& w : W) w = static_cast<double>(static_cast<float>(w));
    }
  }

 private:
  std::pair<std::int64_t, std::int64_t> range(std::int64_t panel) const {
    return {panel * panel_, std::min(problem_.n, (panel + 1) * panel_)};
  }

  template <class Source, class R>
  std::pair<std::int64_t, std::int64_t> score_panel(const Source& source, std::int64_t panel,
                                                    ThreadSpace<R>& space) const {
    const auto [begin, end] = range(panel);
    space.S.resize(static_cast<std::size_t>(panel_ * problem_.m));
    source.scores(begin, end, space.S.data(), space.scratch);
    return {begin, end};
  }

  // Ties go to the lower class.
  std::int32_t rank(const double* s, std::int64_t y) const {
    std::int32_t before = 0;
    for (std::int64_t j = 0; j < problem_.m; ++j) before += s[j] > s[y] || (s[j] == s[y] && j < y) ? 1 : 0;
    return before;
  }

  // G1. No score is longer than ||x_i|| times the longest weights, and each is off by `terms` roundings of that, and by
  // a few for each of the K ranks. The loss grows with them by at most sum(rho), and the envelope by the beta it has
  // and those it can gain on the way.
  double row_rounding(std::int64_t i, double longest_weights, const LossBound& at) const {
    constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
    const auto K = static_cast<double>(problem_.loss.K()), terms = static_cast<double>(map_.terms(i));
    const double score = std::sqrt(this->geometry().lengths2[static_cast<std::size_t>(i)]) * longest_weights;
    const double off = unit_roundoff * score * (2.0 * terms + 4.0 * K + 40.0);
    double rate = problem_.loss.rho_sum();
    if (problem_.loss.smoothing > 0.0) {
      rate = std::min(rate, at.beta_sum + static_cast<double>(problem_.m) * off / problem_.loss.smoothing);
    }
    return rate * off + unit_roundoff * (K + 8.0) * at.phi;
  }

  template <class R>
  double row_loss(std::int64_t i, const R* s, ThreadSpace<R>& space) const {
    const Loss& loss = problem_.loss;
    const std::int64_t m = problem_.m, y = problem_.label(i);
    if (loss.smoothing > 0.0) return envelope(loss, problem_.margins(i), s, m, y, space.u, space.row);
    return vertex(loss, problem_.margins(i), s, m, y, space.u, space.row).phi;
  }

  // Runs fill(panel, entries) over all panels, a chunk at a time, and adds each chunk's entries to W (from 0), scaled
  // by 1 / (lambda N).
  template <bool stoppable, class Fill>
  void accumulate_chunks(std::vector<double>& W, const Fill& fill) {
    W.assign(static_cast<std::size_t>(geometry().dimension), 0.0);
    const std::int64_t chunk = chunk_panels();
    std::vector<std::vector<RowEntry>> entries(static_cast<std::size_t>(std::min(chunk, panels_)));
    for (std::int64_t first = 0; first < panels_; first += chunk) {
      const std::int64_t count = std::min(chunk, panels_ - first);
      if constexpr (stoppable) this->stop_if_asked();
      for (auto& list : entries) list.clear();
      parallel_for(count, threads_, [&](std::int64_t p) { fill(first + p, entries[static_cast<std::size_t>(p)]); });
      map_.add(entries, W);
    }
    const double scale = 1.0 / (problem_.lambda * problem_.N);
    for (double& w : W) w *= scale;
  }

  // As many rows as stay in the last-level cache between the product and the accumulation, and a panel per thread.
  std::int64_t chunk_panels() const {
    constexpr std::int64_t cache_bytes = 4 << 20;
    const std::int64_t row_bytes = std::max<std::int64_t>(1, map_.row_bytes());
    const std::int64_t rows = std::clamp<std::int64_t>(cache_bytes / row_bytes, panel_, 16 * panel_);
    return std::max<std::int64_t>(threads_, rows / panel_);
  }

  void append(std::int64_t i, const SparseRow& row, std::vector<RowEntry>& entries) const {
    const double omega = problem_.weight(i);
    for (const auto& [j, value] : row) entries.push_back({i, j, omega * value});
  }

  static void add(const PassSums& part, PassSums& total) {
    total.phi += part.phi;
    total.c_u += part.c_u;
    total.c_alpha += part.c_alpha;
    total.alpha_norm2 += part.alpha_norm2;
    total.slope += part.slope;
    total.distance2 += part.distance2;
  }

  static void add(const AscentSums& part, AscentSums& total) {
    total.phi += part.phi;
    total.c_alpha += part.c_alpha;
    total.alpha_norm2 += part.alpha_norm2;
    total.distance2 += part.distance2;
  }

  PassSums pass_panel(std::int64_t panel, Direction direction, const DualRows* A, DualRows* U,
                      std::vector<RowEntry>& entries) {
    auto& mine = space_[static_cast<std::size_t>(thread_number())];
    const auto [begin, end] = score_panel(map_, panel, mine);
    PassSums sums;
    for (std::int64_t i = begin; i < end; ++i) {
      T* s = mine.S.data() + (i - begin) * problem_.m;
      if (problem_.loss.smoothing > 0.0) {
        smoothed_row(i, s, direction, (*A)[static_cast<std::size_t>(i)], mine, sums);
      } else {
        const auto [phi, c_u] =
            vertex(problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i), mine.u, mine.row);
        sums.phi += problem_.weight(i) * phi;
        sums.c_u += problem_.weight(i) * c_u;
      }
      append(i, mine.u, entries);
      if (U) (*U)[static_cast<std::size_t>(i)] = mine.u;
    }
    return sums;
  }

  // F4: the envelope at s, then the direction at s + smoothing alpha, and what the line search needs.
  void smoothed_row(std::int64_t i, T* s, Direction direction, const SparseRow& alpha, ThreadSpace<T>& mine,
                    PassSums& sums) const {
    const Loss& loss = problem_.loss;
    const RowMargins delta = problem_.margins(i);
    const std::int64_t m = problem_.m, y = problem_.label(i);
    const double omega = problem_.weight(i);
    sums.phi += omega * envelope(loss, delta, s, m, y, mine.u, mine.row);
    for (const auto& [j, value] : alpha) s[j] += static_cast<T>(loss.smoothing * value);
    if (direction == Direction::vertex) vertex(loss, delta, s, m, y, mine.u, mine.row);
    double slope = 0.0;
    mix(1.0, mine.u, -1.0, alpha, mine.step);
    for (const auto& [j, value] : mine.step) slope -= value * (margin(delta, j, y) + static_cast<double>(s[j]));
    sums.slope += omega * slope;
    sums.distance2 += omega * squared_norm(mine.step);
    sums.c_u += omega * dot_c(delta, y, mine.u);
    sums.c_alpha += omega * dot_c(delta, y, alpha);
    sums.alpha_norm2 += omega * squared_norm(alpha);
  }

  // A1: v, the loss at its scores s, and next = Proj_Q(v + (c - s - smoothing v) / (q + smoothing)).
  void ascend_row(std::int64_t i, const T* s, const Extrapolation& V, double q, SparseRow& next, ThreadSpace<T>& mine,
                  AscentSums& sums) const {
    const auto at = static_cast<std::size_t>(i);
    const Loss& loss = problem_.loss;
    const RowMargins delta = problem_.margins(i);
    const std::int64_t y = problem_.label(i);
    const double omega = problem_.weight(i);
    sums.phi += omega * row_loss(i, s, mine);
    mix(1.0 + V.mu, V.A[at], -V.mu, V.A_old[at], mine.v);
    block_step(loss, delta, s, problem_.m, y, q, mine.v, next, mine.row);
    sums.c_alpha += omega * dot_c(delta, y, next);
    sums.alpha_norm2 += omega * squared_norm(next);
    mix(1.0, next, -1.0, mine.v, mine.step);
    sums.distance2 += omega * squared_norm(mine.step);
  }

  const Problem& problem_;
  const int threads_;
  const std::int64_t panel_, panels_;
  Map map_;
  std::vector<ThreadSpace<T>> space_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, int threads) {
  threads = resolve_threads(threads);
  const auto make = [&](auto map) -> std::unique_ptr<Engine> {
    return std::make_unique<CpuEngine<decltype(map)>>(problem, std::move(map), threads);
  };
  const bool single = problem.X.index() % 2 == 0;
  return single ? make(KroneckerMap<float>(problem, threads)) : make(KroneckerMap<double>(problem, threads));
}

std::unique_ptr<Engine> make_joint_engine(const Problem& problem, const JointMap& psi, int threads) {
  threads = resolve_threads(threads);
  return std::make_unique<CpuEngine<AnyMap>>(problem, AnyMap(problem, psi, threads), threads);
}

}  // namespace topwolf
