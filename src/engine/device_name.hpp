// What devices are called: the one place that reads TrainOptions::device.
#pragma once

#include <optional>
#include <string_view>

namespace topwolf {

// The number of the GPU: 0 for "cuda", 1 for "cuda:1", none for "cpu". Throws Error{option} for anything else.
std::optional<int> cuda_index(std::string_view device);

}  // namespace topwolf
