// Block scores from weights, of rows that are in memory a window at a time. A window is random extents, its rows are
// visited in random order, and all that multiplies are the weights' scores of the rows that are there. Extents whose
// rows all rest are not read.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/cpu/cpu_engine.hpp"
#include "engine/host/dual.hpp"
#include "engine/host/face_ascent.hpp"
#include "engine/windows/window_engine.hpp"

namespace topwolf {
namespace {

class WindowScores final : public BlockScores {
 public:
  WindowScores(const Problem& problem, const WindowedRows& rows, const Extents& extents,
               const std::vector<double>& lengths2, int threads, std::function<void()> pause)
      : problem_(problem),
        rows_(rows),
        extents_(extents),
        lengths2_(lengths2),
        threads_(threads),
        pause_(std::move(pause)),
        window_(*rows.source),
        place_(static_cast<std::size_t>(extents.count()), none),
        here_(problem) {
    make_scores();
  }

  std::int64_t group_rows() const override { return scores_->group_rows(); }
  std::int64_t groups_to_begin_with() const override { return scores_->groups_to_begin_with(); }
  std::int64_t most_groups() const override { return scores_->most_groups(); }
  std::int64_t visits() const override { return rows_.visits; }

  std::vector<std::int64_t> arrange(std::vector<std::int64_t>& order, Rng& rng) const override {
    std::vector<Run> runs;
    double bytes = 0.0;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::int64_t e = extents_.of(order[at]);
      if (runs.empty() || runs.back().extent != e) {
        runs.push_back({e, at, at});
        bytes += extents_.bytes(e);
      }
      runs.back().end = at + 1;
    }
    rng.shuffle(runs);
    // Of one size, as far as that goes: a last window of a few rows would be visited as if there were no others.
    const double size = bytes / std::ceil(bytes / rows_.size.bytes);
    std::vector<std::int64_t> arranged, rows, ends;
    arranged.reserve(order.size() * static_cast<std::size_t>(rows_.visits));
    double used = 0.0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      rows.insert(rows.end(), order.begin() + static_cast<std::ptrdiff_t>(runs[r].begin),
                  order.begin() + static_cast<std::ptrdiff_t>(runs[r].end));
      used += extents_.bytes(runs[r].extent);
      const bool last = r + 1 == runs.size();
      if (!last && used < size && used + extents_.bytes(runs[r + 1].extent) <= rows_.size.bytes) continue;
      for (std::int64_t visit = 0; visit < rows_.visits; ++visit) {
        rng.shuffle(rows);
        arranged.insert(arranged.end(), rows.begin(), rows.end());
      }
      ends.push_back(static_cast<std::int64_t>(arranged.size()));
      rows.clear();
      used = 0.0;
    }
    order = std::move(arranged);
    return ends;
  }

  void enter(std::span<const std::int64_t> rows, std::span<const std::int64_t> next) override {
    State weights;
    scores_->exchange(weights);
    scores_.reset();
    for (const std::int64_t e : here_now_) place_[static_cast<std::size_t>(e)] = none;
    here_now_.clear();  // where reading fails nothing is there
    std::vector<std::int64_t> wanted = extents_of(rows);
    window_.fill(extents_, wanted, threads_);
    here_now_ = std::move(wanted);
    topwolf::expect(*rows_.source, extents_, extents_of(next));

    lengths_.clear();
    omega_.clear();
    y_.clear();
    for (const std::int64_t e : here_now_) {
      place_[static_cast<std::size_t>(e)] = static_cast<std::int64_t>(lengths_.size());
      const auto append = [&](const auto& all, auto& to) {
        if (all.empty()) return;
        to.insert(to.end(), all.begin() + extents_.begin(e), all.begin() + extents_.end(e));
      };
      append(lengths2_, lengths_);
      append(problem_.omega, omega_);
      append(problem_.y, y_);
    }
    make_scores();
    weights.put_back();
    scores_->exchange(weights);
  }

  // Rows with margins of their own have none: they would have to be gathered.
  std::int64_t epochs_per_part_ascent() const override {
    FaceScores* const face = problem_.per_example ? nullptr : scores_->face();
    return face ? face->epochs_per_ascent() : 0;
  }
  double ascend_part(HostDual& A) override {
    HostDual alpha(here_.n);
    FaceAscent ascent(here_, *scores_->face(), lengths_, threads_);
    ascent.iterations() = face_iterations_;
    for_rows([&](std::int64_t i, std::int64_t place) { alpha.assign(place, A[i]); });
    const double gain = ascent.ascend(alpha, pause_);
    for_rows([&](std::int64_t i, std::int64_t place) { A.assign(i, alpha[place]); });
    face_iterations_ = ascent.iterations();
    return gain;
  }

  void load(std::span<const std::int64_t> rows, std::int64_t group, std::vector<double>& S,
            std::vector<double>& G) override {
    scores_->load(places_of(rows), group, S, G);
  }
  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override {
    return scores_->add(places_of(rows), change, times);
  }
  void expect(std::span<const std::int64_t> rows) const override {
    // Of the next batch; the scores look at its first row alone.
    if (rows.empty()) return;
    const std::int64_t begin = place_[static_cast<std::size_t>(extents_.of(rows[0]))];
    if (begin == none) return;
    const std::int64_t place = begin + rows[0] - extents_.begin(extents_.of(rows[0]));
    scores_->expect({&place, 1});
  }

  void reset(const std::vector<double>& W, const Dual& A) override { scores_->reset(W, A); }
  void scale(double factor) override { scores_->scale(factor); }
  void exchange(State& state) override {
    scores_->exchange(state);
    state.count("part_iterations", face_iterations_, most_iterations);
  }

 private:
  static constexpr std::int64_t none = -1, most_iterations = 100;
  // Those of the rows of an epoch that are of one extent.
  struct Run {
    std::int64_t extent;
    std::size_t begin, end;
  };

  std::vector<std::int64_t> extents_of(std::span<const std::int64_t> rows) const {
    std::vector<std::int64_t> out;
    std::vector<bool> seen(static_cast<std::size_t>(extents_.count()));
    for (const std::int64_t i : rows) seen[static_cast<std::size_t>(extents_.of(i))] = true;
    for (std::int64_t e = 0; e < extents_.count(); ++e) {
      if (seen[static_cast<std::size_t>(e)]) out.push_back(e);
    }
    return out;
  }

  // Calls body(i, place) for all rows that are here.
  template <class Body>
  void for_rows(const Body& body) const {
    for (const std::int64_t e : here_now_) {
      const std::int64_t begin = place_[static_cast<std::size_t>(e)];
      for (std::int64_t i = extents_.begin(e); i < extents_.end(e); ++i) body(i, begin + i - extents_.begin(e));
    }
  }

  // Of rows that are here, in the window.
  std::span<const std::int64_t> places_of(std::span<const std::int64_t> rows) {
    places_.resize(rows.size());
    std::transform(rows.begin(), rows.end(), places_.begin(), [&](std::int64_t i) {
      const std::int64_t e = extents_.of(i);
      return place_[static_cast<std::size_t>(e)] + i - extents_.begin(e);
    });
    return places_;
  }

  // Of the rows that are here, with the problem as it is now.
  void make_scores() {
    here_ = problem_;
    here_.X = window_.view();
    here_.n = static_cast<std::int64_t>(lengths_.size());
    here_.y = y_;
    here_.omega = omega_;
    here_.per_example = nullptr;
    scores_ = make_weights_scores(here_, lengths_, threads_, {problem_.n, lengths2_});
  }

  const Problem& problem_;
  const WindowedRows& rows_;
  const Extents& extents_;
  const std::vector<double>& lengths2_;
  const int threads_;
  const std::function<void()> pause_;

  Window window_;
  std::vector<std::int64_t> here_now_;  // the extents of the window, and ...
  std::vector<std::int64_t> place_;     // ... where each begins in it
  std::vector<double> lengths_, omega_;
  std::vector<std::int32_t> y_;
  Problem here_;
  std::unique_ptr<BlockScores> scores_;  // of the window; their weights are those of all rows
  std::vector<std::int64_t> places_;
  std::int64_t face_iterations_ = 10;
};

}  // namespace

std::unique_ptr<BlockScores> make_window_scores(const Problem& problem, const WindowedRows& rows,
                                                const Extents& extents, const std::vector<double>& lengths2,
                                                int threads, std::function<void()> pause) {
  return std::make_unique<WindowScores>(problem, rows, extents, lengths2, threads, std::move(pause));
}

}  // namespace topwolf
