// topwolf inspect: what a model or a data file holds. Both readings come from one JSON document.
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "core/escape.hpp"
#include "data_options.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

Json describe_model(const Model& model) {
  Json document = Json::object();
  document["kind"] = "model";
  document["m"] = model.m();
  document["d"] = model.d;
  if (!model.columns.empty()) document["features_with_weights"] = model.columns.size();
  document["bias"] = model.bias;
  document["precision"] = to_string(model.precision);
  document["normalize"] = to_string(model.normalization.kind);
  document["index_base"] = model.index_base;
  document["label_type"] = to_string(model.classes.type);
  document["classes"] = model.classes.names;
  if (model.class_features.rows() > 0) document["class_features"] = model.class_features.cols();
  if (model.temperature > 0.0) document["probability_temperature"] = model.temperature;
  const Provenance& made = model.provenance;
  if (!made.claim) return document;
  add_loss(document, made.loss);
  document["cost_matrix"] = !made.loss.cost_matrix.empty();
  document["center"] = !made.mean.empty();
  document["lambda"] = made.lambda;
  document["weight_sum"] = made.weight_sum;
  document["solver"] = made.solver;
  document["iterations"] = made.iterations;
  document["status"] = topwolf::to_string(made.claim->status);
  add_certificate(document, made.claim->certificate);
  document["certificate"] = fmt::format("{}{}", certificate_sentence(made.claim->certificate), condition_of(made.loss));
  document["command"] = made.command;
  document["version"] = made.version;
  document["data_hash"] = made.data_hash;
  if (!made.search.empty()) document["search"] = Json::parse(made.search);
  return document;
}

Json describe_data(const RawDataset& raw) {
  const Features X(std::visit([](const auto& store) -> FeatureView { return store.view(); }, raw.X));
  const auto unlabelled = std::count(raw.label.begin(), raw.label.end(), -1);
  const ClassList classes = raw.spelling.empty() ? ClassList{} : collect_classes(raw);
  const auto stored = std::visit([](const auto& store) { return store.values.size(); }, raw.X);
  std::vector<std::int64_t> counts(classes.names.size());
  for (const auto j : map_labels(raw, classes))
    if (j >= 0) ++counts[static_cast<std::size_t>(j)];
  Json document = Json::object();
  document["kind"] = "data";
  document["n"] = X.rows();
  document["d"] = X.cols();
  document["storage"] = X.sparse() ? "sparse" : "dense";
  document["stored_values"] = stored;
  document["precision"] = to_string(X.precision());
  document["index_base"] = raw.index_base;
  document["unlabelled"] = unlabelled;
  document["m"] = classes.size();
  document["label_type"] = classes.names.empty() ? Json(nullptr) : Json(to_string(classes.type));
  document["classes"] = classes.names;
  document["rows_of_class"] = counts;
  return document;
}

// Lists are cut after a few entries; their whole content is in the JSON.
std::string to_text(const Json& value) {
  if (value.is_string()) return escape_field(value.get<std::string>());
  if (!value.is_array()) return value.is_null() ? "-" : value.dump();
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(value.size(), shown); ++i) text += (i > 0 ? ", " : "") + to_text(value[i]);
  return text + (value.size() > shown ? fmt::format(", ... ({} in all)", value.size()) : "");
}

}  // namespace

int run_inspect(const Arguments& arguments) {
  const std::string& path = arguments.required_positional(0);
  Json document = Json::object();
  if (is_model_file(path)) {
    document = describe_model(load_model(path));
  } else {
    document = describe_data(load_raw(load_options(arguments, path)));
  }
  std::string text;
  for (const auto& [key, value] : document.items()) text += fmt::format("{:<16} {}\n", key, to_text(value));
  print(arguments.has("json") ? dump(document) : text);
  return 0;
}

}  // namespace topwolf::cli
