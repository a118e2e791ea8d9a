// The dual A (n x m) of a training run (TrainResult::dual) in a file of its own, sparse, so that somebody else can
// check the certificate with verify() (file_formats.md). Whether rows are well formed is looked at here, whether
// they are feasible there.
#pragma once

#include <cstdint>
#include <string>

#include "topwolf/matrix.hpp"

namespace topwolf {

// data_hash: the fingerprint of the training rows and labels, as the model holds it (Provenance::data_hash).
void save_dual(const SparseRows& dual, std::int64_t m, const std::string& data_hash, const std::string& path);

// Error{data} for a file that does not hold n well-formed rows over m classes.
SparseRows load_dual(const std::string& path, std::int64_t n, std::int64_t m);

// n rows, classes ascending and below m, numbers finite: else Error{data}, whose sentence starts with `source`.
void check_dual(const SparseRows& dual, std::int64_t n, std::int64_t m, const std::string& source);

}  // namespace topwolf
