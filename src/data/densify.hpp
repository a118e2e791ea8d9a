// Dense files often come as LIBSVM text. Products of dense rows are several times faster, non-zero by non-zero.
#pragma once

#include "topwolf/matrix.hpp"

namespace topwolf {

// CSR rows of which at least a quarter is non-zero, as dense rows if those take no more than a quarter of the memory;
// otherwise X itself.
Features dense_where_faster(const Features& X);

}  // namespace topwolf
