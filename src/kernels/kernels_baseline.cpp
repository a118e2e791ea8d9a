#define TOPWOLF_ISA kernels_baseline
#define TOPWOLF_ISA_NAME "baseline"
#include "kernels/kernels.inc"
