// Generated data that shows what top-k losses are for: classes that look alike in groups.
#pragma once

#include <cstdint>

#include "topwolf/dataset.hpp"

namespace topwolf::cli {

struct DemoData {
  Dataset train;
  Dataset test;
};

inline constexpr std::int64_t demo_groups = 40;
inline constexpr std::int64_t demo_classes_a_group = 5;
inline constexpr std::int64_t demo_rows_a_class = 20;  // in each half
inline constexpr std::int64_t demo_features = 128;

// The same numbers for the same seed on every machine.
DemoData generate_demo_data(std::uint64_t seed);

}  // namespace topwolf::cli
