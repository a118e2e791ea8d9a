// What is written down about a cross-validation: in its checkpoints, to know it again, and in the model it ends with.
#pragma once

#include <string>
#include <vector>

#include "topwolf/select.hpp"
#include "train/checkpoint.hpp"

namespace topwolf {

// `first`: the options of its first fit.
Identity search_identity(Trainer& rows, const TrainOptions& first, const CvOptions& options,
                         const std::vector<double>& grid);

// For Provenance::search, in JSON.
std::string search_json(const CvOptions& options, const CvResult& result);

}  // namespace topwolf
