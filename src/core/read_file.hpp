// A whole file into memory. Memory follows what was really read, whatever the file system claims.
#pragma once

#include <string>
#include <vector>

namespace topwolf {

// Error{io} with the path and the system's reason; Error{memory} for what does not fit, or has no end.
std::vector<char> read_file(const std::string& path);

}  // namespace topwolf
