// An engine that has rows, which are in memory after all, in windows of a few of them.
#pragma once

#include <memory>

#include "data/mean.hpp"
#include "data/row_files.hpp"
#include "engine/factory.hpp"

namespace topwolf::testing {

// Extents of about four rows, windows of about four extents, for the rows that the contract's problems have.
inline std::unique_ptr<Engine> make_windows_of_few(const Problem& problem, const EngineOptions& options) {
  const auto source = rows_in_memory(Features(problem.X));
  const double row = bytes_in_memory(*source) / static_cast<double>(problem.n);
  const WindowedRows rows{source, {16.5 * row, 4.1 * row}};
  Problem without = problem;
  without.X = Features(source).kind();
  EngineOptions windowed = options;
  windowed.windows = &rows;
  windowed.lengths2 = share(problem.mean ? squared_lengths(problem.X, *problem.mean, problem.bias, 1)
                                         : squared_lengths(problem.X, problem.bias, 1));
  return make_engine(without, windowed);
}

}  // namespace topwolf::testing
