// The dual A (n x m) of a training run in a file of its own, sparse, so that somebody else can check a certificate
// (docs/file_formats.md). Decides whether the rows are well formed, not whether they are feasible.
#pragma once

#include <cstdint>
#include <string>

#include "topwolf/matrix.hpp"

namespace topwolf {

// data_hash: the fingerprint of the training rows and labels, as the model holds it.
void save_dual(const SparseRows& dual, std::int64_t m, const std::string& data_hash, const std::string& path);

// Refuses a file that does not hold n rows over m classes.
SparseRows load_dual(const std::string& path, std::int64_t n, std::int64_t m);

// n rows, classes ascending and below m, numbers finite. Error{data} whose sentence starts with `source`.
void check_dual(const SparseRows& dual, std::int64_t n, std::int64_t m, const std::string& source);

}  // namespace topwolf
