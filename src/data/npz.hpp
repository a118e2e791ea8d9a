// .npz: a zip of .npy arrays. Reads features X with labels y, and what scipy.sparse.save_npz writes (CSR), with labels
// y beside it. Refuses other sparse formats and archives that are not whole.
#pragma once

#include <optional>
#include <string>

#include "data/buffer.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// One array as the .npy bytes it is stored as; none if the archive has no such member.
std::optional<Buffer> read_npz_array(const std::string& path, const std::string& member, UnpackLimit max_unpacked = {});

// Labels only where the archive has them and labels_path does not replace them.
RawDataset read_npz(const LoadOptions& options);

}  // namespace topwolf
