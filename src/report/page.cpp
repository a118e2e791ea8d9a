#include "report/page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <ctime>
#include <fstream>

#include "core/counted.hpp"
#include "report/svg.hpp"

namespace topwolf {
namespace {

// Series have colours that are told apart by people who see colours differently, and in grey. On a narrow screen a plot
// shrinks, and its text is set larger to stay legible.
constexpr const char* style = R"(
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --soft: #555; --line: #e4e4e4; --grid: #ddd; --claim: #f3f7fc; --short: #fdf5ee; }
.s0 { color: #0057b7; } .s1 { color: #d1600a; } .s2 { color: #1b7f4b; } .s3 { color: #7a3e9d; } .s4 { color: #8a6d00; } .s5 { color: #0e7c86; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181b; --soft: #a8a8a8; --line: #34373b; --grid: #3a3d42; --claim: #1c2733; --short: #33261a; }
  .s0 { color: #6cb2ff; } .s1 { color: #ff9d52; } .s2 { color: #5fd39a; } .s3 { color: #c79bea; } .s4 { color: #e3c44e; } .s5 { color: #57cfd9; }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0.2em; } h2 { font-size: 1.15em; margin-top: 1.8em; } p, li { overflow-wrap: anywhere; }
.claim { font-size: 1.15em; border-left: 4px solid #0057b7; padding: 0.4em 0.8em; background: var(--claim); }
.claim.short { border-color: #d1600a; background: var(--short); }
table { display: block; max-width: 100%; overflow-x: auto; border-collapse: collapse; margin: 0.6em 0; }
th, td { padding: 0.2em 0.8em 0.2em 0; text-align: left; vertical-align: top; } tr { border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } th, td.n, td.r { white-space: nowrap; } th.n { white-space: normal; } tr.best { background: var(--claim); font-weight: 600; }
code { font: 0.92em ui-monospace, monospace; overflow-wrap: anywhere; } .note { color: var(--soft); font-size: 0.92em; }
.row { display: flex; flex-wrap: wrap; gap: 1.5em; } .row > * { min-width: 0; max-width: 100%; } .plot { max-width: 100%; height: auto; }
.plot .grid { stroke: var(--grid); } .plot .tick { font: 12px sans-serif; fill: var(--ink); } .plot .title { font: bold 14px sans-serif; fill: var(--ink); }
@media (max-width: 600px) { .plot .tick { font-size: 17px; } .plot .title { font-size: 19px; } }
@media print { body { margin: 0; font-size: 11px; } .plot, tr { break-inside: avoid; } table { display: table; } }
)";

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

std::string table_row(std::string_view name, std::string_view value) {
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape_markup(name), escape_markup(value));
}

std::string code_row(std::string_view name, std::string_view value) {
  return fmt::format("<tr><th>{}</th><td><code>{}</code></td></tr>\n", escape_markup(name), escape_markup(value));
}

std::string machine_rows(int threads) {
  const std::string name = processor();
  std::string out = table_row("date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr))));
  return out + table_row("ran on", fmt::format("{}{}{}", counted(threads, "thread"), name.empty() ? "" : ", ", name));
}

std::string warning_paragraphs(const std::vector<std::string>& warnings) {
  std::string out;
  for (const std::string& sentence : warnings) {
    out += fmt::format("<p class=\"claim short\">{}</p>\n", escape_markup(sentence));
  }
  return out;
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e6;
}

std::string page(std::string_view title, std::string_view body, const nlohmann::ordered_json& figures) {
  std::string json = figures.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // A browser looks for markup inside texts as well.
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}"
      "<script type=\"application/json\" id=\"topwolf\">{3}</script>\n</body>\n</html>\n",
      title, style, body, json);
}

}  // namespace topwolf
