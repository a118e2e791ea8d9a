// What training asks of data, part by part. Each throws Error{data} with a sentence that names the place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"

namespace topwolf {

// source: the file's name for the message; "" = none. Returns ||x_i||^2 of every row, which it looks at.
std::vector<double> check_features(const Features& X, int threads, const std::string& source = "");
// n class numbers in 0 .. m-1.
void check_labels(const std::vector<std::int32_t>& y, std::int64_t n, std::int64_t m);
// None, or n of at least 0, not all 0.
void check_weights(const std::vector<double>& weights, std::int64_t n);
// None, or (n x m) in float64, at least 0, 0 for the class of the row.
void check_margins(const Margins& margins, const std::vector<std::int32_t>& y, std::int64_t m);
// None, or (m x p) in float64, finite.
void check_class_features(const Features& phi, std::int64_t m);

// All of it. Returns ||x_i||^2 of every row, so that nobody goes over all the features for them again; `hash`, where
// wanted, becomes the fingerprint of the data, for which rows on disk would be read once more.
std::vector<double> check_dataset(const Dataset& data, int threads, std::string* hash = nullptr);

}  // namespace topwolf
