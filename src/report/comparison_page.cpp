// The page of a comparison. Models are named in full once and by their letters after that.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/counted.hpp"
#include "report/comparison.hpp"
#include "report/page.hpp"
#include "report/svg.hpp"
#include "topwolf/version.hpp"

namespace topwolf {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_shown = 20;

std::string in_percent(double share) {
  return fmt::format("{:.2f} %", 100.0 * share);
}

std::string letter(std::size_t contender) {
  return contender < 26 ? std::string(1, static_cast<char>('A' + contender)) : fmt::format("M{}", contender + 1);
}

std::string number_cell(const std::string& text) {
  return fmt::format("<td class=\"n\">{}</td>", text);
}

std::string letter_heads(const Comparison& comparison) {
  std::string out;
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c)
    out += fmt::format("<th class=\"n\">{}</th>", letter(c));
  return out;
}

std::string name_of(const Comparison& comparison, std::int32_t number) {
  return number < 0 ? "?" : escape_markup(comparison.classes[static_cast<std::size_t>(number)]);
}

std::string models_table(const Comparison& comparison) {
  std::string out = "<table>\n";
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
    const Contender& one = comparison.contenders[c];
    out += fmt::format(
        "<tr><th class=\"s{}\">{}</th><td class=\"r\"><code>{}</code></td><td class=\"r\">{}</td><td>{}</td></tr>\n",
        c % 6, letter(c), escape_markup(one.name), counted(one.m, "class"), escape_markup(one.about));
  }
  return out + "</table>\n";
}

std::string errors_table(const Comparison& comparison) {
  const auto n = static_cast<std::int64_t>(comparison.y.size());
  std::string out = "<h2>Errors</h2>\n<table>\n<tr><th></th>";
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c)
    out += fmt::format("<th class=\"n\">{}</th><th class=\"n note\">95 %</th>", letter(c));
  out += "</tr>\n";
  for (const std::int64_t k : comparison.places) {
    out += fmt::format("<tr><th>top-{}</th>", k);
    for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
      const double error = comparison.error(c, k);
      const Interval interval = wilson_interval(error, n);
      out += number_cell(in_percent(error)) +
             fmt::format("<td class=\"n note\">{:.2f} to {:.2f}</td>", 100.0 * interval.low, 100.0 * interval.high);
    }
    out += "</tr>\n";
  }
  return out + fmt::format(
                   "</table>\n<p class=\"note\">The share of {} whose class is not among the k best, each with "
                   "Wilson's interval. Whether two models differ is below: they saw the same rows.</p>\n",
                   counted(n, "row"));
}

std::string differences_table(const Comparison& comparison) {
  if (comparison.contenders.size() < 2) return "";
  std::string out =
      "<h2>Where they differ</h2>\n<table>\n<tr><th></th><th></th><th class=\"n\">difference</th>"
      "<th class=\"n note\">95 %</th><th class=\"n\">only the first is right</th>"
      "<th class=\"n\">only the second is right</th><th></th></tr>\n";
  for (std::size_t a = 0; a < comparison.contenders.size(); ++a) {
    for (std::size_t b = a + 1; b < comparison.contenders.size(); ++b) {
      for (const std::int64_t k : comparison.places) {
        const PairedDifference found = paired_difference(comparison, a, b, k);
        const bool told_apart = found.low > 0.0 || found.high < 0.0;
        out += fmt::format(
            "<tr><th>{} &rarr; {}</th><td class=\"r\">top-{}</td><td class=\"n\">{:+.2f}</td><td class=\"n "
            "note\">{:+.2f} to "
            "{:+.2f}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"r\">{}</td></tr>\n",
            letter(a), letter(b), k, 100.0 * found.difference, 100.0 * found.low, 100.0 * found.high, found.only_a,
            found.only_b, told_apart ? fmt::format("{} is better", letter(found.low > 0.0 ? a : b)) : "");
      }
    }
  }
  return out +
         "</table>\n<p class=\"note\">The error of the second less that of the first, in per cent of the rows, with "
         "Agresti and Min's paired interval. Each interval is for itself: of twenty, one misses on average.</p>\n";
}

std::string plot(const Comparison& comparison) {
  Plot errors("Error at k", {"k", Plot::Scale::linear, false, true}, {"error, %", Plot::Scale::linear, true});
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
    const Contender& one = comparison.contenders[c];
    Plot::Points points;
    for (std::int64_t k = 1; k <= std::min(one.K, std::max<std::int64_t>(1, one.m - 1)); ++k)
      points.emplace_back(static_cast<double>(k), 100.0 * comparison.error(c, k));
    errors.add_line(letter(c), points);
  }
  return "<h2>Picture</h2>\n<div class=\"row\">\n" + errors.svg() + "</div>\n";
}

struct ClassRow {
  std::int32_t label;
  std::int64_t rows = 0;
  std::vector<std::int64_t> right{};

  std::int64_t spread() const {
    const auto [least, most] = std::minmax_element(right.begin(), right.end());
    return *most - *least;
  }
};

// Of the classes that have rows.
std::vector<ClassRow> by_class(const Comparison& comparison) {
  std::map<std::int32_t, ClassRow> found;
  for (std::size_t i = 0; i < comparison.y.size(); ++i) {
    ClassRow& row = found.try_emplace(comparison.y[i], ClassRow{comparison.y[i]}).first->second;
    row.right.resize(comparison.contenders.size(), 0);
    ++row.rows;
    for (std::size_t c = 0; c < comparison.contenders.size(); ++c)
      row.right[c] += comparison.contenders[c].right(static_cast<std::int64_t>(i), comparison.y[i], 1) ? 1 : 0;
  }
  std::vector<ClassRow> rows;
  for (auto& [label, row] : found) rows.push_back(std::move(row));
  return rows;
}

// Thirds of the classes, by how many rows they have here.
std::string groups_table(const Comparison& comparison, std::vector<ClassRow> classes) {
  if (classes.size() < 3) return "";
  std::stable_sort(classes.begin(), classes.end(), [](auto& a, auto& b) { return a.rows < b.rows; });
  std::string out = "<div><h2>By the size of the class</h2>\n<table>\n<tr><th></th><th class=\"n\">classes</th>" +
                    std::string("<th class=\"n\">rows of a class</th>") + letter_heads(comparison) + "</tr>\n";
  constexpr const char* names[] = {"rarest third", "middle third", "most frequent third"};
  for (std::size_t third = 0; third < 3; ++third) {
    const std::size_t begin = third * classes.size() / 3, end = (third + 1) * classes.size() / 3;
    std::int64_t rows = 0;
    std::vector<std::int64_t> right(comparison.contenders.size(), 0);
    for (std::size_t j = begin; j < end; ++j) {
      rows += classes[j].rows;
      for (std::size_t c = 0; c < right.size(); ++c) right[c] += classes[j].right[c];
    }
    out += fmt::format("<tr><th>{}</th>", names[third]) + number_cell(fmt::format("{}", end - begin)) +
           number_cell(fmt::format("{} to {}", classes[begin].rows, classes[end - 1].rows));
    for (const std::int64_t hits : right)
      out += number_cell(in_percent(1.0 - static_cast<double>(hits) / static_cast<double>(rows)));
    out += "</tr>\n";
  }
  return out + "</table>\n<p class=\"note\">Top-1 errors.</p></div>\n";
}

std::string classes_table(const Comparison& comparison, std::vector<ClassRow> classes) {
  if (comparison.contenders.size() < 2) return "";
  std::stable_sort(classes.begin(), classes.end(), [](auto& a, auto& b) { return a.spread() > b.spread(); });
  std::erase_if(classes, [](auto& row) { return row.spread() == 0; });
  classes.resize(std::min(classes.size(), most_shown));
  std::string out = "<div><h2>Classes that tell them apart</h2>\n";
  if (classes.empty()) return out + "<p>None: of every class all models find as many rows.</p></div>\n";
  out += "<table>\n<tr><th>class</th><th class=\"n\">rows</th>" + letter_heads(comparison) + "</tr>\n";
  for (const ClassRow& row : classes) {
    out += fmt::format("<tr><td>{}</td>", name_of(comparison, row.label)) + number_cell(fmt::format("{}", row.rows));
    for (const std::int64_t right : row.right) out += number_cell(fmt::format("{}", right));
    out += "</tr>\n";
  }
  return out + "</table>\n<p class=\"note\">Rows of the class that are called so.</p></div>\n";
}

std::string confusions_table(const Comparison& comparison) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::int64_t>> found;
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
    const Contender& one = comparison.contenders[c];
    for (std::size_t i = 0; i < comparison.y.size(); ++i) {
      const std::int32_t said = one.best[i * static_cast<std::size_t>(one.K)];
      if (said == comparison.y[i]) continue;
      auto& counts = found[{comparison.y[i], said}];
      counts.resize(comparison.contenders.size(), 0);
      ++counts[c];
    }
  }
  using Pair = std::pair<std::pair<std::int32_t, std::int32_t>, std::vector<std::int64_t>>;
  std::vector<Pair> pairs(found.begin(), found.end());
  const auto total = [](const Pair& pair) { return std::accumulate(pair.second.begin(), pair.second.end(), 0L); };
  std::stable_sort(pairs.begin(), pairs.end(), [&](auto& a, auto& b) { return total(a) > total(b); });
  pairs.resize(std::min(pairs.size(), most_shown));
  std::string out = "<div><h2>Most confused</h2>\n";
  if (pairs.empty()) return out + "<p>No class is taken for another.</p></div>\n";
  out += "<table>\n<tr><th>class</th><th>taken for</th>" + letter_heads(comparison) + "</tr>\n";
  for (const auto& [pair, counts] : pairs) {
    out += fmt::format("<tr><td>{}</td><td>{}</td>", name_of(comparison, pair.first), name_of(comparison, pair.second));
    for (const std::int64_t rows : counts) out += number_cell(fmt::format("{}", rows));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string examples_table(const Comparison& comparison) {
  if (comparison.contenders.size() < 2) return "";
  std::string out = "<h2>Rows that one alone gets right</h2>\n";
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
    const std::vector<std::int64_t> rows = rows_alone_right(comparison, c);
    out += fmt::format("<h3>{} alone: {}</h3>\n", letter(c), counted(rows.size(), "row"));
    if (rows.empty()) continue;
    out += "<table>\n<tr><th class=\"n\">row</th><th>class</th>";
    for (std::size_t other = 0; other < comparison.contenders.size(); ++other)
      if (other != c) out += fmt::format("<th>{} says</th>", letter(other));
    out += "</tr>\n";
    for (std::size_t r = 0; r < std::min(rows.size(), most_shown); ++r) {
      const std::int64_t i = rows[r];
      out += "<tr>" + number_cell(fmt::format("{}", i + 1)) +
             fmt::format("<td>{}</td>", name_of(comparison, comparison.y[static_cast<std::size_t>(i)]));
      for (std::size_t other = 0; other < comparison.contenders.size(); ++other) {
        const Contender& one = comparison.contenders[other];
        if (other != c)
          out += fmt::format("<td>{}</td>", name_of(comparison, one.best[static_cast<std::size_t>(i * one.K)]));
      }
      out += "</tr>\n";
    }
    out += "</table>\n";
  }
  return out +
         fmt::format("<p class=\"note\">Rows are counted from 1; at most {} of a model are shown.</p>\n", most_shown);
}

Json figures_of(const Comparison& comparison) {
  Json document = {{"version", TOPWOLF_VERSION},
                   {"command", comparison.command},
                   {"data", comparison.source},
                   {"rows", comparison.y.size()},
                   {"places", comparison.places}};
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
    Json errors = Json::array();
    for (const std::int64_t k : comparison.places) errors.push_back(comparison.error(c, k));
    document["models"].push_back(
        {{"name", comparison.contenders[c].name}, {"about", comparison.contenders[c].about}, {"errors", errors}});
  }
  return document;
}

}  // namespace

std::string comparison_page(const Comparison& comparison) {
  const std::vector<ClassRow> classes = by_class(comparison);
  std::string body = warning_paragraphs(comparison.warnings) + models_table(comparison) + errors_table(comparison) +
                     differences_table(comparison) + plot(comparison);
  body += "<div class=\"row\">\n" + groups_table(comparison, classes) + classes_table(comparison, classes) +
          confusions_table(comparison) + "</div>\n" + examples_table(comparison);
  body += "<h2>The run</h2>\n<table>\n" + machine_rows(comparison.threads);
  if (!comparison.command.empty()) body += code_row("command", comparison.command);
  body += table_row("topwolf", TOPWOLF_VERSION) + code_row("data set", comparison.source) +
          table_row("rows", fmt::format("{}", comparison.y.size())) + "</table>\n";
  return page(comparison.contenders.size() == 1 ? "topwolf evaluation" : "topwolf comparison", body,
              figures_of(comparison));
}

}  // namespace topwolf
