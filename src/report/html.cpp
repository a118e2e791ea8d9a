#include "report/html.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/counted.hpp"
#include "core/fail.hpp"
#include "report/page.hpp"
#include "report/svg.hpp"
#include "topwolf/version.hpp"

namespace topwolf {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_list = 20;

std::string describe_spread(double least, double most, double median) {
  return fmt::format("{:.4g} to {:.4g}, median {:.4g}", least, most, median);
}

std::string rows_of_classes(const Assessment& assessment) {
  std::vector<double> rows;
  for (const ClassErrors& one : assessment.classes) rows.push_back(static_cast<double>(one.rows));
  std::sort(rows.begin(), rows.end());
  return describe_spread(rows.front(), rows.back(), rows[rows.size() / 2]);
}

std::string claim(const RunReport& report) {
  const auto [primal, dual] = report.result.certificate;
  return fmt::format(
      "<p class=\"claim{}\">The objective is <strong>{}</strong>{}: primal {:.8g}, dual {:.8g}, {}.</p>\n"
      "<p class=\"note\">Solver, chosen before the run by a guess of what it would take: {}.</p>\n",
      report.result.status == Status::converged ? "" : " short", escape_markup(report.certificate),
      condition_of(report.result.model.provenance.loss), primal, dual, escape_markup(report.status),
      escape_markup(report.result.choice));
}

std::string run_table(const RunReport& report) {
  const Provenance& made = report.result.model.provenance;
  std::string out = "<h2>The run</h2>\n<table>\n" + machine_rows(report.result.threads);
  out += code_row("command", made.command);
  out += table_row("topwolf", TOPWOLF_VERSION);
  out += table_row("loss", report.loss);
  out += table_row("C", fmt::format("{:g} (lambda = {:.6g})", report.result.C, made.lambda));
  out += table_row("seed", fmt::format("{}", report.seed));
  out += code_row("fingerprint of the data", made.data_hash);
  std::string times;
  for (const auto& [name, seconds] : report.seconds) times += fmt::format("{} {:.2f} s, ", name, seconds);
  out += table_row(
      "time", times + fmt::format("{}, {} row visits", counted(made.iterations, "pass"), report.result.row_visits));
  out += table_row("peak memory", fmt::format("{:.0f} MB", peak_megabytes()));
  return out + "</table>\n";
}

std::string data_table(const RunReport& report) {
  const Features& X = report.data.X;
  std::string out = "<h2>The data</h2>\n<table>\n";
  if (!report.source.empty()) out += code_row("data set", report.source);
  out += table_row("rows", fmt::format("{}", X.rows()));
  out += table_row("features",
                   fmt::format("{}, {} {}", X.cols(), X.sparse() ? "sparse" : "dense", to_string(X.precision())));
  out += table_row("classes", fmt::format("{}", report.data.classes.size()));
  out += table_row("rows of a class", rows_of_classes(report.training));
  const auto& [least, median, most] = report.result.row_lengths;
  out += table_row("lengths of the rows", describe_spread(least, most, median));
  if (report.data.normalization.kind != NormalizeKind::none) {
    out += table_row("normalised", to_string(report.data.normalization.kind));
  }
  if (report.held_out) {
    out += table_row("held out",
                     fmt::format("{}, {}", report.held_out->source, counted(report.held_out->assessment.rows, "row")));
  }
  return out + "</table>\n";
}

// With an interval: the rows were not trained on.
std::string held_out_cells(const Assessment& assessment, std::int64_t k) {
  const double error = assessment.error_at(k);
  const Interval interval = wilson_interval(error, assessment.rows);
  return fmt::format("<td class=\"n\">{:.2f} %</td><td class=\"n note\">{:.2f} to {:.2f}</td>", 100.0 * error,
                     100.0 * interval.low, 100.0 * interval.high);
}

std::string errors_table(const RunReport& report) {
  const std::int64_t m = report.data.classes.size();
  const bool held_out = report.held_out.has_value();
  const auto& y = held_out ? report.held_out->y : report.data.y;
  std::string out = "<h2>Errors</h2>\n<table>\n<tr><th></th><th class=\"n\">training</th>";
  if (held_out) out += "<th class=\"n\">held out</th><th class=\"n note\">95 %</th>";
  out += "<th class=\"n\">most frequent classes</th></tr>\n";
  for (const std::int64_t k : usual_places(m)) {
    out +=
        fmt::format("<tr><th>top-{}</th><td class=\"n\">{:.2f} %</td>{}<td class=\"n\">{:.2f} %</td></tr>\n", k,
                    100.0 * report.training.error_at(k), held_out ? held_out_cells(report.held_out->assessment, k) : "",
                    100.0 * majority_error(report.data.y, y, m, k));
  }
  return out +
         fmt::format(
             "</table>\n<p class=\"note\">The share of rows whose class is not among the k best{}; in the last "
             "column, the same {} rows if the k most frequent classes of the training rows are always named.</p>\n",
             held_out ? ", held out with Wilson's interval" : "", held_out ? "held-out" : "training");
}

std::string plots(const RunReport& report) {
  Plot gap("Duality gap", {"seconds"}, {"relative gap", Plot::Scale::log});
  Plot::Points gaps;
  for (const IterationRecord& record : report.trace) gaps.emplace_back(record.seconds, record.relative_gap);
  gap.add_line("gap", gaps);

  const auto curve = [](const Assessment& assessment) {
    Plot::Points points;
    for (std::size_t k = 1; k <= assessment.wrong_at.size(); ++k) {
      points.emplace_back(static_cast<double>(k), 100.0 * assessment.error_at(static_cast<std::int64_t>(k)));
    }
    return points;
  };
  Plot errors("Error at k", {"k", Plot::Scale::linear, false, true}, {"error, %", Plot::Scale::linear, true});
  errors.add_line("training", curve(report.training));
  if (report.held_out) errors.add_line("held out", curve(report.held_out->assessment));

  std::string by_pass;
  if (!report.held_out_trace.empty()) {
    Plot held_out("Held-out error after each pass", {"pass"}, {"error, %", Plot::Scale::linear, true});
    for (std::size_t a = 0; a < report.held_out_trace.front().ks.size(); ++a) {
      Plot::Points points;
      for (std::size_t t = 0; t < report.held_out_trace.size(); ++t)
        points.emplace_back(static_cast<double>(report.trace[t].iteration), 100.0 * report.held_out_trace[t].errors[a]);
      held_out.add_line(fmt::format("top-{}", report.held_out_trace.front().ks[a]), points);
    }
    by_pass = held_out.svg();
  }

  const Assessment& judged = report.held_out ? report.held_out->assessment : report.training;
  Plot::Points by_size;
  for (std::size_t j = 0; j < judged.classes.size(); ++j) {
    if (judged.classes[j].rows == 0) continue;
    by_size.emplace_back(
        static_cast<double>(report.training.classes[j].rows),
        100.0 * static_cast<double>(judged.classes[j].wrong) / static_cast<double>(judged.classes[j].rows));
  }
  Plot classes(report.held_out ? "Held-out error of a class" : "Training error of a class",
               {"training rows of the class"}, {"top-1 error, %", Plot::Scale::linear, true});
  classes.add_points("classes", by_size);
  return "<h2>Pictures</h2>\n<div class=\"row\">\n" + gap.svg() + by_pass + errors.svg() + classes.svg() + "</div>\n";
}

std::string class_row(const ClassErrors& one, const std::vector<std::string>& names) {
  const auto share = [](std::optional<double> value) { return value ? fmt::format("{:.1f} %", 100.0 * *value) : "-"; };
  return fmt::format(
      "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
      "class=\"n\">{}</td></tr>\n",
      escape_markup(names[static_cast<std::size_t>(one.label)]), one.rows, one.wrong, share(one.precision()),
      share(one.recall()));
}

std::string worst_classes(const Assessment& judged, const std::vector<std::string>& names) {
  std::vector<ClassErrors> classes = judged.classes;
  std::erase_if(classes, [](const ClassErrors& one) { return one.wrong == 0; });
  std::stable_sort(classes.begin(), classes.end(), [](const ClassErrors& a, const ClassErrors& b) {
    return static_cast<double>(a.wrong) * static_cast<double>(b.rows) >
           static_cast<double>(b.wrong) * static_cast<double>(a.rows);
  });
  classes.resize(std::min(classes.size(), longest_list));
  std::string out = "<div><h2>Worst classes</h2>\n";
  if (classes.empty()) return out + "<p>No row is wrong.</p></div>\n";
  out +=
      "<table>\n<tr><th>class</th><th class=\"n\">rows</th><th class=\"n\">wrong</th><th class=\"n\">precision</th>"
      "<th class=\"n\">recall</th></tr>\n";
  for (const ClassErrors& one : classes) out += class_row(one, names);
  return out + "</table></div>\n";
}

std::string confused_pairs(const Assessment& judged, const std::vector<std::string>& names) {
  std::string out = "<div><h2>Most confused</h2>\n";
  if (judged.confusions.empty()) return out + "<p>No class is taken for another.</p></div>\n";
  out += "<table>\n<tr><th>class</th><th>taken for</th><th class=\"n\">rows</th></tr>\n";
  for (std::size_t c = 0; c < std::min(judged.confusions.size(), longest_list); ++c) {
    const Confusion& one = judged.confusions[c];
    out += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>\n",
                       escape_markup(names[static_cast<std::size_t>(one.label)]),
                       escape_markup(names[static_cast<std::size_t>(one.said)]), one.rows);
  }
  return out + "</table></div>\n";
}

Json to_json(const Assessment& assessment) {
  Json classes = Json::array(), confusions = Json::array();
  for (const ClassErrors& one : assessment.classes) classes.push_back({one.label, one.rows, one.wrong, one.said});
  for (const Confusion& one : assessment.confusions) confusions.push_back({one.label, one.said, one.rows});
  return {
      {"rows", assessment.rows}, {"wrong_at", assessment.wrong_at}, {"classes", classes}, {"confusions", confusions}};
}

// The figures behind the page, for programs.
Json figures_of(const RunReport& report) {
  const Provenance& made = report.result.model.provenance;
  Json document = {{"version", TOPWOLF_VERSION},
                   {"command", made.command},
                   {"seed", report.seed},
                   {"data_hash", made.data_hash},
                   {"status", to_string(report.result.status)},
                   {"primal", report.result.certificate.primal},
                   {"dual", report.result.certificate.dual},
                   {"iterations", made.iterations},
                   {"row_visits", report.result.row_visits},
                   {"n", report.data.X.rows()},
                   {"d", report.data.X.cols()},
                   {"class_names", report.data.classes.names},
                   {"training", to_json(report.training)}};
  for (const auto& [name, seconds] : report.seconds) document["seconds"][name] = seconds;
  if (report.held_out) document["held_out"] = to_json(report.held_out->assessment);
  Json trace = Json::array();
  for (const IterationRecord& r : report.trace)
    trace.push_back({r.iteration, r.seconds, r.primal, r.dual, r.relative_gap});
  document["trace"] = trace;
  return document;
}

}  // namespace

std::string html_report(const RunReport& report) {
  const Assessment& judged = report.held_out ? report.held_out->assessment : report.training;
  const auto& names = report.data.classes.names;
  std::string out;
  out += warning_paragraphs(report.warnings) + claim(report) + errors_table(report) + plots(report);
  out += fmt::format(
      "<p class=\"note\">Classes and confusions below: {} rows. Precision: the share of the rows called so "
      "that are of the class; recall: of its rows that are called so.</p>\n",
      report.held_out ? "held-out" : "training");
  out += "<div class=\"row\">\n" + worst_classes(judged, names) + confused_pairs(judged, names) + "</div>\n";
  out += run_table(report) + data_table(report);
  return page("topwolf report", out, figures_of(report));
}

}  // namespace topwolf
