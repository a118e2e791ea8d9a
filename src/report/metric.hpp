// Whether a metric makes sense.
#pragma once

#include "topwolf/select.hpp"

namespace topwolf {

// Error{option} for weights or a k that are none.
void check(const Metric& metric);

}  // namespace topwolf
