// Labels written label:weight.
#pragma once

#include "topwolf/dataset.hpp"

namespace topwolf {

// Takes the weights out of the labels; a label without one weighs 1.
void split_label_weights(RawDataset& raw);

}  // namespace topwolf
