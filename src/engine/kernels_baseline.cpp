#define TOPWOLF_ISA kernels_baseline
#define TOPWOLF_ISA_NAME "baseline"
#include "engine/kernels.inc"
