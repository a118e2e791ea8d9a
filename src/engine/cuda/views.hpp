// What kernels are told: plain pointers into the device's memory, and the numbers that go with them. No ownership.
#pragma once

#include <cstdint>

#include "loss/row.hpp"

namespace topwolf::cuda {

enum class Stored { float32, float64, float16, bfloat16 };

// Rows as they were given, (n x d) dense or CSR. `pitch`: how far apart gathered rows of D numbers lie.
struct RowsView {
  Stored type = Stored::float32;
  const void* value = nullptr;
  std::int64_t stride = 0;                  // dense
  const std::int64_t* row_begin = nullptr;  // CSR; null: dense
  const std::int32_t* column = nullptr;
  std::int64_t n = 0, d = 0, D = 0, pitch = 0;
  double bias = 0.0;
  const double* mean = nullptr;  // d; null: rows as they are
};

// The problem without its rows.
struct ProblemView {
  LossView loss;
  std::int64_t n = 0, m = 0;
  const std::int32_t* y = nullptr;
  const double* omega = nullptr;     // null: all 1
  const double* lengths2 = nullptr;  // with the constant feature, less the mean
  double scale = 0.0;                // 1 / (lambda N)
  // Margins: of classes (m x m), of rows (n x stride), sparse ones of rows, or `other` everywhere.
  const double* cost = nullptr;
  const double* of_rows = nullptr;
  std::int64_t stride = 0;
  const std::int64_t* exception_begin = nullptr;
  const std::int32_t* exception_column = nullptr;
  const double* exception = nullptr;
  double other = 1.0;

  bool operator==(const ProblemView&) const = default;
  TOPWOLF_BOTH double weight(std::int64_t i) const { return omega ? omega[i] : 1.0; }
  TOPWOLF_BOTH RowMargins margins(std::int64_t i) const {
    if (of_rows) return RowMargins(of_rows + i * stride);
    if (cost) return RowMargins(cost + y[i] * m);
    RowMargins out;
    out.other = other;
    if (exception_begin) {
      out.exceptions = exception_begin[i + 1] - exception_begin[i];
      out.column = exception_column + exception_begin[i];
      out.exception = exception + exception_begin[i];
    }
    return out;
  }
};

// A dual: `slots` places for every row, of which the first count[i] are taken, classes ascending.
struct DualView {
  std::int32_t* column = nullptr;  // (n x slots)
  double* value = nullptr;         // (n x slots)
  std::int32_t* count = nullptr;   // n
  std::int64_t slots = 0;
  bool operator==(const DualView&) const = default;
};

// Memory for one row for each warp at work, for lists that do not fit into shared memory.
struct ScratchView {
  double* key = nullptr;         // (warps x m)
  Ranked* raw = nullptr;         // (warps x (m + 1)), ...
  Ranked* sorted = nullptr;      // ... as these
  PooledBlock* block = nullptr;  // and these
  double* more = nullptr;        // (warps x 3 m), with softmax alone
  std::int64_t warps = 0;
};

// What block ascent knows of rows between their visits.
struct VisitsView {
  double* share = nullptr;        // n: of the gap, as last seen, ...
  double* loss = nullptr;         // n: ... and Phi
  std::int32_t* rest = nullptr;   // n: for how many epochs, ...
  std::int32_t* due = nullptr;    // n: ... and the epoch of the next turn
  std::int32_t* order = nullptr;  // rows of the epoch
};

// On the device, so that what runs for a batch is the same for all batches.
struct EpochState {
  std::int64_t cursor, end;  // of VisitsView::order: where the next batch begins, and where the epoch ends
  double quiet;              // a share below this is next to none
  std::int32_t epoch;
};

// One batch: the next rows of the epoch.
struct BatchView {
  EpochState* epoch = nullptr;
  std::int64_t rows = 0;                // as many as fit
  std::int32_t* next_column = nullptr;  // (rows x slots): where the rows step, ...
  double* next_value = nullptr;         // ... of the new alpha
  std::int32_t* next_count = nullptr;   // rows; -1: it does not step
  double* slope = nullptr;              // rows: omega <d, c - s - smoothing alpha>, and the entropy's gain
  double* smooth = nullptr;             // rows: smoothing omega ||d||^2
  double* norm2 = nullptr;              // m: ||sum over the batch of omega d_j x||^2
};

// What a sequence of batches has done so far.
struct Progress {
  double gain;       // times N
  double gamma_sum;  // of B2, each between 0 and 2
  double t;          // of the last batch: how much of its step was taken
  std::int64_t batches;
  std::int64_t cramped;  // rows that would have needed more slots
  std::int32_t moved;
};

}  // namespace topwolf::cuda
