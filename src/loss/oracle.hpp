// A loss that is known by its oracle alone (L11): the row functions that have no closed form.
#pragma once

#include "loss/row.hpp"

namespace topwolf {

// L3.
template <class T>
VertexValue oracle_vertex(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                          SparseRow& u, RowScratch& scratch);

// The oracle's own value, which is not below that of its vertex.
template <class T>
double oracle_value(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y,
                    RowScratch& scratch);

// What that value may have lost in its own sum, where it was asked for last; 0 of other losses.
inline double oracle_rounding(const Loss& loss, const RowScratch& scratch);
double rounding_at(const Loss& loss, const std::vector<double>& z);

// G5: what rounding may have taken from the bounds on an oracle's envelope, which are made of sums of m terms; all 0 of
// other losses.
struct EnvelopeRounding {
  double slope = 0.0;   // from each r_j
  double nearby = 0.0;  // from what alpha is worth
  double part = 0.0;    // of a sum of squares
  double moved = 0.0;   // from the loss at s + smoothing alpha, because of its scores, and from the square
};
EnvelopeRounding envelope_rounding(const Loss& loss, const double* s, std::int64_t m, double beta_sum,
                                   const std::vector<double>& r);

// L5, from the keys b_j = a_y - a_j in the scratch: by the oracle's own projection, or from vertices. False where they
// are too large to be added up.
bool oracle_project(const Loss& loss, std::int64_t y, SparseRow& alpha, RowScratch& scratch);

// L9: how far alpha is from a point that the oracle's vertices make, in the sum of |beta| that differs; nearest_point()
// has the point.
double oracle_distance(const Loss& loss, std::int64_t y, RowView alpha, RowScratch& scratch);

// ---- Asking (oracle.cpp)

inline constexpr double honest_share = 1e-9;  // of what is summed: far more than honest arithmetic loses
double largest_size(const std::vector<double>& values);

// z of L11.
template <class T>
void violations(const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, std::vector<double>& z);

// The vertex at z (`at.z`) into `at.u`, once it has been looked at: what cannot be a direction is refused in a
// sentence, and what rounding did to it is undone. Returns -<z, u>.
double ask_vertex(const Loss& loss, std::int64_t y, OracleScratch& at);
// The value at z, refused where it is no number or below 0.
double ask_value(const Loss& loss, std::int64_t y, OracleScratch& at);

// All rows of a panel at once, scores S (rows x m), where row functions will ask one after the other; they find what
// was said until this is gone.
class PanelAsked {
 public:
  enum class What { vertices, values };
  template <class T, class MarginsOf>
  PanelAsked(const Loss& loss, What what, std::span<const std::int32_t> y, const T* S, const MarginsOf& margins_of,
             RowScratch& scratch)
      : ahead_(scratch.oracle.ahead) {
    if (!loss.oracle || loss.smoothing > 0.0) return;  // an envelope's questions follow from its answers
    OracleScratch& at = scratch.oracle;
    const auto m = static_cast<std::size_t>(loss.classes);
    ahead_.Z.clear();
    for (std::size_t row = 0; row < y.size(); ++row) {
      violations(margins_of(row), S + row * m, loss.classes, y[row], at.z);
      ahead_.Z.insert(ahead_.Z.end(), at.z.begin(), at.z.end());
    }
    ahead_.y.assign(y.begin(), y.end());
    ask(loss, what);
  }
  PanelAsked(const PanelAsked&) = delete;
  PanelAsked& operator=(const PanelAsked&) = delete;
  ~PanelAsked() { ahead_.forget(); }

 private:
  void ask(const Loss& loss, What what);
  AskedAhead& ahead_;
};

// ---- The nearest point of Q from vertices (L12, nearest_point.cpp)

// To `target` (m), into `point`, with the vertices and weights that make it; `residual` is what is missing.
void find_nearest(const Loss& loss, std::int64_t y, OracleScratch& at);
// The point as a row.
void nearest_point(const OracleScratch& at, std::int64_t y, SparseRow& alpha);

// ---- Before anything is done with it (oracle_check.cpp)

// Random trials: Error{option} for an oracle that they find wrong, in a sentence.
void check_oracle(const LossOracle& oracle, std::int64_t m);

inline double oracle_rounding(const Loss& loss, const RowScratch& scratch) {
  return loss.oracle ? rounding_at(loss, scratch.oracle.z) : 0.0;
}

}  // namespace topwolf
