# What the extension is built with when only a compiler and PyPI are at hand: fmt and nlohmann_json from the Python
# packages that carry them.
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
