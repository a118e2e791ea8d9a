// Conjugate gradients on the face of the dual where A lies (B1). Coordinate steps find out which entries of A are free;
// how far to move them all together is a linear system, which coordinate steps solve slowly where it is badly
// conditioned.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/host/block_scores.hpp"
#include "engine/host/dual.hpp"

namespace topwolf {

class FaceAscent {
 public:
  FaceAscent(const Problem& problem, FaceScores& scores, const std::vector<double>& lengths2, int threads);

  // Moves A, and the working scores with it, to where D is larger; returns the gain, 0 where there is none. Whatever
  // `pause` throws between two products leaves everything as it was.
  double ascend(
      HostDual& A, const std::function<void()>& pause = [] {});

  std::int64_t epochs_per_ascent() const { return scores_.epochs_per_ascent(); }
  // How many iterations were worth while, for another that goes on where this one ends.
  std::int64_t& iterations() { return iterations_; }

  void exchange(State& state) { state.count("face_iterations", iterations_, most_iterations); }

 private:
  void find_face(const HostDual& A);
  double least_curvature() const;
  void conjugate_gradients(const std::function<void()>& pause);
  // D along a step: slope gamma - curvature gamma^2 / 2, times N.
  struct Line {
    double slope, curvature;
    double gamma() const { return slope > 0.0 ? std::min(1.0, slope / curvature) : 0.0; }
    double gain(double gamma) const { return gamma * (slope - 0.5 * gamma * curvature); }
  };
  Line move_rows(const HostDual& A, double length);
  double move_row(std::size_t i, RowView alpha, double length, SparseRow& wanted, SparseRow& moved,
                  RowScratch& scratch);
  void take(HostDual& A, double gamma);
  void centre(std::size_t i, std::vector<double>& values) const;
  int threads() const;
  template <class Body>
  void for_rows(const Body& body) const;
  template <class Body>
  double sum_rows(const Body& body) const;

  const Problem& problem_;
  FaceScores& scores_;
  const std::vector<double>& lengths2_;
  const int threads_;

  static constexpr std::int64_t fewest_iterations = 2, most_iterations = 100;
  std::int64_t iterations_ = 10;      // how many are worth while; learnt
  EntryList free_;                    // the entries of rows that can move, ...
  std::vector<std::int32_t> group_;   // ... and together with which
  std::vector<std::int32_t> groups_;  // how many, row by row
  std::vector<double> along_;         // the direction besides; 0 where a row has none
  std::vector<double> gradient_, residual_, direction_, total_, product_, step_, target_;
};

}  // namespace topwolf
