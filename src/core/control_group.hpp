// The control groups that this process is in, and what they leave it: versions 1 and 2.
#pragma once

#include <functional>
#include <string>

namespace topwolf {

// Calls visit(version, folder, path) for the group of this process that `controller` ("memory", "cpu") governs, and for
// all above it: folder is where its files are, path its name. root: "" but in tests.
void for_control_groups(
    const std::string& root, const std::string& controller,
    const std::function<void(int version, const std::string& folder, const std::string& path)>& visit);

// How many cores' time they allow; infinite where they set no quota.
double cores_allowed(const std::string& root = "");

}  // namespace topwolf
