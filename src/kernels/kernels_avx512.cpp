#define TOPWOLF_ISA kernels_avx512
#define TOPWOLF_ISA_NAME "avx512"
#include "kernels/kernels.inc"
