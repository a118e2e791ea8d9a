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
  std::span<const std::int64_t> block_at(std::int64_t first) const;
  void correct(std::span<const std::int64_t> rows, std::size_t r, double* s) const;
  double visit(std::int64_t i, double* s, double length2, HostDual& A, SparseRow& change);
  double exact_step(std::int64_t i, const double* s, HostDual& A, SparseRow& change);
  double curved_step(std::int64_t i, double* s, double factor, HostDual& A, SparseRow& change);
  void rest(std::size_t at);
  void check_order(State& state) const;

  const Problem& problem_;
  const std::vector<double>& lengths2_;
  const std::unique_ptr<BlockScores> scores_;
  const double coupling_;
  const int threads_;

  // Of a run.
  Rng rng_{0};
  std::int64_t block_rows_ = 1;
  std::optional<FaceAscent> face_;
  std::optional<CurvedStep> curved_;
  std::vector<double> share_;
  std::vector<std::int64_t> rest_, due_;  // for how many epochs, and the epoch of the next turn

  // Of an epoch.
  std::int64_t epoch_ = 0;
  double quiet_ = 0.0;  // a share below this is next to none
  std::vector<std::int64_t> order_;
  std::int64_t visited_ = 0;  // of order_
  std::int64_t resting_ = 0;

  // Of a block.
  std::vector<double> S_, G_;
  std::vector<SparseRow> change_;
  std::vector<std::vector<double>> spread_;  // of the changes, where psi is curved
  SparseRow next_, moved_;
  RowScratch scratch_;
};

}  // namespace topwolf
