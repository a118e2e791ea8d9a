// What every model must be, whether it is about to be written or was just read.
#pragma once

#include <string>

#include "topwolf/model.hpp"

namespace topwolf {

// Sizes agree, numbers are finite and in range, classes are distinct. Error{data} "PATH: sentence".
void check_classifier(const Classifier& model, const std::string& path);
// The same, and what is said about its making is possible.
void check_model(const Model& model, const std::string& path);

}  // namespace topwolf
