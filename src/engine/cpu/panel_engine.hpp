// An engine on this machine's cores. Rows go by in panels (one product each, thread-private scores) and panels in
// chunks (one accumulation each); no n x m matrix exists. Sums are kept per panel and added in order.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/aligned.hpp"
#include "core/threads.hpp"
#include "engine/cpu/accumulator.hpp"
#include "engine/cpu/scorer.hpp"
#include "engine/host/engine.hpp"
#include "engine/host/row_pass.hpp"
#include "loss/oracle.hpp"

namespace topwolf {

// A Map says how rows become scores and how sums over rows become weights:
//   Real                                   the type of the scores in a pass
//   geometry()
//   row_bytes()                            that a pass reads of a row
//   set_weights(W), scores(begin, end, S, scratch)
//   exact_scores(W)                        something with the same scores() in double
//   terms(i), longest_weights(W)           how many products a score sums, and how long the weights of a class are
//   add(panels, W)                         W += sum of the entries times psi, but for the mean of the rows, ...
//   take_off_mean(W)                       ... which is taken off the sum at the end
//   block_scores(problem, lengths2, threads, pause)
//   kronecker                              whether scores are products of weights and the problem's rows
template <class Map>
class PanelEngine final : public HostEngine {
  using T = typename Map::Real;

 public:
  PanelEngine(const Problem& problem, Map map, SharedLengths lengths2, int threads)
      : HostEngine(problem, map.geometry(), std::move(lengths2), threads),
        panel_(panel_rows(problem.m)),
        panels_((problem.n + panel_ - 1) / panel_),
        map_(std::move(map)),
        space_(static_cast<std::size_t>(threads)) {}

  PassSums pass(const std::vector<double>& W, Direction direction, const Dual* A, Dual* U,
                std::vector<double>& W_U) override {
    map_.set_weights(W);
    std::vector<PassSums> sums(static_cast<std::size_t>(panels_));
    accumulate_chunks<true>(W_U, [&](std::int64_t panel, std::vector<RowEntry>& entries) {
      auto& mine = space_[static_cast<std::size_t>(thread_number())];
      const auto [begin, end] = score_panel(map_, panel, mine);
      const PanelAsked asked = ask_ahead(PanelAsked::What::vertices, begin, end, mine);
      for (std::int64_t i = begin; i < end; ++i) {
        T* s = mine.S.data() + (i - begin) * problem_.m;
        pass_row(problem_, i, s, direction, A ? on_host(*A)[i] : RowView(), mine.row,
                 sums[static_cast<std::size_t>(panel)]);
        append(i, mine.row.u, entries);
        if (U) on_host(*U).assign(i, mine.row.u);
      }
    });
    return total(sums);
  }

  AscentSums ascend(const std::vector<double>& W, const Extrapolation& A_mu, double q, Dual& A_next,
                    std::vector<double>& W_next) override {
    map_.set_weights(W);
    std::vector<AscentSums> sums(static_cast<std::size_t>(panels_));
    const HostDual &A = on_host(A_mu.A), &A_old = on_host(A_mu.A_old);
    accumulate_chunks<true>(W_next, [&](std::int64_t panel, std::vector<RowEntry>& entries) {
      auto& mine = space_[static_cast<std::size_t>(thread_number())];
      const auto [begin, end] = score_panel(map_, panel, mine);
      for (std::int64_t i = begin; i < end; ++i) {
        ascend_row(problem_, i, mine.S.data() + (i - begin) * problem_.m, A[i], A_old[i], A_mu.mu, q, mine.next,
                   mine.row, sums[static_cast<std::size_t>(panel)]);
        append(i, mine.next, entries);
        on_host(A_next).assign(i, mine.next);
      }
    });
    return total(sums);
  }

  using Engine::loss_sum;
  LossSum loss_sum(const std::vector<double>& W, const AtRows& wanted) override {
    if (wanted.ranks) wanted.ranks->resize(static_cast<std::size_t>(problem_.n));
    const auto exact = map_.exact_scores(W);
    std::vector<ThreadSpace<double>> space(static_cast<std::size_t>(threads()));
    const double longest_weights = map_.longest_weights(W);
    std::vector<LossSum> sums(static_cast<std::size_t>(panels_));
    parallel_for(panels_, threads(), [&](std::int64_t panel) {
      auto& mine = space[static_cast<std::size_t>(thread_number())];
      const auto [begin, end] = score_panel(exact, panel, mine);
      const PanelAsked asked = ask_ahead(PanelAsked::What::values, begin, end, mine);
      LossSum& sum = sums[static_cast<std::size_t>(panel)];
      for (std::int64_t i = begin; i < end; ++i) {
        const double* s = mine.S.data() + (i - begin) * problem_.m;
        const LossSum loss =
            certified_row(problem_, i, s, reach(i) * longest_weights, map_.terms(i), mine.row, wanted.least);
        sum.sum += problem_.weight(i) * loss.sum;
        sum.rounding += problem_.weight(i) * loss.rounding;
        sum.least += problem_.weight(i) * loss.least;
        if (wanted.ranks) (*wanted.ranks)[static_cast<std::size_t>(i)] = rank(s, problem_.m, problem_.label(i));
        if (wanted.ascent) see_share(*wanted.ascent, i, s, *wanted.A, mine.row);
      }
    });
    return total(sums);
  }

  NewtonSums look(const std::vector<double>& W, double extra, Dual& U, std::vector<double>& W_U) override {
    map_.set_weights(W);
    Loss smooth = problem_.loss;
    smooth.smoothing += extra;
    std::vector<NewtonSums> sums(static_cast<std::size_t>(panels_));
    accumulate_chunks<true>(W_U, [&](std::int64_t panel, std::vector<RowEntry>& entries) {
      auto& mine = space_[static_cast<std::size_t>(thread_number())];
      const auto [begin, end] = score_panel(map_, panel, mine);
      for (std::int64_t i = begin; i < end; ++i) {
        newton_row(problem_, smooth, i, mine.S.data() + (i - begin) * problem_.m, mine.row,
                   sums[static_cast<std::size_t>(panel)]);
        append(i, mine.row.u, entries);
        on_host(U).assign(i, mine.row.u);
      }
    });
    return total(sums);
  }

  void weights_of(const Dual& A, std::vector<double>& W) override {
    accumulate_chunks<false>(W, [&](std::int64_t panel, std::vector<RowEntry>& entries) {
      const auto [begin, end] = range(panel);
      for (std::int64_t i = begin; i < end; ++i) append(i, on_host(A)[i], entries);
    });
  }

  void round_weights(std::vector<double>& W) const override {
    if constexpr (std::is_same_v<T, float>) {
      for (double& w : W) w = static_cast<double>(static_cast<float>(w));
    }
  }

 protected:
  bool shares_weights() const override { return !Map::kronecker; }
  std::unique_ptr<BlockScores> make_block_scores() override {
    return map_.block_scores(problem_, lengths2(), threads(), [this] { stop_if_asked(); });
  }

 private:
  // Memory of one thread, kept between passes.
  template <class R>
  struct ThreadSpace {
    std::vector<R> S;  // (panel x m)
    AlignedVector<R> scratch;
    RowSpace row;
    SparseRow next;
  };

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

  // A loss by its oracle is asked about a panel at once.
  template <class R>
  PanelAsked ask_ahead(PanelAsked::What what, std::int64_t begin, std::int64_t end, ThreadSpace<R>& space) const {
    return PanelAsked(
        problem_.loss, what, problem_.y.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)),
        space.S.data(), [&](std::size_t row) { return problem_.margins(begin + static_cast<std::int64_t>(row)); },
        space.row.scratch);
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
      if constexpr (stoppable) stop_if_asked();
      for (auto& list : entries) list.clear();
      parallel_for(count, threads(), [&](std::int64_t p) { fill(first + p, entries[static_cast<std::size_t>(p)]); });
      map_.add(entries, W);
    }
    const double scale = 1.0 / (problem_.lambda * problem_.N);
    for (double& w : W) w *= scale;
    map_.take_off_mean(W);
  }

  // As many rows as stay in the last-level cache between the product and the accumulation, and a panel per thread.
  std::int64_t chunk_panels() const {
    constexpr std::int64_t cache_bytes = 4 << 20;
    const std::int64_t row_bytes = std::max<std::int64_t>(1, map_.row_bytes());
    const std::int64_t rows = std::clamp<std::int64_t>(cache_bytes / row_bytes, panel_, 16 * panel_);
    return std::max<std::int64_t>(threads(), rows / panel_);
  }

  void append(std::int64_t i, RowView row, std::vector<RowEntry>& entries) const {
    const double omega = problem_.weight(i);
    for (const auto& [j, value] : row) entries.push_back({i, j, omega * value});
  }

  template <class Sums>
  static Sums total(const std::vector<Sums>& parts) {
    Sums out;
    for (const Sums& part : parts) add(part, out);
    return out;
  }

  const std::int64_t panel_, panels_;
  Map map_;
  std::vector<ThreadSpace<T>> space_;
};

}  // namespace topwolf
