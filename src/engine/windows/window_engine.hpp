// An engine whose rows are not in memory: they come by in windows, and each window is the CPU engine's business while
// it is there. Duals, lengths and labels are in memory, a few numbers for every row.
#pragma once

#include <functional>
#include <memory>

#include "data/window.hpp"
#include "engine/engine.hpp"
#include "engine/host/block_scores.hpp"

namespace topwolf {

// Where rows are that are not in memory, and how much of them may be.
struct WindowedRows {
  std::shared_ptr<const RowSource> source;
  WindowSize size{};
  // How often block ascent visits the rows of a window while it is there: more than once where reading takes longer.
  std::int64_t visits = 1;
};

// problem.X has the kind of the rows, and none of them; lengths2: of all rows. For the plain problem alone.
std::unique_ptr<Engine> make_window_engine(const Problem& problem, const WindowedRows& rows, SharedLengths lengths2,
                                           int threads);

// Block scores from weights, of rows in windows. The problem and lengths must outlive them.
std::unique_ptr<BlockScores> make_window_scores(const Problem& problem, const WindowedRows& rows,
                                                const Extents& extents, const std::vector<double>& lengths2,
                                                int threads, std::function<void()> pause);

}  // namespace topwolf
