// The one place where engines are made.
#pragma once

#include <functional>
#include <memory>

#include "engine/cpu/cpu_engine.hpp"
#include "engine/engine.hpp"
#include "engine/windows/window_engine.hpp"
#include "topwolf/joint.hpp"

namespace topwolf {

struct EngineOptions {
  int threads = 0;                            // 0: all cores the process may use
  bool gram = false;                          // block ascent has its scores from a Gram matrix, not from weights: ...
  std::shared_ptr<const Gram> shared_gram{};  // ... from this one; null: from one of its own
  std::shared_ptr<const ClassMap> classes{};  // phi; null: the plain problem
  const JointMap* psi = nullptr;              // any psi, in the place of features; must outlive the engine
  const WindowedRows* windows = nullptr;      // rows that are not in memory; lengths2 must be given
  SharedLengths lengths2{};                   // ||x_i - mean||^2 with the constant feature; null: computed
};

// What the problem views must outlive the engine.
std::unique_ptr<Engine> make_engine(const Problem& problem, const EngineOptions& options = {});

// For those who bring an engine of their own.
using EngineFactory = std::function<std::unique_ptr<Engine>(const Problem&, const EngineOptions&)>;

}  // namespace topwolf
