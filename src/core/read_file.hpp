// A whole file into memory. Memory follows what was really read, whatever the file system claims.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace topwolf {

// Error{io} with the path and the system's reason; Error{memory} for what does not fit, or has no end.
// `look` sees the first bytes, 64 of them where the file has as many, before more is read: what it throws spares
// reading a file that has no end.
std::vector<char> read_file(const std::string& path, const std::function<void(std::string_view)>& look = {});

}  // namespace topwolf
