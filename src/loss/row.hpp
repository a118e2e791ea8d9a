// The losses, one example at a time: pure functions of its scores s (m), label y and margins, with no allocation
// beyond a scratch that the caller keeps. Formula ids (L1, ...) are those of ledger.md.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "loss/both.hpp"
#include "loss/sorted_keys.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/loss.hpp"

namespace topwolf {

// A row over the classes with few non-zeros, columns ascending: one that is made, and one that is looked at.
using SparseRow = std::vector<Entry>;
using RowView = std::span<const Entry>;

// Margins of one example, 0 at y: m values, or the same everywhere but at y with a few exceptions. The usual margins
// are 1 everywhere but at y.
struct RowMargins {
  RowMargins() = default;
  TOPWOLF_BOTH RowMargins(const double* m_values) : values(m_values) {}

  const double* values = nullptr;  // m; null: what follows
  double other = 1.0;
  std::int64_t exceptions = 0;
  const std::int32_t* column = nullptr;  // ascending
  const double* exception = nullptr;
};

TOPWOLF_BOTH inline double margin(const RowMargins& delta, std::int64_t j, std::int64_t y) {
  if (delta.values) return delta.values[j];
  if (j == y) return 0.0;
  std::int64_t low = 0, high = delta.exceptions;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (delta.column[middle] < j) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < delta.exceptions && delta.column[low] == j ? delta.exception[low] : delta.other;
}

// Row i of margins in float64, dense or sparse: nothing else here knows how anything is stored.
inline RowMargins row_margins(const Margins& margins, std::int64_t i) {
  if (const auto* dense = std::get_if<DenseView<double>>(&margins.values.view())) {
    return dense->data + i * dense->stride;
  }
  const auto& sparse = std::get<CsrView<double>>(margins.values.view());
  const std::int64_t begin = sparse.row_begin[i];
  RowMargins row;
  row.other = margins.other;
  row.exceptions = sparse.row_begin[i + 1] - begin;
  row.column = sparse.column + begin;
  row.exception = sparse.value + begin;
  return row;
}

// What an oracle was asked about several rows at once, ahead of the row functions, which find their own here.
struct AskedAhead {
  std::vector<double> Z;         // (rows x m)
  std::vector<std::int64_t> y;   // rows
  std::vector<double> vertices;  // (rows x m), or none
  std::vector<double> values;    // rows, or none
  mutable std::size_t next = 0;  // row functions ask in the order of the rows
  void forget() { y.clear(); }
};

// What asking an oracle takes; see nearest_point.cpp.
struct OracleScratch {
  AskedAhead ahead;
  std::vector<double> z, u;                     // what it is asked at, and what it says
  std::vector<double> target, point, residual;  // the point is to be near the target; what is missing
  std::vector<double> vertices;                 // (count x m), that it said, ...
  std::vector<double> weights;                  // ... and the convex weights with which they make the point
  std::vector<double> system, change;
  std::vector<std::size_t> picked;
  std::vector<double> gram, slope;  // of the vertices: inner products (a triangle), and those with the residual
};

// Memory for one row at a time; one per thread.
struct RowScratch {
  std::vector<double> key, copy, a, more;
  std::vector<std::int32_t> picked;
  std::vector<Ranked> ranked;
  std::vector<PooledBlock> blocks;
  OracleScratch oracle;
};

// L3. The Frank-Wolfe vertex u of the dual set at scores s: at most K + 1 non-zeros; ties go to the lower class. With
// softmax the maximiser, which is no vertex (L10).
template <class T>
VertexValue vertex(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, SparseRow& u,
                   RowScratch& scratch);

// L5. The Euclidean projection of a (m) onto the dual set Q of the family.
void project(const Loss& loss, const double* a, std::int64_t m, std::int64_t y, SparseRow& alpha, RowScratch& scratch);

// The same from keys b_j = a_y - a_j, which the scratch holds in `key`. `before` is a guess at alpha.
// False where a key is too large to be added up, and alpha is left empty: beside such keys a vertex is the projection.
bool project_keys(const Loss& loss, std::int64_t y, RowView before, SparseRow& alpha, RowScratch& scratch);

// The same among the points that vanish wherever `a` has no entry. Not in place.
void project_within(const Loss& loss, RowView a, std::int64_t y, SparseRow& alpha, RowScratch& scratch);

// L9. How far alpha is from Q: alpha / max(1, ratio) has a point of Q within `distance`, the sum of |beta| that
// differs; alpha_y then differs by at most as much. Infinite where alpha holds what is no number.
struct Membership {
  double ratio;
  double distance;
};
Membership membership(const Loss& loss, std::int64_t y, RowView alpha, RowScratch& scratch);

// A row that misses Q by more than rounding can explain is scaled back into it or, where that does not help, emptied.
// Returns by how much it missed, in units of sum(rho).
double put_inside(const Loss& loss, std::int64_t y, SparseRow& alpha, RowScratch& scratch);

// L7. The face of Q that alpha lies on. The directions in which a small step either way stays in Q are those whose
// entries sum to 0 in every group and vanish elsewhere, and, where there is one, `along` besides.
struct Face {
  std::vector<std::int32_t> group;  // of alpha's entries; -1: none
  std::vector<double> along;        // over alpha's entries, the same within a group; empty: none
};
void find_face(const Loss& loss, std::int64_t y, RowView alpha, Face& face, RowScratch& scratch);

// L4. The Moreau envelope Phi_m(s), loss.smoothing > 0; its gradient with respect to s is -alpha.
template <class T>
double envelope(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, SparseRow& alpha,
                RowScratch& scratch);

// L4. The loss, or a number that the envelope is not above and equals but for rounding.
struct LossBound {
  double phi;
  double beta_sum;        // how fast phi can grow with the scores: of the vertex or maximiser, at most
  double rounding = 0.0;  // of an oracle's own sum; others are known to lose a few roundings of phi
};
LossBound loss_bound(const Loss& loss, const RowMargins& delta, const double* s, std::int64_t m, std::int64_t y,
                     SparseRow& best, RowScratch& scratch);

// L6. The exact block step: the alpha that maximises the dual over one example, all others fixed, given its scores s,
// its alpha so far and q = omega ||x||^2 / (lambda N). Where the dual is linear (q = smoothing = 0) that is a vertex.
// With a larger q it is a projected gradient step of length 1 / (q + smoothing), from an alpha that need not lie in Q
// (A1).
template <class T>
void block_step(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, double q,
                RowView alpha, SparseRow& next, RowScratch& scratch);

// G2. The example's share of the gap at scores s: Phi(s) - <c - s, alpha> + smoothing/2 ||alpha||^2, at least 0. `best`
// is scratch.
template <class T>
double gap_share(const Loss& loss, const RowMargins& delta, const T* s, std::int64_t m, std::int64_t y, RowView alpha,
                 SparseRow& best, RowScratch& scratch);

// Puts the entries of a row into the order of the classes.
void sort_by_class(SparseRow& row);

// <c, alpha> = -<delta, alpha>, D1.
double dot_c(const RowMargins& delta, std::int64_t y, RowView alpha);

// D1. What the dual has from a row besides W(A) and the smoothing: <c, alpha>, and T H(beta) with softmax, which is not
// rounded up.
double worth(const Loss& loss, const RowMargins& delta, std::int64_t y, RowView alpha, RowScratch& scratch);

double squared_norm(RowView alpha);

// out = of_u * u + of_alpha * alpha; exact zeros are left out.
void mix(double of_u, RowView u, double of_alpha, RowView alpha, SparseRow& out);

}  // namespace topwolf
