// The batch methods: Frank-Wolfe with line search (LSFW), with the standard step (StdFW), and Pegasos' projected
// gradient (PG). One pass over the rows per step; they differ in a step rule.
#pragma once

#include <memory>

#include "solve/solver.hpp"

namespace topwolf {

enum class StepRule {
  line_search,  // F2, F4
  standard,     // 2 / (t + 1)
  harmonic,     // 1 / t
};

struct BatchOptions {
  StepRule rule = StepRule::line_search;
  Direction direction = Direction::vertex;
  bool ball = false;       // scale onto ||W|| <= sqrt(P(0) / lambda) after each step (F3)
  bool keep_dual = false;  // hold A even where the method does not need it
  int threads = 1;
};

inline constexpr BatchOptions lsfw_options{};
inline constexpr BatchOptions stdfw_options{.rule = StepRule::standard};
inline constexpr BatchOptions pg_options{.rule = StepRule::harmonic, .direction = Direction::gradient, .ball = true};

// The methods whose first step forgets where they were (StdFW, PG) refuse a start.
std::unique_ptr<Solver> make_batch_solver(Engine& engine, Start from, const BatchOptions& options);

}  // namespace topwolf
