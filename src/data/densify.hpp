// Dense files often come as LIBSVM text. Products of dense rows are several times faster, non-zero by non-zero.
#pragma once

#include "topwolf/matrix.hpp"

namespace topwolf {

// CSR rows of which at least a quarter is non-zero, as dense rows; otherwise X itself.
Features dense_where_faster(const Features& X);

}  // namespace topwolf
