#define TOPWOLF_ISA kernels_avx2
#define TOPWOLF_ISA_NAME "avx2"
#include "kernels/kernels.inc"
