// The frame of a report: one page that needs nothing else, with its figures embedded as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace topwolf {

std::string page(std::string_view title, std::string_view body, const nlohmann::ordered_json& figures);

// One line of a table of names and values; the value as text, or as code.
std::string table_row(std::string_view name, std::string_view value);
std::string code_row(std::string_view name, std::string_view value);

// When the page was made, with how many threads, on which processor.
std::string machine_rows(int threads);

// What a run warned of.
std::string warning_paragraphs(const std::vector<std::string>& warnings);

// The most that the program has taken so far.
double peak_megabytes();

}  // namespace topwolf
