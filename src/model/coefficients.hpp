// A classifier that another program trained, as NumPy arrays: .npy holds the matrix of weights, a row per class; .npz
// holds `coef` or `coef_` and, where there are such, `intercept` or `intercept_` and `classes` or `classes_`.
#pragma once

#include <cstdint>
#include <string>

#include "topwolf/model.hpp"

namespace topwolf {

// By its first bytes.
bool is_coefficient_file(const std::string& path);

// For rows of d features. `classes` are those of the matrix's rows, in order, where the file names none. One row for
// two classes is scikit-learn's: its score is that of the second less that of the first. Without an array of
// intercepts one more column than d holds them. Intercepts other than 0 give the model a bias of 1.
// Error{data} "PATH: sentence" that names the sizes.
Model load_coefficients(const std::string& path, std::int64_t d, const ClassList& classes,
                        UnpackLimit max_unpacked = {});

}  // namespace topwolf
