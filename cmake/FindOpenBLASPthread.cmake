# OpenBLAS, the pthread variant, as target OpenBLAS::pthread. The serial variant is refused: called from several
# threads of ours it returned wrong numbers. The OpenMP variant is refused too: its threads are dead in a forked child.
find_path(OpenBLASPthread_INCLUDE_DIR cblas.h
          PATH_SUFFIXES openblas-pthread x86_64-linux-gnu/openblas-pthread aarch64-linux-gnu/openblas-pthread openblas)
find_library(OpenBLASPthread_LIBRARY openblas PATH_SUFFIXES openblas-pthread
             PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread NO_DEFAULT_PATH)
find_library(OpenBLASPthread_LIBRARY openblas)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLASPthread REQUIRED_VARS OpenBLASPthread_LIBRARY OpenBLASPthread_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install Debian's libopenblas-pthread-dev")

if(OpenBLASPthread_FOUND AND NOT TARGET OpenBLAS::pthread)
  get_filename_component(_dir ${OpenBLASPthread_LIBRARY} DIRECTORY)
  add_library(OpenBLAS::pthread UNKNOWN IMPORTED)
  set_target_properties(OpenBLAS::pthread PROPERTIES
    IMPORTED_LOCATION ${OpenBLASPthread_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OpenBLASPthread_INCLUDE_DIR})
  if(NOT DEFINED TOPWOLF_OPENBLAS_PARALLEL)
    try_run(TOPWOLF_OPENBLAS_PARALLEL _compiled
            ${CMAKE_BINARY_DIR}/openblas-check ${CMAKE_CURRENT_LIST_DIR}/openblas_parallel.cpp
            CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${OpenBLASPthread_INCLUDE_DIR}
            LINK_LIBRARIES ${OpenBLASPthread_LIBRARY} LINK_OPTIONS -Wl,-rpath,${_dir})
  endif()
  if(NOT TOPWOLF_OPENBLAS_PARALLEL EQUAL 1)
    message(FATAL_ERROR "${OpenBLASPthread_LIBRARY} is not the pthread variant of OpenBLAS "
      "(openblas_get_parallel() = ${TOPWOLF_OPENBLAS_PARALLEL}, wanted 1): install libopenblas-pthread-dev, "
      "or set OpenBLASPthread_LIBRARY and clear TOPWOLF_OPENBLAS_PARALLEL.")
  endif()
endif()
