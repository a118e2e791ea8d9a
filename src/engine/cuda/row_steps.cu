// What becomes of a row's scores: the loss and its vertex, and the steps of block ascent.
#include "engine/cuda/kernels.hpp"
#include "engine/cuda/softmax_row.cuh"
#include "engine/cuda/warp_row.cuh"

namespace topwolf::cuda {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// body(row of the scratch, r) for all rows, a warp each.
template <class Body>
__device__ void for_rows(const ScratchView& scratch, std::int64_t m, std::int64_t count, const Body& body) {
  extern __shared__ double keys[];
  __shared__ FewLists lists[warps_of_block];
  WarpRow row(scratch, lists[threadIdx.x / 32], keys, m);
  const std::int64_t all = std::int64_t{gridDim.x} * warps_of_block;
  for (std::int64_t r = blockIdx.x * warps_of_block + threadIdx.x / 32; r < count; r += all) body(row, r);
}

template <class R>
__device__ bool all_finite(const R* s, std::int64_t m) {
  int bad = 0;
  for (std::int64_t j = lane(); j < m; j += 32) bad |= isfinite(s[j]) ? 0 : 1;
  return __any_sync(~0u, bad) == 0;
}

// The loss without smoothing; of the maximum alone where only that counts.
template <class R>
__device__ double plain_loss(const LossView& loss, const RowMargins& delta, const R* s, std::int64_t y, WarpRow& row) {
  const double s_y = static_cast<double>(s[y]);
  if (loss.K > 1) {
    row.fill(delta, s, 0.0, 1.0, y, s_y);
    VertexValue value;
    double beta_sum;
    row.vertex(
        loss, y, s_y, [&](std::int32_t j) { return margin(delta, j, y); }, value, beta_sum);
    return value.phi;
  }
  row.fill(delta, s, -s_y, 1.0, y, 0.0);
  return loss.rho[0] * fmax(0.0, row.largest());
}

// L5 from the keys; `before` is a guess. beta > 0 into row.raw, whose size it returns.
__device__ std::int64_t project_keys(const LossView& loss, std::int64_t y, const AlphaRow& before, WarpRow& row,
                                     double& beta_sum) {
  if (loss.K == 1) return row.project_one(loss.rho[0], y, before, beta_sum);
  if (loss.family == Family::top_k) return row.project_top_k(loss, y, beta_sum);
  double level;
  row.collect_for_projection(loss, 0);
  return row.project_list(loss, y, beta_sum, level);
}

// L4. The envelope, without its maximiser.
template <class R>
__device__ double envelope(const LossView& loss, const RowMargins& delta, const R* s, std::int64_t y, WarpRow& row) {
  const double s_y = static_cast<double>(s[y]);
  row.fill(delta, s, -s_y, 1.0 / loss.smoothing, y, minus_infinity);
  double beta_sum, linear = 0.0, norm2 = 0.0;
  const std::int64_t size = project_keys(loss, y, {}, row, beta_sum);
  for (std::int64_t e = lane(); e < size; e += 32) {
    const auto [beta, j] = row.raw[e];
    linear += beta * (margin(delta, j, y) + (static_cast<double>(s[j]) - s_y));
    norm2 += beta * beta;
  }
  return warp_sum(linear) - 0.5 * loss.smoothing * (warp_sum(norm2) + beta_sum * beta_sum);
}

// G2. Phi(s) - <c - s, alpha> + smoothing/2 ||alpha||^2, at least 0.
template <class R>
__device__ double gap_share(double phi, const LossView& loss, const RowMargins& delta, const R* s, std::int64_t y,
                            const AlphaRow& alpha) {
  const double s_y = static_cast<double>(s[y]);
  double sum = 0.0, norm2 = 0.0;
  for (std::int32_t e = lane(); e < alpha.size; e += 32) {
    const double value = alpha.value[e];
    const std::int32_t j = alpha.column[e];
    sum += value * (margin(delta, j, y) + (static_cast<double>(s[j]) - s_y));
    norm2 += value * value;
  }
  const double share = phi + warp_sum(sum) + 0.5 * loss.smoothing * warp_sum(norm2);
  return isfinite(share) ? fmax(0.0, share) : infinity;
}

template <class R>
__global__ void vertex_kernel(ProblemView problem, ScratchView scratch, const R* S, std::int64_t begin,
                              std::int64_t count, double* phi, double* c_u, double* V) {
  for_rows(scratch, problem.m, count, [&](WarpRow& row, std::int64_t r) {
    const std::int64_t i = begin + r, y = problem.y[i];
    const R* const s = S + r * problem.m;
    const RowMargins delta = problem.margins(i);
    const double s_y = static_cast<double>(s[y]), omega = problem.weight(i);
    row.fill(delta, s, 0.0, 1.0, y, s_y);
    VertexValue value;
    double beta_sum;
    const std::int64_t size = row.vertex(
        problem.loss, y, s_y, [&](std::int32_t j) { return margin(delta, j, y); }, value, beta_sum);
    for (std::int64_t e = lane(); e < size; e += 32) V[row.raw[e].column * count + r] = -omega * row.raw[e].key;
    if (lane() > 0) return;
    if (size > 0) V[y * count + r] = omega * beta_sum;
    phi[i] = value.phi;
    c_u[i] = value.c_u;
  });
}

__global__ void certify_kernel(ProblemView problem, ScratchView scratch, const double* S, std::int64_t begin,
                               std::int64_t count, double* phi, std::int32_t* rank, DualView A, double* share) {
  for_rows(scratch, problem.m, count, [&](WarpRow& row, std::int64_t r) {
    const std::int64_t i = begin + r, y = problem.y[i];
    const double* const s = S + r * problem.m;
    const RowMargins delta = problem.margins(i);
    const double value = all_finite(s, problem.m) ? plain_loss(problem.loss, delta, s, y, row) : NAN;
    int before = 0;
    for (std::int64_t j = lane(); j < problem.m; j += 32) before += s[j] > s[y] || (s[j] == s[y] && j < y) ? 1 : 0;
    before = static_cast<int>(warp_count(before));
    const double left = share ? gap_share(value, problem.loss, delta, s, y, row.stage(A, i)) : 0.0;
    if (lane() > 0) return;
    phi[i] = value;
    rank[i] = before;
    if (share) share[i] = left;
  });
}

// ---- Block ascent

// Where alpha steps: beta > 0 into row.raw. Points that vanish besides `room` classes alone, if room >= 0: those of
// alpha, and the largest keys of the others.
template <class R>
__device__ std::int64_t step_to(const LossView& loss, const RowMargins& delta, const R* s, std::int64_t y, double q,
                                const AlphaRow& alpha, std::int64_t room, WarpRow& row, double& beta_sum) {
  const double s_y = static_cast<double>(s[y]), h = q + loss.smoothing;
  if (h > 0.0) {
    double alpha_y = 0.0;
    for (std::int32_t e = lane(); e < alpha.size; e += 32) alpha_y += alpha.column[e] == y ? alpha.value[e] : 0.0;
    row.fill(delta, s, q * warp_sum(alpha_y) - s_y, 1.0 / h, y, minus_infinity);
    for (std::int32_t e = lane(); e < alpha.size; e += 32) row.key[alpha.column[e]] -= q * alpha.value[e] / h;
    __syncwarp();
  }
  if (!(h > 0.0) || row.largest() > largest_key) {  // what is nothing beside the margins is no curvature
    row.fill(delta, s, 0.0, 1.0, y, s_y);
    VertexValue at;
    return row.vertex(
        loss, y, s_y, [&](std::int32_t j) { return margin(delta, j, y); }, at, beta_sum);
  }
  if (room < 0) return project_keys(loss, y, alpha, row, beta_sum);
  row.collect_for_projection(loss, y);
  if (lane() == 0) {
    std::int64_t kept = 0;
    for (std::int64_t e = 0; e < row.sorted.size; ++e) {
      bool own = false;
      for (std::int32_t f = 0; f < alpha.size && !own; ++f) own = alpha.column[f] == row.sorted.at[e].column;
      if (own || room-- > 0) row.sorted.at[kept++] = row.sorted.at[e];
    }
    row.sorted.size = kept;
  }
  double level;
  return row.project_list(loss, y, beta_sum, level);
}

// How many classes have an entry before or after the step, y included.
__device__ std::int64_t classes_touched(const AlphaRow& alpha, std::int64_t y, const Ranked* beta, std::int64_t size) {
  int others = 0;
  for (std::int32_t e = lane(); e < alpha.size; e += 32) {
    bool stays = alpha.column[e] == y;
    for (std::int64_t f = 0; f < size && !stays; ++f) stays = beta[f].column == alpha.column[e];
    others += stays ? 0 : 1;
  }
  return warp_count(others) + size + 1;
}

// With softmax: T (H(new) - H(old)).
__device__ double entropy_gain(const LossView& loss, std::int64_t y, const AlphaRow& alpha, const Ranked* beta,
                               std::int64_t size, double beta_sum) {
  double change = 0.0, before = 0.0;
  for (std::int64_t e = lane(); e < size; e += 32) change += SoftmaxRow::entropy_term(beta[e].key);
  for (std::int32_t e = lane(); e < alpha.size; e += 32) {
    if (alpha.column[e] == y) continue;
    const double old = -alpha.value[e];
    change -= SoftmaxRow::entropy_term(old);
    before += old;
  }
  change = warp_sum(change) + SoftmaxRow::own_term(beta_sum) - SoftmaxRow::own_term(warp_sum(before));
  return loss.temperature * change;
}

template <class R>
__global__ void step_kernel(ProblemView problem, ScratchView scratch, const R* S, VisitsView visits, BatchView batch,
                            DualView A, R* V, Progress* progress) {
  for_rows(scratch, problem.m, batch.rows, [&](WarpRow& row, std::int64_t r) {
    const std::int64_t at = batch.epoch->cursor + r;
    if (lane() == 0) {
      batch.next_count[r] = -1;
      batch.slope[r] = batch.smooth[r] = 0.0;
    }
    if (at >= batch.epoch->end) return;
    const std::int64_t i = visits.order[at], y = problem.y[i];
    const R* const s = S + r * problem.m;
    const LossView& loss = problem.loss;
    const RowMargins delta = problem.margins(i);
    const AlphaRow alpha = row.stage(A, i);
    const bool entropic = loss.temperature > 0.0;
    SoftmaxRow softmax(row, row.more());
    double phi, share;
    if (entropic) {
      phi = softmax.find_point(loss, delta, s, y);
      share = softmax.share(loss, y, alpha);
    } else {
      phi = loss.smoothing > 0.0 ? envelope(loss, delta, s, y, row) : plain_loss(loss, delta, s, y, row);
      share = gap_share(phi, loss, delta, s, y, alpha);
    }
    if (lane() == 0) {
      visits.share[i] = share;
      visits.loss[i] = phi;
      // A row with next to no share of the gap rests for 1, 2, 4, ... at most 16 epochs.
      const bool quiet = share <= batch.epoch->quiet;
      visits.rest[i] = !quiet ? 0 : visits.rest[i] == 0 ? 1 : min(16, 2 * visits.rest[i]);
      if (quiet) visits.due[i] = batch.epoch->epoch + 1 + visits.rest[i];
    }
    // Where a score overflowed nobody knows where to go.
    if (!(share > 0.0) || !isfinite(share)) return;
    constexpr double most_curvature = 1e13;  // beside the entropy's, which is nothing then
    const double omega = problem.weight(i), q = omega * problem.scale * problem.lengths2[i];
    double beta_sum;
    std::int64_t size;
    const bool soft = entropic && q / loss.temperature <= most_curvature;
    if (soft) {
      if (!softmax.step(q / loss.temperature, y, alpha)) return;
      size = softmax.write(y, beta_sum);
    } else {
      size = step_to(loss, delta, s, y, q, alpha, -1, row, beta_sum);
    }
    if (classes_touched(alpha, y, row.raw, size) > A.slots) {
      if (lane() == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&progress->cramped), 1ull);
      const std::int64_t held = alpha.size > 0 ? alpha.size : 1;  // y is among them
      size = step_to(loss, delta, s, y, q, alpha, A.slots - held, row, beta_sum);
      if (classes_touched(alpha, y, row.raw, size) > A.slots) return;
    }
    const double s_y = static_cast<double>(s[y]);
    const double entropy = entropic ? entropy_gain(loss, y, alpha, row.raw, size, beta_sum) : 0.0;
    double slope = 0.0, norm2 = 0.0;
    const auto change = [&](std::int64_t j, double from, double to) {
      const double d = to - from;
      slope -= d * (margin(delta, j, y) + (static_cast<double>(s[j]) - s_y) + loss.smoothing * from);
      norm2 += d * d;
      V[j * batch.rows + r] = static_cast<R>(omega * d);
    };
    const auto entry = [&](std::int64_t j) {
      for (std::int32_t e = 0; e < alpha.size; ++e) {
        if (alpha.column[e] == j) return alpha.value[e];
      }
      return 0.0;
    };
    // The new alpha, by class; then what is no longer there.
    for (std::int64_t e = lane(); e < size; e += 32) {
      const auto [beta, j] = row.raw[e];
      std::int64_t place = y < j ? 1 : 0;
      for (std::int64_t f = 0; f < size; ++f) place += row.raw[f].column < j ? 1 : 0;
      batch.next_column[r * A.slots + place] = j;
      batch.next_value[r * A.slots + place] = -beta;
      change(j, entry(j), -beta);
    }
    for (std::int32_t e = lane(); e < alpha.size; e += 32) {
      const std::int32_t j = alpha.column[e];
      bool stays = j == y;
      for (std::int64_t f = 0; f < size && !stays; ++f) stays = row.raw[f].column == j;
      if (!stays) change(j, alpha.value[e], 0.0);
    }
    if (lane() == 0) {
      if (size > 0) {
        std::int64_t place = 0;
        for (std::int64_t f = 0; f < size; ++f) place += row.raw[f].column < y ? 1 : 0;
        batch.next_column[r * A.slots + place] = static_cast<std::int32_t>(y);
        batch.next_value[r * A.slots + place] = beta_sum;
      }
      change(y, entry(y), size > 0 ? beta_sum : 0.0);
    }
    slope = warp_sum(slope) + entropy;
    norm2 = warp_sum(norm2);
    if (lane() > 0) return;
    batch.slope[r] = omega * slope;
    batch.smooth[r] = loss.smoothing * omega * norm2;
    batch.next_count[r] = norm2 > 0.0 ? static_cast<std::int32_t>(size > 0 ? size + 1 : 0) : -1;
  });
}

// Rows share the warps that the scratch is for.
template <class Kernel, class... Arguments>
void launch(cudaStream_t stream, const ScratchView& scratch, std::int64_t m, std::int64_t count, Kernel kernel,
            const Arguments&... arguments) {
  const std::int64_t warps = count < scratch.warps ? count : scratch.warps;
  const auto blocks = static_cast<unsigned>((warps + warps_of_block - 1) / warps_of_block);
  const auto bytes = m <= shared_keys ? static_cast<std::size_t>(m) * warps_of_block * sizeof(double) : 0;
  constexpr int most = static_cast<int>(shared_keys * warps_of_block * sizeof(double));
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  kernel<<<blocks, warps_of_block * 32, bytes, stream>>>(arguments...);
}

}  // namespace

template <class R>
void vertex_rows(cudaStream_t stream, const ProblemView& problem, const ScratchView& scratch, const R* S,
                 std::int64_t begin, std::int64_t count, double* phi, double* c_u, double* V) {
  cudaMemsetAsync(V, 0, static_cast<std::size_t>(problem.m * count) * sizeof(double), stream);
  launch(stream, scratch, problem.m, count, vertex_kernel<R>, problem, scratch, S, begin, count, phi, c_u, V);
}
template void vertex_rows(cudaStream_t, const ProblemView&, const ScratchView&, const float*, std::int64_t,
                          std::int64_t, double*, double*, double*);
template void vertex_rows(cudaStream_t, const ProblemView&, const ScratchView&, const double*, std::int64_t,
                          std::int64_t, double*, double*, double*);

void certify_rows(cudaStream_t stream, const ProblemView& problem, const ScratchView& scratch, const double* S,
                  std::int64_t begin, std::int64_t count, double* phi, std::int32_t* rank, const DualView* A,
                  double* share) {
  launch(stream, scratch, problem.m, count, certify_kernel, problem, scratch, S, begin, count, phi, rank,
         A ? *A : DualView{}, share);
}

template <class R>
void step_rows(cudaStream_t stream, const ProblemView& problem, const ScratchView& scratch, const R* S,
               const VisitsView& visits, const BatchView& batch, const DualView& A, R* V, Progress* progress) {
  cudaMemsetAsync(V, 0, static_cast<std::size_t>(problem.m * batch.rows) * sizeof(R), stream);
  launch(stream, scratch, problem.m, batch.rows, step_kernel<R>, problem, scratch, S, visits, batch, A, V, progress);
}
template void step_rows(cudaStream_t, const ProblemView&, const ScratchView&, const float*, const VisitsView&,
                        const BatchView&, const DualView&, float*, Progress*);
template void step_rows(cudaStream_t, const ProblemView&, const ScratchView&, const double*, const VisitsView&,
                        const BatchView&, const DualView&, double*, Progress*);

}  // namespace topwolf::cuda
