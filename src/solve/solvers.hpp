// The solvers by name, and where they begin. What each of them does is written above it, in its source file.
#pragma once

#include <memory>

#include "solve/solver.hpp"

namespace topwolf {

// ---- Exact block ascent (block.cpp)

std::unique_ptr<Solver> make_block_solver(Engine& engine, Start from, const BlockOptions& options);

// ---- Accelerated projected gradient (apg.cpp)

std::unique_ptr<Solver> make_apg_solver(Engine& engine, Start from, int threads);

// ---- Newton steps on the primal, for few weights (newton.cpp)

std::unique_ptr<Solver> make_newton_solver(Engine& engine, Start from, int threads);

// ---- The batch methods: LSFW, StdFW and PG (batch.cpp)

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

// ---- A dual from an earlier run as the start of another (D3)

// Any rows over the classes, one per example, made feasible for the engine's problem and scaled to where the dual is
// largest.
Start warm_start(Engine& engine, const SparseRows& earlier);

// The same for the dual of a problem that differed in lambda alone: the working scores come along.
Start continue_from(Engine& engine, std::unique_ptr<Dual> A, double earlier_lambda);

}  // namespace topwolf
