// What is compiled for host and device alike is marked so: the same source, the same arithmetic.
#pragma once

#ifdef __CUDACC__
#define TOPWOLF_BOTH __host__ __device__
#else
#define TOPWOLF_BOTH
#endif
