// LIBLINEAR's text format for models, read; save_liblinear of topwolf/model.hpp writes it.
#pragma once

#include <string>
#include <string_view>

#include "topwolf/model.hpp"

namespace topwolf {

// Whether a file that begins so is one of LIBLINEAR's.
bool looks_like_liblinear(std::string_view text);

// Error{data} "PATH:LINE:COLUMN: sentence"; path is for messages.
Model parse_liblinear(std::string_view text, const std::string& path);

}  // namespace topwolf
