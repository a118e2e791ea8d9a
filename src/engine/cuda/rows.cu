// Rows on their way to products, and sums over rows. Every sum has one order: no atomic adds.
#include "engine/cuda/kernels.hpp"
#include "topwolf/half.hpp"

namespace topwolf::cuda {
namespace {

constexpr int threads = 256;

template <class Visit>
__device__ void with_type(Stored type, const Visit& visit) {
  switch (type) {
    case Stored::float32:
      return visit(float{});
    case Stored::float64:
      return visit(double{});
    case Stored::float16:
      return visit(Float16{});
    case Stored::bfloat16:
      return visit(BFloat16{});
  }
}

// One row by one block. 16 bits are widened exactly; the mean is taken off in double and the rest rounded once.
template <class R>
__device__ void gather_row(const RowsView& X, std::int64_t i, bool centred, R* out) {
  const double* const mean = centred ? X.mean : nullptr;
  with_type(X.type, [&]<class T>(T) {
    const T* const value = static_cast<const T*>(X.value);
    if (!X.row_begin) {
      const T* const x = value + i * X.stride;
      for (std::int64_t c = threadIdx.x; c < X.d; c += threads) {
        out[c] = mean ? static_cast<R>(static_cast<double>(x[c]) - mean[c]) : static_cast<R>(x[c]);
      }
    } else {
      for (std::int64_t c = threadIdx.x; c < X.d; c += threads) out[c] = mean ? static_cast<R>(-mean[c]) : R{0};
      __syncthreads();
      for (std::int64_t k = X.row_begin[i] + threadIdx.x; k < X.row_begin[i + 1]; k += threads) {
        const std::int32_t c = X.column[k];
        out[c] = mean ? static_cast<R>(static_cast<double>(value[k]) - mean[c]) : static_cast<R>(value[k]);
      }
    }
  });
  for (std::int64_t c = X.d + threadIdx.x; c < X.pitch; c += threads) out[c] = c < X.D ? static_cast<R>(X.bias) : R{0};
}

template <class R>
__global__ void gather_kernel(RowsView X, std::int64_t begin, bool centred, R* out) {
  gather_row(X, begin + blockIdx.x, centred, out + blockIdx.x * X.pitch);
}

template <class R>
__global__ void gather_batch_kernel(RowsView X, VisitsView visits, BatchView batch, R* out) {
  const std::int64_t at = batch.epoch->cursor + blockIdx.x;
  R* const row = out + blockIdx.x * X.pitch;
  if (at < batch.epoch->end) return gather_row(X, visits.order[at], true, row);
  for (std::int64_t c = threadIdx.x; c < X.pitch; c += threads) row[c] = R{0};
}

// Room in shared memory for a list of `count`: a few more, because loops that are unrolled read ahead of what they use.
__host__ __device__ constexpr std::int64_t list_room(std::int64_t count) {
  return (count / 4 + 2) * 4;
}

// Block (j, tile). The non-zeros of V_j are first listed in the order of the rows.
template <class V, class R, class Sum>
__global__ void sum_by_class_kernel(const V* values, std::int64_t count, const R* rows, std::int64_t D,
                                    std::int64_t pitch, bool add, Sum* out, double* norm2) {
  extern __shared__ double shared[];
  V* const value = reinterpret_cast<V*>(shared);
  std::int32_t* const place = reinterpret_cast<std::int32_t*>(value + list_room(count));
  __shared__ std::int32_t of_warp[threads / 32];
  __shared__ double parts[threads / 32];
  const std::int64_t j = blockIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  std::int32_t size = 0;
  for (std::int64_t from = 0; from < count; from += threads) {
    const std::int64_t r = from + threadIdx.x;
    const V v = r < count ? values[j * count + r] : V{0};
    const unsigned mask = __ballot_sync(~0u, v != V{0});
    if (lane == 0) of_warp[warp] = __popc(mask);
    __syncthreads();
    std::int32_t at = size;
    for (int w = 0; w < threads / 32; ++w) {
      if (w < warp) at += of_warp[w];
      size += of_warp[w];
    }
    if (v != V{0}) {
      at += __popc(mask & ((1u << lane) - 1));
      value[at] = v;
      place[at] = static_cast<std::int32_t>(r);
    }
    __syncthreads();
  }
  double length2 = 0.0;
  if (size > 0) {
    for (std::int64_t c = blockIdx.y * threads + threadIdx.x; c < D; c += gridDim.y * threads) {
      Sum sum = 0;
#pragma unroll 4
      for (std::int32_t e = 0; e < size; ++e) {
        sum += static_cast<Sum>(value[e]) * static_cast<Sum>(rows[place[e] * pitch + c]);
      }
      Sum& to = out[j * pitch + c];
      to = add ? to + sum : sum;
      length2 += static_cast<double>(sum) * static_cast<double>(sum);
    }
  }
  if (!norm2) return;
  for (int step = 16; step > 0; step /= 2) length2 += __shfl_down_sync(~0u, length2, step);
  if (lane == 0) parts[warp] = length2;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0.0;
    for (int w = 0; w < threads / 32; ++w) total += parts[w];
    norm2[j] = size > 0 ? total : -1.0;
  }
}

__global__ void spread_dual_kernel(ProblemView problem, DualView A, std::int64_t begin, std::int64_t count, double* V) {
  const std::int64_t r = blockIdx.x * (threads / 32) + threadIdx.x / 32, i = begin + r;
  if (r >= count) return;
  for (std::int32_t e = threadIdx.x % 32; e < A.count[i]; e += 32) {
    V[A.column[i * A.slots + e] * count + r] = problem.weight(i) * A.value[i * A.slots + e];
  }
}

// `pack`: from the slots to the list; else back.
__global__ void pack_kernel(DualView A, std::int64_t n, const std::int64_t* begin, std::int32_t* column, double* value,
                            bool pack) {
  const std::int64_t i = blockIdx.x * std::int64_t{threads / 32} + threadIdx.x / 32;
  if (i >= n) return;
  const auto size = static_cast<std::int32_t>(begin[i + 1] - begin[i]);
  for (std::int32_t e = threadIdx.x % 32; e < size; e += 32) {
    const std::int64_t slot = i * A.slots + e, at = begin[i] + e;
    if (pack) {
      column[at] = A.column[slot];
      value[at] = A.value[slot];
    } else {
      A.column[slot] = column[at];
      A.value[slot] = value[at];
    }
  }
  if (!pack && threadIdx.x % 32 == 0) A.count[i] = size;
}

__global__ void spread_entries_kernel(const PanelEntry* entries, std::int64_t size, std::int64_t count, double* V) {
  const std::int64_t e = blockIdx.x * std::int64_t{threads} + threadIdx.x;
  if (e < size) V[entries[e].column * count + entries[e].row] = entries[e].value;
}

// ---- The order of an epoch: a permutation that needs no memory (a Feistel network over the smallest power of four
// that is not below n, walked until it is below n), and those of its rows that are due.

__device__ std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

__device__ std::int64_t permuted(std::int64_t k, std::int64_t n, int half, std::uint64_t key) {
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto x = static_cast<std::uint64_t>(k);
  do {
    std::uint64_t left = x >> half, right = x & mask;
    for (std::uint64_t round = 1; round <= 6; ++round) {
      const std::uint64_t next = left ^ (mixed(right + key + round * 0x9e3779b97f4a7c15u) & mask);
      left = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= static_cast<std::uint64_t>(n));
  return static_cast<std::int64_t>(x);
}

constexpr int chunk = 1024;

// counts[b]: how many of the chunk are due; with `order` they are written behind those of the chunks before.
__global__ void due_kernel(ProblemView problem, VisitsView visits, std::int32_t epoch, int half, std::uint64_t key,
                           std::int64_t* counts, std::int64_t* weighted, bool write) {
  __shared__ std::int32_t of_warp[chunk / 32];
  __shared__ std::int32_t with_weight[chunk / 32];
  const std::int64_t k = blockIdx.x * std::int64_t{chunk} + threadIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  std::int64_t i = -1;
  bool weighs = false, due = false;
  if (k < problem.n) {
    i = permuted(k, problem.n, half, key);
    weighs = problem.weight(i) > 0.0;
    due = weighs && visits.due[i] <= epoch;
  }
  const unsigned mask = __ballot_sync(~0u, due), all = __ballot_sync(~0u, weighs);
  if (lane == 0) {
    of_warp[warp] = __popc(mask);
    with_weight[warp] = __popc(all);
  }
  __syncthreads();
  if (!write) {
    if (threadIdx.x > 0) return;
    std::int64_t sum = 0, weight = 0;
    for (int w = 0; w < chunk / 32; ++w) {
      sum += of_warp[w];
      weight += with_weight[w];
    }
    counts[blockIdx.x] = sum;
    weighted[blockIdx.x] = weight;
    return;
  }
  if (!due) return;
  std::int64_t at = counts[blockIdx.x];
  for (int w = 0; w < warp; ++w) at += of_warp[w];
  visits.order[at + __popc(mask & ((1u << lane) - 1))] = static_cast<std::int32_t>(i);
}

// counts become where their chunks begin; by one block.
__global__ void scan_kernel(std::int64_t* counts, const std::int64_t* weighted, std::int64_t size,
                            std::int64_t* chosen) {
  __shared__ std::int64_t sums[chunk], weights[chunk];
  const std::int64_t each = (size + chunk - 1) / chunk;
  const std::int64_t begin = threadIdx.x * each, end = begin + each < size ? begin + each : size;
  std::int64_t sum = 0, weight = 0;
  for (std::int64_t b = begin; b < end; ++b) {
    sum += counts[b];
    weight += weighted[b];
  }
  sums[threadIdx.x] = sum;
  weights[threadIdx.x] = weight;
  __syncthreads();
  if (threadIdx.x == 0) {
    std::int64_t before = 0, all = 0;
    for (int t = 0; t < chunk; ++t) {
      const std::int64_t here = sums[t];
      sums[t] = before;
      before += here;
      all += weights[t];
    }
    chosen[0] = before;
    chosen[1] = all - before;
  }
  __syncthreads();
  std::int64_t at = sums[threadIdx.x];
  for (std::int64_t b = begin; b < end; ++b) {
    const std::int64_t here = counts[b];
    counts[b] = at;
    at += here;
  }
}

__global__ void weighted_sum_kernel(ProblemView problem, const double* value, double* sums) {
  __shared__ double parts[threads];
  double sum = 0.0;
  for (std::int64_t i = blockIdx.x * std::int64_t{threads} + threadIdx.x; i < problem.n;
       i += std::int64_t{gridDim.x} * threads) {
    if (problem.weight(i) > 0.0) sum += problem.weight(i) * value[i];
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  sum = 0.0;
  for (int t = 0; t < threads; ++t) sum += parts[t];
  sums[blockIdx.x] = sum;
}

unsigned blocks_of(std::int64_t count, std::int64_t each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

}  // namespace

template <class R>
void gather(cudaStream_t stream, const RowsView& X, std::int64_t begin, std::int64_t count, bool centred, R* out) {
  gather_kernel<<<blocks_of(count, 1), threads, 0, stream>>>(X, begin, centred, out);
}
template void gather(cudaStream_t, const RowsView&, std::int64_t, std::int64_t, bool, float*);
template void gather(cudaStream_t, const RowsView&, std::int64_t, std::int64_t, bool, double*);

template <class R>
void gather_batch(cudaStream_t stream, const RowsView& X, const VisitsView& visits, const BatchView& batch, R* out) {
  gather_batch_kernel<<<blocks_of(batch.rows, 1), threads, 0, stream>>>(X, visits, batch, out);
}
template void gather_batch(cudaStream_t, const RowsView&, const VisitsView&, const BatchView&, float*);
template void gather_batch(cudaStream_t, const RowsView&, const VisitsView&, const BatchView&, double*);

template <class V, class R, class Sum>
void sum_by_class(cudaStream_t stream, const V* values, std::int64_t m, std::int64_t count, const R* rows,
                  std::int64_t D, std::int64_t pitch, bool add, Sum* out, double* norm2) {
  constexpr std::size_t each = sizeof(V) + sizeof(std::int32_t);
  const auto kernel = sum_by_class_kernel<V, R, Sum>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(static_cast<std::size_t>(list_room(most_summed_rows)) * each));
  // A norm needs one block for each class; sums alone may use as many as make the device busy.
  const std::int64_t tiles = norm2 ? 1 : (D + threads - 1) / threads;
  kernel<<<dim3(static_cast<unsigned>(m), static_cast<unsigned>(tiles)), threads,
           static_cast<std::size_t>(list_room(count)) * each, stream>>>(values, count, rows, D, pitch, add, out, norm2);
}
template void sum_by_class(cudaStream_t, const double*, std::int64_t, std::int64_t, const double*, std::int64_t,
                           std::int64_t, bool, double*, double*);
template void sum_by_class(cudaStream_t, const float*, std::int64_t, std::int64_t, const float*, std::int64_t,
                           std::int64_t, bool, float*, double*);

void spread_dual(cudaStream_t stream, const ProblemView& problem, const DualView& A, std::int64_t begin,
                 std::int64_t count, double* V) {
  cudaMemsetAsync(V, 0, static_cast<std::size_t>(problem.m * count) * sizeof(double), stream);
  spread_dual_kernel<<<blocks_of(count, threads / 32), threads, 0, stream>>>(problem, A, begin, count, V);
}

void pack_dual(cudaStream_t stream, const DualView& A, std::int64_t n, const std::int64_t* begin, std::int32_t* column,
               double* value) {
  pack_kernel<<<blocks_of(n, threads / 32), threads, 0, stream>>>(A, n, begin, column, value, true);
}

void unpack_dual(cudaStream_t stream, const DualView& A, std::int64_t n, const std::int64_t* begin,
                 const std::int32_t* column, const double* value) {
  pack_kernel<<<blocks_of(n, threads / 32), threads, 0, stream>>>(A, n, begin, const_cast<std::int32_t*>(column),
                                                                  const_cast<double*>(value), false);
}

void spread_entries(cudaStream_t stream, const PanelEntry* entries, std::int64_t size, std::int64_t m,
                    std::int64_t count, double* V) {
  cudaMemsetAsync(V, 0, static_cast<std::size_t>(m * count) * sizeof(double), stream);
  if (size > 0) spread_entries_kernel<<<blocks_of(size, threads), threads, 0, stream>>>(entries, size, count, V);
}

void choose_rows(cudaStream_t stream, const ProblemView& problem, const VisitsView& visits, std::int32_t epoch,
                 std::uint64_t seed, std::int64_t* counts, std::int64_t* chosen) {
  int half = 1;
  while ((std::int64_t{1} << (2 * half)) < problem.n) ++half;
  const std::uint64_t key = seed * 0xd1342543de82ef95u + static_cast<std::uint64_t>(epoch) * 0x2545f4914f6cdd1du;
  const unsigned chunks = blocks_of(problem.n, chunk);
  std::int64_t* const weighted = counts + chunks;
  due_kernel<<<chunks, chunk, 0, stream>>>(problem, visits, epoch, half, key, counts, weighted, false);
  scan_kernel<<<1, chunk, 0, stream>>>(counts, weighted, chunks, chosen);
  due_kernel<<<chunks, chunk, 0, stream>>>(problem, visits, epoch, half, key, counts, weighted, true);
}

void weighted_sum(cudaStream_t stream, const ProblemView& problem, const double* value, double* sums) {
  weighted_sum_kernel<<<static_cast<unsigned>(sum_parts), threads, 0, stream>>>(problem, value, sums);
}

}  // namespace topwolf::cuda
