// topwolf compare: several models on the same labelled rows, as a table, as JSON and as a page.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "commands.hpp"
#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data_options.hpp"
#include "report/comparison.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

constexpr std::int64_t widest = 20;

Model load_contender(const std::string& path, const LoadOptions& options, const ClassList& classes) {
  if (!is_coefficient_file(path)) return load_model(path);
  const RawDataset raw = load_raw(options);
  const std::int64_t d = std::visit([](const auto& X) { return X.cols; }, raw.X);
  return load_coefficients(path, d, classes, options.max_unpacked);
}

std::string about(const Model& model) {
  const Provenance& made = model.provenance;
  if (!made.claim) return "no certificate: not trained by topwolf";
  return describe_problem(made) + ": " + certificate_sentence(made.claim->certificate);
}

// The numbers of a model's classes among those of the comparison, which get those that are new.
std::vector<std::int32_t> numbers_of(const Model& model, const RawDataset& raw, Comparison& comparison) {
  std::map<std::string, std::int32_t> known;
  for (std::size_t j = 0; j < comparison.classes.size(); ++j)
    known.emplace(comparison.classes[j], static_cast<std::int32_t>(j));
  std::vector<std::int32_t> numbers(model.classes.names.size(), -1);
  const std::vector<std::int32_t> y = map_labels(raw, model.classes);
  for (std::size_t i = 0; i < y.size(); ++i)
    if (y[i] >= 0) numbers[static_cast<std::size_t>(y[i])] = comparison.y[i];
  for (std::size_t j = 0; j < numbers.size(); ++j) {
    if (numbers[j] >= 0) continue;
    const auto next = static_cast<std::int32_t>(comparison.classes.size());
    const auto [found, added] = known.emplace(model.classes.names[j], next);
    if (added) comparison.classes.push_back(model.classes.names[j]);
    numbers[j] = found->second;
  }
  return numbers;
}

void add_contender(Comparison& comparison, const std::string& path, const LoadOptions& options, Warnings& warnings) {
  const Model model = load_contender(path, options, {LabelType::text, comparison.classes});
  RawDataset raw = load_rows_for(model, options, {}, warnings.teller());
  const std::vector<std::int32_t> numbers = numbers_of(model, raw, comparison);
  const Features X(std::move(raw.X));
  Contender one{path, about(model), model.m(), std::min(widest, model.m()), {}};
  one.best = Predictor(model, Rows::normalized, options.threads).top_k(X, one.K, options.threads).classes;
  for (std::int32_t& number : one.best) number = numbers[static_cast<std::size_t>(number)];
  comparison.contenders.push_back(std::move(one));
}

std::string to_text(const Comparison& comparison) {
  std::string text = fmt::format("{:<8}", "");
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) text += fmt::format("{:>10}", c + 1);
  text += "\n";
  for (const std::int64_t k : comparison.places) {
    text += fmt::format("{:<8}", fmt::format("top-{}", k));
    for (std::size_t c = 0; c < comparison.contenders.size(); ++c)
      text += fmt::format("{:>8.2f} %", 100.0 * comparison.error(c, k));
    text += "\n";
  }
  text += "\n";
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
    text += fmt::format("{}: {}", c + 1, comparison.contenders[c].name);
    if (c > 0) {
      const PairedDifference found = paired_difference(comparison, 0, c, 1);
      text += fmt::format("; top-1 error less that of 1: {:+.2f} % ({:+.2f} to {:+.2f} with 95 %)",
                          100.0 * found.difference, 100.0 * found.low, 100.0 * found.high);
    }
    text += "\n";
  }
  return text;
}

Json to_json(const Comparison& comparison, const Warnings& warnings) {
  Json document = Json::object();
  document["n"] = comparison.y.size();
  document["models"] = Json::array();
  for (std::size_t c = 0; c < comparison.contenders.size(); ++c) {
    const Contender& one = comparison.contenders[c];
    Json model{{"name", one.name}, {"m", one.m}, {"alone_right", rows_alone_right(comparison, c)}};
    for (const std::int64_t k : comparison.places) model[fmt::format("top{}_error", k)] = comparison.error(c, k);
    document["models"].push_back(std::move(model));
  }
  document["differences"] = Json::array();
  for (std::size_t a = 0; a < comparison.contenders.size(); ++a) {
    for (std::size_t b = a + 1; b < comparison.contenders.size(); ++b) {
      for (const std::int64_t k : comparison.places) {
        const PairedDifference found = paired_difference(comparison, a, b, k);
        document["differences"].push_back({{"first", a},
                                           {"second", b},
                                           {"k", k},
                                           {"difference", found.difference},
                                           {"low", found.low},
                                           {"high", found.high},
                                           {"only_first_right", found.only_a},
                                           {"only_second_right", found.only_b}});
      }
    }
  }
  document["version"] = TOPWOLF_VERSION;
  document["warnings"] = warnings.sentences();
  return document;
}

}  // namespace

int run_compare(const Arguments& arguments) {
  const std::vector<std::string>& files = arguments.positionals();
  const std::vector<std::string> models(files.begin(), files.end() - 1);
  const std::string& path = files.back();
  if (path == "-")
    fail(ErrorKind::option,
         "compare reads DATA once for every model, which standard input does not allow; give a file");
  std::vector<std::string> inputs = files;
  inputs.push_back(arguments.text("labels"));
  if (arguments.has("report")) check_output(arguments, arguments.text("report"), inputs);
  const LoadOptions options = load_options(arguments, path);
  Warnings warnings;
  Comparison comparison;
  {
    const RawDataset raw = load_raw(options);
    const ClassList classes = collect_classes(raw);
    comparison.classes = classes.names;
    comparison.y = map_labels(raw, classes);
  }
  if (comparison.y.empty() || *std::min_element(comparison.y.begin(), comparison.y.end()) < 0)
    fail(ErrorKind::data, "{}: every row must have a label to be compared by", path);
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const std::string& model : models) {
    add_contender(comparison, model, options, warnings);
    fewest = std::min(fewest, comparison.contenders.back().m);
  }
  comparison.source = path;
  comparison.places = usual_places(fewest);
  comparison.warnings = warnings.sentences();
  comparison.command = arguments.command_line();
  comparison.threads = resolve_threads(options.threads);
  print(arguments.has("json") ? dump(to_json(comparison, warnings)) : to_text(comparison));
  finish_output();
  if (arguments.has("report")) write_text(arguments.text("report"), comparison_page(comparison));
  return 0;
}

}  // namespace topwolf::cli
