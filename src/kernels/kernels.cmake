# The instruction set of each copy of the kernels; everything else is built for the baseline.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/kernels/kernels_avx2.cpp
    PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/kernels/kernels_avx512.cpp
    PROPERTIES COMPILE_OPTIONS "-mavx512f;-mavx512vl;-mavx512dq;-mfma;-mf16c;-mprefer-vector-width=512")
endif()
set_target_properties(topwolf_kernels PROPERTIES UNITY_BUILD OFF)  # each file has flags of its own
