#include "plan.hpp"

#include <fmt/format.h>

#include "core/counted.hpp"
#include "selection.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "training.hpp"

namespace topwolf::cli {
namespace {

constexpr int too_little_memory = 6;

Json to_json(const Dataset& data, const Plan& plan) {
  Json document;
  add_data(document, data);
  document["storage"] = plan.sparse ? "sparse" : "dense";
  document["stored_values"] = plan.stored;
  document["features_with_weights"] = plan.features;
  document["solver"] = plan.solver;
  document["choice"] = plan.choice;
  document["fits"] = plan.fits;
  document["workers"] = plan.workers;
  document["threads"] = plan.threads;
  document["data_bytes"] = plan.data_bytes;
  document["training_bytes"] = plan.training_bytes;
  document["available_bytes"] = plan.available_bytes;
  document["available_by"] = plan.bound;
  document["enough_memory"] = plan.remedy.empty();
  document["remedy"] = plan.remedy.empty() ? Json(nullptr) : Json(plan.remedy.with(option_for));
  document["passes_guessed"] = plan.passes;
  document["seconds_guessed"] = plan.seconds;
  document["version"] = TOPWOLF_VERSION;
  return document;
}

std::string megabytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9);
}

std::string to_text(const Dataset& data, const Plan& plan) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<10} {}\n", name, value);
  };
  const std::string kept =
      plan.features < data.X.cols() ? fmt::format(" (weights for {} that occur)", plan.features) : "";
  line("data", fmt::format("{}, {}{}, {}; {}, {}, {}", counted(data.X.rows(), "row"), counted(data.X.cols(), "feature"),
                           kept, counted(data.classes.size(), "class"), plan.sparse ? "sparse" : "dense",
                           counted(plan.stored, "value"), megabytes(plan.data_bytes)));
  line("method", plan.choice);
  if (plan.fits > 1) line("fits", fmt::format("{}, {} at the same time", plan.fits, plan.workers));
  line("memory", fmt::format("training takes about {} more at its peak; {} leaves {}", megabytes(plan.training_bytes),
                             plan.bound, megabytes(plan.available_bytes)));
  if (!plan.remedy.empty()) line("", fmt::format("that is too little; {}", plan.remedy.with(option_for)));
  line("time", fmt::format("{:.0f} passes{}, {}: a guess, for how hard a problem is shows only when it is solved",
                           plan.passes, plan.fits > 1 ? " a fit" : "", describe_seconds(plan.seconds)));
  return text;
}

}  // namespace

int print_plan(const Arguments& arguments, const Dataset& data, const Plan& plan) {
  print(arguments.has("json") ? dump(to_json(data, plan)) : to_text(data, plan));
  return plan.remedy.empty() ? 0 : too_little_memory;
}

}  // namespace topwolf::cli
