#include "report/page.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include "report/svg.hpp"

namespace topwolf {
namespace {

constexpr const char* style = R"(
body { font: 15px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0.2em; } h2 { font-size: 1.15em; margin-top: 1.8em; }
.claim { font-size: 1.15em; border-left: 4px solid #0057b7; padding: 0.4em 0.8em; background: #f3f7fc; }
.claim.short { border-color: #d1600a; background: #fdf5ee; }
table { border-collapse: collapse; margin: 0.6em 0; } th, td { padding: 0.2em 0.8em 0.2em 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } tr { border-bottom: 1px solid #e4e4e4; }
code { font: 0.92em ui-monospace, monospace; overflow-wrap: anywhere; } .note { color: #555; font-size: 0.92em; }
.row { display: flex; flex-wrap: wrap; gap: 1.5em; } .plot { max-width: 100%; height: auto; }
.plot .grid { stroke: #ddd; } .plot .tick { font: 12px sans-serif; fill: #333; } .plot .title { font: bold 14px sans-serif; fill: #1a1a1a; }
@media print { body { margin: 0; font-size: 11px; } .plot, tr { break-inside: avoid; } }
)";

}  // namespace

std::string table_row(std::string_view name, std::string_view value) {
  return fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape_markup(name), escape_markup(value));
}

std::string code_row(std::string_view name, std::string_view value) {
  return fmt::format("<tr><th>{}</th><td><code>{}</code></td></tr>\n", escape_markup(name), escape_markup(value));
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
