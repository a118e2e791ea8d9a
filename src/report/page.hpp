// The frame of a report: one page that needs nothing else, with its figures embedded as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace topwolf {

std::string page(std::string_view title, std::string_view body, const nlohmann::ordered_json& figures);

// One line of a table of names and values; the value as text, or as code.
std::string table_row(std::string_view name, std::string_view value);
std::string code_row(std::string_view name, std::string_view value);

// The most that the program has taken so far.
double peak_megabytes();

}  // namespace topwolf
