// Costs, margins, class features and taxonomies: from options to the data and the loss.
#pragma once

#include <vector>

#include "arguments.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {

// What contradicts itself is refused before data is read.
void check_structure(const Arguments& arguments);

// --margins, --class-features and --taxonomy go to the data; returns the cost matrix (m x m), or nothing.
std::vector<double> apply_structure(const Arguments& arguments, Dataset& data);

// --margins, for n rows and m classes; none where it is not given.
Margins margins_of(const Arguments& arguments, std::int64_t n, std::int64_t m);

// With --class-features the model's weights for the classes of that file, of which no loss and no certificate is known.
Model with_asked_classes(const Arguments& arguments, Model model);

}  // namespace topwolf::cli
