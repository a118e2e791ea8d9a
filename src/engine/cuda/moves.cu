// What is taken of the steps of a batch (B2), and the moves of A and W that follow.
#include "engine/cuda/kernels.hpp"
#include "engine/cuda/softmax_row.cuh"

namespace topwolf::cuda {
namespace {

// B2: a whole step gains where gamma is above 1/2. At 1/2 it gains nothing, and two rows that are the same would change
// places for ever.
constexpr double least_gamma = 0.6;

constexpr int together = 256;

// The sum of value(k) over [0, count), in one order; by a whole block.
template <class Value>
__device__ double block_sum(std::int64_t count, const Value& value) {
  __shared__ double parts[together];
  double sum = 0.0;
  for (std::int64_t k = threadIdx.x; k < count; k += together) sum += value(k);
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int half = together / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  sum = parts[0];
  __syncthreads();
  return sum;
}

__global__ void together_kernel(ProblemView problem, BatchView batch, Progress* progress) {
  const double slope = block_sum(batch.rows, [&](std::int64_t r) { return batch.slope[r]; });
  const double smooth = block_sum(batch.rows, [&](std::int64_t r) { return batch.smooth[r]; });
  const double norm2 = block_sum(problem.m, [&](std::int64_t j) { return fmax(0.0, batch.norm2[j]); });
  const double moved = block_sum(batch.rows, [&](std::int64_t r) { return batch.next_count[r] >= 0 ? 1.0 : 0.0; });
  if (threadIdx.x > 0) return;
  const double curvature = problem.scale * norm2 + smooth, gamma = slope / curvature;
  // Not a number where both are 0, or overflowed: no step.
  const bool whole = gamma >= least_gamma || (curvature == 0.0 && slope > 0.0);
  const double t = whole ? 1.0 : gamma > 0.0 ? gamma : 0.0;
  progress->t = t;
  if (moved == 0.0) return;
  progress->moved = 1;
  if (t > 0.0) progress->gain += t * (slope - 0.5 * t * curvature);
  progress->gamma_sum += isfinite(gamma) ? fmin(fmax(gamma, 0.0), 2.0) : 0.0;
  ++progress->batches;
}

// T H(beta) of a list.
__device__ double entropy_of(const LossView& loss, std::int64_t y, const std::int32_t* column, const double* value,
                             std::int32_t size) {
  double sum = 0.0, entropy = 0.0;
  for (std::int32_t e = 0; e < size; ++e) {
    if (column[e] == y) continue;
    entropy += SoftmaxRow::entropy_term(-value[e]);
    sum -= value[e];
  }
  return loss.temperature * (entropy + SoftmaxRow::own_term(sum));
}

// A row by a thread: alpha becomes the next one, or t of it and 1 - t of what it was. Lists are merged from behind, so
// that nothing is overwritten before it is read.
__global__ void move_dual_kernel(ProblemView problem, VisitsView visits, BatchView batch, DualView A,
                                 const Progress* progress) {
  const std::int64_t r = blockIdx.x * std::int64_t{together} + threadIdx.x;
  const double t = progress->t;
  if (r < batch.rows) batch.slope[r] = 0.0;  // from here on: what D gained besides
  if (r >= batch.rows || batch.next_count[r] < 0 || !(t > 0.0)) return;
  const std::int64_t i = visits.order[batch.epoch->cursor + r];
  std::int32_t* const column = A.column + i * A.slots;
  double* const value = A.value + i * A.slots;
  const std::int32_t* const next_column = batch.next_column + r * A.slots;
  const double* const next_value = batch.next_value + r * A.slots;
  const std::int32_t size = batch.next_count[r], held = A.count[i];
  if (t == 1.0) {
    for (std::int32_t e = 0; e < size; ++e) column[e] = next_column[e], value[e] = next_value[e];
    A.count[i] = size;
    return;
  }
  const bool entropic = problem.loss.temperature > 0.0;
  const std::int64_t y = problem.y[i];
  // The entropy of a part of the step is more than that part of what the entropy gains.
  double besides = 0.0;
  if (entropic) {
    besides = (t - 1.0) * entropy_of(problem.loss, y, column, value, held) -
              t * entropy_of(problem.loss, y, next_column, next_value, size);
  }
  std::int32_t both = 0;
  for (std::int32_t e = 0, f = 0; e < held && f < size;) {
    if (column[e] == next_column[f])
      ++both, ++e, ++f;
    else if (column[e] < next_column[f])
      ++e;
    else
      ++f;
  }
  std::int32_t e = held - 1, f = size - 1;
  for (std::int32_t to = held + size - both - 1; to >= 0; --to) {
    const std::int32_t old_column = e >= 0 ? column[e] : -1, new_column = f >= 0 ? next_column[f] : -1;
    const std::int32_t j = max(old_column, new_column);
    const double from = old_column == j ? value[e--] : 0.0, next = new_column == j ? next_value[f--] : 0.0;
    column[to] = j;
    value[to] = t * next + (1.0 - t) * from;
  }
  A.count[i] = held + size - both;
  if (entropic) {
    besides += entropy_of(problem.loss, y, column, value, A.count[i]);
    batch.slope[r] = problem.weight(i) * besides;
  }
}

__global__ void gain_besides_kernel(BatchView batch, Progress* progress) {
  const double sum = block_sum(batch.rows, [&](std::int64_t r) { return batch.slope[r]; });
  if (threadIdx.x == 0) progress->gain += sum;
}

template <class R>
__global__ void move_weights_kernel(ProblemView problem, BatchView batch, const R* sums, std::int64_t pitch, R* W,
                                    const Progress* progress) {
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) batch.epoch->cursor += batch.rows;
  const std::int64_t j = blockIdx.x, c = blockIdx.y * std::int64_t{together} + threadIdx.x;
  const double t = progress->t;
  if (c >= pitch || !(t > 0.0) || batch.norm2[j] < 0.0) return;
  W[j * pitch + c] += static_cast<R>(t * problem.scale * static_cast<double>(sums[j * pitch + c]));
}

}  // namespace

void take_together(cudaStream_t stream, const ProblemView& problem, const BatchView& batch, Progress* progress) {
  together_kernel<<<1, together, 0, stream>>>(problem, batch, progress);
}

template <class R>
void move_rows(cudaStream_t stream, const ProblemView& problem, const VisitsView& visits, const BatchView& batch,
               const DualView& A, const R* sums, std::int64_t pitch, R* W, Progress* progress) {
  move_dual_kernel<<<static_cast<unsigned>((batch.rows + together - 1) / together), together, 0, stream>>>(
      problem, visits, batch, A, progress);
  if (problem.loss.temperature > 0.0) gain_besides_kernel<<<1, together, 0, stream>>>(batch, progress);
  const dim3 grid(static_cast<unsigned>(problem.m), static_cast<unsigned>((pitch + together - 1) / together));
  move_weights_kernel<R><<<grid, together, 0, stream>>>(problem, batch, sums, pitch, W, progress);
}
template void move_rows(cudaStream_t, const ProblemView&, const VisitsView&, const BatchView&, const DualView&,
                        const float*, std::int64_t, float*, Progress*);
template void move_rows(cudaStream_t, const ProblemView&, const VisitsView&, const BatchView&, const DualView&,
                        const double*, std::int64_t, double*, Progress*);

}  // namespace topwolf::cuda
