#include "report/selection_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/counted.hpp"
#include "report/page.hpp"
#include "report/svg.hpp"
#include "topwolf/version.hpp"

namespace topwolf {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const std::string& text) {
  return fmt::format("<td class=\"n\">{}</td>", text);
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100.0 * share);
}

std::string run_table(const SelectionContext& context, const std::string& data_hash, double seconds) {
  const Features& X = context.data.X;
  std::string out = "<h2>The run</h2>\n<table>\n" + machine_rows(context.threads);
  if (!context.source.empty()) out += code_row("data set", context.source);
  out += code_row("command", context.command);
  out += table_row("topwolf", TOPWOLF_VERSION);
  out += table_row("seed", fmt::format("{}", context.seed));
  out += code_row("fingerprint of the data", data_hash);
  out += table_row("rows", fmt::format("{}", X.rows()));
  out += table_row("features",
                   fmt::format("{}, {} {}", X.cols(), X.sparse() ? "sparse" : "dense", to_string(X.precision())));
  out += table_row("classes", fmt::format("{}", context.data.classes.size()));
  if (!context.held_out.empty()) out += table_row("held out", context.held_out);
  out += table_row("time", fmt::format("{:.2f} s", seconds));
  out += table_row("peak memory", fmt::format("{:.0f} MB", peak_megabytes()));
  return out + "</table>\n";
}

Json run_figures(const SelectionContext& context, const std::string& data_hash, double seconds) {
  return {{"version", TOPWOLF_VERSION},       {"command", context.command}, {"seed", context.seed},
          {"data_hash", data_hash},           {"n", context.data.X.rows()}, {"d", context.data.X.cols()},
          {"m", context.data.classes.size()}, {"seconds", seconds},         {"warnings", context.warnings}};
}

const Plot::Axis C_axis{"C", Plot::Scale::log};
const Plot::Axis error_axis{"error, %", Plot::Scale::linear, true};

// ---- Sweep

std::string sweep_plots(const SweepResult& result, bool held_out) {
  Plot errors(held_out ? "Held-out error against C" : "Training error against C", C_axis, error_axis);
  for (std::size_t a = 0; a < result.places.size(); ++a) {
    Plot::Points points;
    for (const SweepPoint& point : result.points) {
      points.emplace_back(point.C, 100.0 * (held_out ? point.held_out_errors : point.training_errors)[a]);
    }
    errors.add_line(fmt::format("top-{}", result.places[a]), points);
  }
  Plot both("Top-1 error", C_axis, error_axis), work("Passes", C_axis, {"passes", Plot::Scale::linear, true});
  Plot::Points training, other, passes;
  for (const SweepPoint& point : result.points) {
    training.emplace_back(point.C, 100.0 * point.training_errors[0]);
    if (held_out) other.emplace_back(point.C, 100.0 * point.held_out_errors[0]);
    passes.emplace_back(point.C, static_cast<double>(point.iterations));
  }
  both.add_line("training", training);
  if (held_out) both.add_line("held out", other);
  work.add_line("passes", passes);
  return "<h2>Pictures</h2>\n<div class=\"row\">\n" + errors.svg() + (held_out ? both.svg() : "") + work.svg() +
         "</div>\n";
}

// The lowest held-out top-1 error, and the smallest C whose error is within one standard error of it: of a share of so
// many rows.
struct SweepChoice {
  std::size_t best = 0, within_one_se = 0;
  double standard_error = 0.0;
};

std::optional<SweepChoice> choice_of(const SweepResult& result, std::int64_t held_out_rows) {
  if (held_out_rows == 0 || result.points.empty()) return std::nullopt;
  SweepChoice choice;
  const auto error = [&](std::size_t p) { return result.points[p].held_out_errors[0]; };
  for (std::size_t p = 1; p < result.points.size(); ++p)
    if (error(p) < error(choice.best)) choice.best = p;
  const double least = error(choice.best);
  choice.standard_error = std::sqrt(least * (1.0 - least) / static_cast<double>(held_out_rows));
  while (error(choice.within_one_se) > least + choice.standard_error) ++choice.within_one_se;
  return choice;
}

std::string choice_paragraph(const SweepResult& result, const std::optional<SweepChoice>& choice) {
  if (!choice) return "";
  const SweepPoint &best = result.points[choice->best], &simple = result.points[choice->within_one_se];
  return fmt::format(
      "<p>Lowest held-out top-1 error: <strong>{} at C = {:g}</strong>, with a standard error of {}. The smallest C "
      "within "
      "one standard error of it: {:g}, with {}.</p>\n",
      percent(best.held_out_errors[0]), best.C, percent(choice->standard_error), simple.C,
      percent(simple.held_out_errors[0]));
}

std::string sweep_table(const SweepResult& result, bool held_out, const std::optional<SweepChoice>& choice) {
  std::string out =
      "<h2>Points</h2>\n<table>\n<tr><th class=\"n\">C</th><th class=\"n\">lambda</th><th class=\"n\">primal</th>"
      "<th class=\"n\">relative gap</th><th class=\"n\">passes</th><th class=\"n\">seconds</th>";
  for (const std::int64_t k : result.places) out += fmt::format("<th class=\"n\">training top-{}</th>", k);
  if (held_out) {
    for (const std::int64_t k : result.places) out += fmt::format("<th class=\"n\">held-out top-{}</th>", k);
  }
  out += "<th>status</th></tr>\n";
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    const SweepPoint& point = result.points[p];
    std::string remark(to_string(point.status));
    if (choice && p == choice->best) remark += ", best";
    if (choice && p == choice->within_one_se) remark += ", within one standard error";
    out += choice && p == choice->best ? "<tr class=\"best\">" : "<tr>";
    out += cell(fmt::format("{:g}", point.C)) + cell(fmt::format("{:.4g}", point.lambda)) +
           cell(fmt::format("{:.6g}", point.certificate.primal)) +
           cell(fmt::format("{:.1e}", point.certificate.relative_gap())) + cell(fmt::format("{}", point.iterations)) +
           cell(fmt::format("{:.2f}", point.seconds));
    for (const double error : point.training_errors) out += cell(percent(error));
    for (const double error : point.held_out_errors) out += cell(percent(error));
    out += fmt::format("<td class=\"r\">{}</td></tr>\n", remark);
  }
  return out + "</table>\n";
}

// ---- Cross-validation

std::string cv_plots(const CvResult& result, const Metric& metric) {
  Plot errors("Held-out " + to_string(metric) + (metric.costs() ? "" : " error") + " against C", C_axis,
              {metric.costs() ? to_string(metric) : "error, %", Plot::Scale::linear, true});
  const double unit = metric.costs() ? 1.0 : 100.0;
  for (std::size_t from = 0; from < result.points.size();) {
    const std::string loss = to_string(result.points[from].loss);
    Plot::Points points;
    std::vector<double> reach;
    for (; from < result.points.size() && to_string(result.points[from].loss) == loss; ++from) {
      if (result.points[from].tried < 2) continue;
      points.emplace_back(result.points[from].C, unit * result.points[from].mean);
      reach.push_back(unit * result.points[from].standard_error);
    }
    if (!points.empty()) errors.add_bars(loss, points, reach);
  }
  return "<h2>Picture</h2>\n<div class=\"row\">\n" + errors.svg() +
         "</div>\n<p class=\"note\">Bars reach one standard error up and down.</p>\n";
}

std::string largest_gap(const CvPoint& point) {
  double largest = 0.0;
  for (const double gap : point.relative_gaps) largest = std::max(largest, std::isnan(gap) ? 0.0 : gap);
  return point.tried == 0 ? "-" : fmt::format("{:.1e}", largest);
}

std::string cv_table(const CvResult& result, const Metric& metric) {
  std::string out =
      "<h2>Points</h2>\n<table>\n<tr><th>loss</th><th class=\"n\">C</th><th class=\"n\">mean</th>"
      "<th class=\"n\">standard error</th><th class=\"n\">largest relative gap</th>";
  const std::size_t folds = result.points.empty() ? 0 : result.points.front().errors.size();
  for (std::size_t f = 0; f < folds; ++f) out += fmt::format("<th class=\"n\">fold {}</th>", f + 1);
  out += "<th></th></tr>\n";
  const auto shown = [&](double error) {
    if (std::isnan(error)) return std::string("-");
    return metric.costs() ? fmt::format("{:.5g}", error) : percent(error);
  };
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    const CvPoint& point = result.points[p];
    out += fmt::format("<tr{}><td>{}</td>", result.fits > 0 && p == result.chosen ? " class=\"best\"" : "",
                       escape_markup(to_string(point.loss))) +
           cell(fmt::format("{:g}", point.C)) + cell(shown(point.mean)) + cell(shown(point.standard_error)) +
           cell(largest_gap(point));
    for (const double error : point.errors) out += cell(shown(error));
    out += fmt::format("<td class=\"r\">{}</td></tr>\n", fmt::join(remarks_on(result, p), ", "));
  }
  return out + "</table>\n";
}

}  // namespace

std::vector<std::string> remarks_on(const CvResult& result, std::size_t point) {
  const CvPoint& at = result.points[point];
  std::vector<std::string> remarks;
  if (result.fits > 0 && point == result.chosen) {
    remarks.emplace_back("chosen");
  } else if (result.fits > 0 && point == result.best) {
    remarks.emplace_back("best");
  }
  if (at.tried == 0) {
    remarks.emplace_back(at.dropped ? "dropped" : "not tried");
  } else if (at.tried < at.errors.size()) {
    remarks.push_back(
        fmt::format("{}{} of {}", at.dropped ? "dropped after " : "", at.tried, counted(at.errors.size(), "fold")));
  }
  return remarks;
}

std::string choice_sentence(const CvResult& result) {
  const std::size_t folds = result.points.front().errors.size();
  std::size_t most = folds;
  for (const CvPoint& point : result.points) most = point.competes ? std::min(most, point.tried) : most;
  const auto rivals =
      std::count_if(result.points.begin(), result.points.end(), [](const CvPoint& point) { return point.competes; });
  return fmt::format("points that were tried on {} folds, and so could be chosen: {} of {}",
                     most == folds ? fmt::format("all {}", folds) : fmt::format("{} of {}", most, folds), rivals,
                     result.points.size());
}

namespace {

// What the claims of a sweep and of a probe have in common, under them.
std::string path_page(const char* title, std::string body, const SelectionContext& context, const SweepResult& result,
                      const std::string& loss, const std::string& data_hash, Json figures) {
  const bool held_out = !context.held_out.empty();
  const auto converged = std::count_if(result.points.begin(), result.points.end(),
                                       [](const SweepPoint& point) { return point.status == Status::converged; });
  body += fmt::format("<p class=\"claim{}\">{} of {} points are certified to the tolerance asked for. Loss: {}.</p>\n",
                      converged == static_cast<std::ptrdiff_t>(result.points.size()) ? "" : " short", converged,
                      result.points.size(), escape_markup(loss));
  body += fmt::format("<p class=\"note\">Solver, chosen before the run by a guess of what it would take: {}.</p>\n",
                      escape_markup(result.choice));
  const std::optional<SweepChoice> choice = choice_of(result, context.held_out_rows);
  body += choice_paragraph(result, choice) + sweep_plots(result, held_out) + sweep_table(result, held_out, choice) +
          run_table(context, data_hash, result.seconds);
  figures["loss"] = loss;
  figures["places"] = result.places;
  figures["not_tried"] = result.not_tried;
  for (const SweepPoint& point : result.points) {
    figures["points"].push_back({{"C", point.C},
                                 {"primal", point.certificate.primal},
                                 {"dual", point.certificate.dual},
                                 {"iterations", point.iterations},
                                 {"seconds", point.seconds},
                                 {"training_errors", point.training_errors},
                                 {"held_out_errors", point.held_out_errors}});
  }
  return page(title, body, figures);
}

}  // namespace

std::string gap_sentence(const Certificate& certificate) {
  constexpr double up = 1.05;  // two digits round down by a twentieth of the first one at most
  return fmt::format("certified to a relative gap of at most {:.1e}", up * certificate.relative_gap());
}

std::string sweep_report(const SelectionContext& context, const SweepResult& result, const std::string& loss,
                         const std::string& data_hash) {
  return path_page("topwolf sweep", warning_paragraphs(context.warnings), context, result, loss, data_hash,
                   run_figures(context, data_hash, result.seconds));
}

std::string probe_report(const SelectionContext& context, const ProbeResult& result, const Metric& metric,
                         const std::string& loss) {
  const std::string& data_hash = result.fit.model.provenance.data_hash;
  const double C = result.path.points[result.best].C, error = result.errors[result.best];
  std::string body = warning_paragraphs(context.warnings);
  body +=
      fmt::format("<p class=\"claim\">Chosen: <strong>C = {:g}</strong>, held-out {} {}. {}: {}.</p>\n", C,
                  escape_markup(to_string(metric)), percent(error),
                  result.refitted ? "Trained again on all rows" : "The model", gap_sentence(result.fit.certificate));
  Json figures = run_figures(context, data_hash, result.seconds);
  figures["metric"] = to_string(metric);
  figures["errors"] = result.errors;
  figures["best"] = result.best;
  figures["refitted"] = result.refitted;
  return path_page("topwolf probe", body, context, result.path, loss, data_hash, figures);
}

std::string cv_report(const SelectionContext& context, const CvResult& result, const Metric& metric,
                      const std::string& rule, const std::string& certificate) {
  const CvPoint& chosen = result.points[result.chosen];
  std::string body = warning_paragraphs(context.warnings);
  body += fmt::format("<p class=\"claim\">Chosen ({}): <strong>{} at C = {:g}</strong>.", escape_markup(rule),
                      escape_markup(to_string(chosen.loss)), chosen.C);
  if (!certificate.empty()) body += fmt::format(" Trained on all rows: {}.", escape_markup(certificate));
  body += "</p>\n" + cv_plots(result, metric) + cv_table(result, metric);
  const std::string data_hash = result.refitted ? result.refitted->model.provenance.data_hash : "";
  body += run_table(context, data_hash, result.seconds);
  Json figures = run_figures(context, data_hash, result.seconds);
  figures["metric"] = to_string(metric);
  for (const CvPoint& point : result.points) {
    figures["points"].push_back({{"loss", to_string(point.loss)},
                                 {"C", point.C},
                                 {"mean", point.mean},
                                 {"standard_error", point.standard_error},
                                 {"errors", point.errors},
                                 {"dropped", point.dropped},
                                 {"relative_gaps", point.relative_gaps}});
  }
  figures["complete"] = result.complete;
  figures["best"] = result.best;
  figures["chosen"] = result.chosen;
  return page("topwolf cross-validation", body, figures);
}

}  // namespace topwolf
