// Block ascent from the scores of a few rows at a time, which a BlockScores has.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/rng.hpp"
#include "engine/host/block_scores.hpp"
#include "engine/host/curved_step.hpp"
#include "engine/host/dual.hpp"
#include "engine/host/face_ascent.hpp"

namespace topwolf {

class HostBlockAscent final : public BlockAscent {
 public:
  // The problem, which may change between two runs, and the lengths must outlive this.
  HostBlockAscent(const Problem& problem, double coupling, const std::vector<double>& lengths2,
                  std::unique_ptr<BlockScores> scores, int threads);

  void begin(const BlockOptions& options, double scores_times) override;
  void reset(const std::vector<double>& W, const Dual& A) override { scores_->reset(W, on_host(A)); }
  std::int64_t epochs_per_face_step() const override;
  double face_step(Dual& A, const std::function<void()>& pause) override;
  Epoch begin_epoch(std::int64_t epoch) override;
  Step step(Dual& A) override;
  double gap() const override;
  void wake() override;
  void exchange(State& state) override;

  // Of the gap, row by row, as last seen; a pass that knows better may say so.
  std::vector<double>& shares() { return share_; }

 private:
  // What a thread that steps a group needs.
  struct Space {
    SparseRow next, moved;
    RowScratch scratch;
    std::vector<double> disturbed;  // m; 0 but while a row steps: what its group has done to its scores
  };
  // What the steps of a group do to the dual, were they taken alone. All times N.
  struct Gain {
    double gain = 0.0;
    double curvature = 0.0;  // lambda N ||W(d)||^2
    double smoothing = 0.0;  // smoothing sum omega ||d||^2
    bool moved = false;
  };

  std::span<const std::int64_t> batch_at(std::int64_t first) const;
  std::span<const std::int64_t> part(std::size_t p) const;
  std::size_t part_of(std::int64_t at) const;
  void enter_part();
  bool part_ascends() const;
  Gain step_group(std::span<const std::int64_t> rows, std::size_t first, std::size_t last, HostDual& A, Space& space);
  void correct(std::span<const std::int64_t> rows, std::size_t first, std::size_t r, double* s, Space& space) const;
  double visit(std::int64_t i, double* s, double length2, HostDual& A, SparseRow& change, Space& space);
  double exact_step(std::int64_t i, const double* s, HostDual& A, SparseRow& change, Space& space);
  double curved_step(std::int64_t i, double* s, double factor, HostDual& A, SparseRow& change, Space& space);
  double take_together(std::span<const std::int64_t> rows, const Gain& apart, HostDual& A);
  void steer(double gamma);
  void rest(std::size_t at);
  void check_order(State& state) const;

  const Problem& problem_;
  const std::vector<double>& lengths2_;
  const std::unique_ptr<BlockScores> scores_;
  const double coupling_;
  const int threads_;

  // Of a run.
  Rng rng_{0};
  std::int64_t group_rows_ = 1, most_groups_ = 1;
  std::int64_t groups_ = 1;  // of a batch, ...
  double gamma_sum_ = 0.0;   // ... and how the last batches of that many fared
  std::int64_t gamma_count_ = 0;
  std::optional<FaceAscent> face_;
  std::optional<CurvedStep> curved_;
  bool accelerate_ = false;
  std::vector<double> share_;
  std::vector<std::int64_t> rest_, due_;  // for how many epochs, and the epoch of the next turn

  // Of an epoch.
  std::int64_t epoch_ = 0;
  double quiet_ = 0.0;  // a share below this is next to none
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> ends_;      // of its parts
  std::optional<std::size_t> entered_;  // the part that was
  std::int64_t ascended_ = 0;           // of the parts, how many have had their step on the face, ...
  double part_gain_ = 0.0;              // ... and what the last one gained, until that is told
  std::int64_t visited_ = 0;            // of order_
  std::int64_t resting_ = 0;

  // Of a batch.
  std::vector<double> S_, G_;
  std::vector<SparseRow> change_;
  std::vector<std::vector<double>> spread_;  // of the changes, where psi is curved
  std::vector<Gain> gain_;                   // of the groups
  std::vector<Space> space_;                 // of the threads
};

}  // namespace topwolf
