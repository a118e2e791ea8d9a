// What runs on the device: one function for each kernel, which starts it on a stream and returns. R: float or double.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/cuda/views.hpp"

namespace topwolf::cuda {

// ---- Rows and sums (rows.cu)

// Rows of X as numbers of R, with the constant feature, padded by zeros: rows begin + r, or the
// next of the epoch; what lies beyond its end is 0. Less the mean where `centred` and there is one.
template <class R>
void gather(cudaStream_t stream, const RowsView& X, std::int64_t begin, std::int64_t count, bool centred, R* out);
template <class R>
void gather_batch(cudaStream_t stream, const RowsView& X, const VisitsView& visits, const BatchView& batch, R* out);

// out_j (+)= the sum over r of V_jr x_r, V (m x count) with few non-zeros: in the order of the rows, whatever else is
// at work. `add`: to what is there; else norm2_j, where given, becomes the squared length, and out_j is left alone
// where no V_jr is other than 0, for which norm2_j = -1 stands.
template <class V, class R, class Sum>
void sum_by_class(cudaStream_t stream, const V* values, std::int64_t m, std::int64_t count, const R* rows,
                  std::int64_t D, std::int64_t pitch, bool add, Sum* out, double* norm2);
inline constexpr std::int64_t most_summed_rows = 4096;

// V (m x count) = omega times the rows [begin, begin + count) of A, and 0 elsewhere.
void spread_dual(cudaStream_t stream, const ProblemView& problem, const DualView& A, std::int64_t begin,
                 std::int64_t count, double* V);
// The same from a list of entries: V[column * count + row] = value.
struct PanelEntry {
  std::int32_t row, column;
  double value;
};
void spread_entries(cudaStream_t stream, const PanelEntry* entries, std::int64_t size, std::int64_t m,
                    std::int64_t count, double* V);

// The entries of A without the empty slots, row i from begin[i].
void pack_dual(cudaStream_t stream, const DualView& A, std::int64_t n, const std::int64_t* begin, std::int32_t* column,
               double* value);
// And back: slots are filled.
void unpack_dual(cudaStream_t stream, const DualView& A, std::int64_t n, const std::int64_t* begin,
                 const std::int32_t* column, const double* value);

// The rows whose turn it is, in an order that depends on seed and epoch alone; how many they are goes to *chosen, those
// that rest to chosen[1]. `counts`: 2 (n / 1024 + 1) numbers of scratch.
void choose_rows(cudaStream_t stream, const ProblemView& problem, const VisitsView& visits, std::int32_t epoch,
                 std::uint64_t seed, std::int64_t* counts, std::int64_t* chosen);

// sums[b], b < sum_parts: parts of sum_i omega_i value_i.
inline constexpr std::int64_t sum_parts = 1024;
void weighted_sum(cudaStream_t stream, const ProblemView& problem, const double* value, double* sums);

// ---- Row functions (row_steps.cu)

// L3 at scores S (count x m) of the rows [begin, begin + count): phi_i and <c, u_i>; V (m x count) = omega u.
template <class R>
void vertex_rows(cudaStream_t stream, const ProblemView& problem, const ScratchView& scratch, const R* S,
                 std::int64_t begin, std::int64_t count, double* phi, double* c_u, double* V);

// G1, without smoothing: phi_i, not a number where a score is none; the rank of y; with A the share of the gap (G2).
void certify_rows(cudaStream_t stream, const ProblemView& problem, const ScratchView& scratch, const double* S,
                  std::int64_t begin, std::int64_t count, double* phi, std::int32_t* rank, const DualView* A,
                  double* share);

// B2, with groups of one row. Shares and rests; where the rows would step; V (m x rows) = omega d.
template <class R>
void step_rows(cudaStream_t stream, const ProblemView& problem, const ScratchView& scratch, const R* S,
               const VisitsView& visits, const BatchView& batch, const DualView& A, R* V, Progress* progress);

// ---- Moves (moves.cu)

// How much of the steps is taken, from the slopes and the lengths.
void take_together(cudaStream_t stream, const ProblemView& problem, const BatchView& batch, Progress* progress);
// A moves, then W += t / (lambda N) times the sums, and the cursor goes on.
template <class R>
void move_rows(cudaStream_t stream, const ProblemView& problem, const VisitsView& visits, const BatchView& batch,
               const DualView& A, const R* sums, std::int64_t pitch, R* W, Progress* progress);

}  // namespace topwolf::cuda
