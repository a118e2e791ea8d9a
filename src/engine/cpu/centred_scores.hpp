// Block scores of rows less their mean, from those of the rows as they are stored (ledger, C1): no row is
// copied, X stays sparse where it is, and W, which the mean would fill, is kept as V = sum f alpha x^T with two vectors
// beside it. The products are rounded before the mean is taken off: not for rows that it is far larger than the rest
// of.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/host/block_scores.hpp"

namespace topwolf {

// With W = V - v mean^T, v = sum f alpha and p = V mean, where f is omega / (lambda N):
//   s_i           = V x_i - v <x_i, mean> - p + v ||mean||^2
//   ||W(d)||^2    = ||V_d||^2 - 2 <v_d, p_d> + ||v_d||^2 ||mean||^2
// and the constant feature, which is not less anything, is in the plain scores.
class CentredScores final : public BlockScores, public FaceScores {
 public:
  // lengths2: of the rows less their mean; it and the problem must outlive this. `plain` makes the scores of the rows
  // as they are, from their squared lengths, which it may refer to.
  using MakePlain = std::function<std::unique_ptr<BlockScores>(const std::vector<double>& lengths2)>;
  CentredScores(const Problem& problem, const std::vector<double>& lengths2, int threads, const MakePlain& plain);

  std::int64_t group_rows() const override { return plain_->group_rows(); }
  std::int64_t groups_to_begin_with() const override { return plain_->groups_to_begin_with(); }
  std::int64_t most_groups() const override { return plain_->most_groups(); }
  void expect(std::span<const std::int64_t> rows) const override { plain_->expect(rows); }
  void load(std::span<const std::int64_t> rows, std::int64_t group, std::vector<double>& S,
            std::vector<double>& G) override;
  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override;
  void reset(const std::vector<double>& W, const Dual& A) override;
  void scale(double factor) override;
  void exchange(State& state) override;

  FaceScores* face() override { return this; }
  std::int64_t epochs_per_ascent() const override { return plain_->face()->epochs_per_ascent(); }
  void set_entries(const EntryList& entries) override;
  void entry_scores(std::vector<double>& S) override;
  double product(const std::vector<double>& U, std::vector<double>* S) override;
  void add_product(double gamma) override;

 private:
  // v and p, class by class.
  struct Sums {
    std::vector<double> v, p;
    void clear(std::int64_t m);
    void add(std::int64_t j, double coefficient, double with_mean) {
      v[static_cast<std::size_t>(j)] += coefficient;
      p[static_cast<std::size_t>(j)] += coefficient * with_mean;
    }
    void add(double factor, const Sums& other);
  };
  double with_mean(std::int64_t i) const { return with_mean_[static_cast<std::size_t>(i)]; }
  double correction(const Sums& sums, std::int64_t i, std::int64_t j) const;
  double norm2_correction(const Sums& sums) const;
  void correct_entries(const Sums& sums, std::vector<double>& S) const;

  const Problem& problem_;
  const std::vector<double>& lengths2_;
  const std::vector<double> plain_lengths2_;  // of the rows as they are
  const std::vector<double> with_mean_;       // n: <x_i, mean>
  const double mean2_;                        // ||mean||^2
  const std::unique_ptr<BlockScores> plain_;
  Sums sums_;           // of the working scores
  Sums moved_, along_;  // of a batch, and of the last product
  const EntryList* entries_ = nullptr;
};

}  // namespace topwolf
