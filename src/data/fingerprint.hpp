// What a data set amounts to: the sum of its weights and a hash of its content.
#pragma once

#include <string>

#include "data/window.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// N: the sum of the example weights, n without weights.
double weight_sum(const Dataset& data);

// A hash of features, labels, classes and weights: the same data, prepared in the same way, gives the same text.
// `also`, where given, sees the rows as they go by.
std::string fingerprint(const Dataset& data, const WindowBody& also = {});

}  // namespace topwolf
