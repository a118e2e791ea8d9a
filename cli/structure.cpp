#include "structure.hpp"

#include <utility>

#include "core/fail.hpp"
#include "data_options.hpp"
#include "topwolf/structure.hpp"

namespace topwolf::cli {

void check_structure(const Arguments& arguments) {
  const char* costs = nullptr;
  for (const char* key : {"cost-matrix", "margins", "taxonomy"}) {
    if (!arguments.has(key)) continue;
    if (costs) fail(ErrorKind::option, "--{} and --{} both say what errors cost; give one of them", costs, key);
    costs = key;
  }
  if (arguments.has("taxonomy-costs-only") && !arguments.has("taxonomy"))
    fail(ErrorKind::option, "--taxonomy-costs-only is about --taxonomy, which is not given");
  if (arguments.has("taxonomy") && arguments.has("class-features") && !arguments.has("taxonomy-costs-only"))
    fail(ErrorKind::option,
         "--taxonomy and --class-features both give features to the classes; add --taxonomy-costs-only, or give one");
  if (arguments.has("margin-default") && !arguments.has("margins"))
    fail(ErrorKind::option, "--margin-default is about --margins, which is not given");
  if (const auto other = arguments.real("margin-default"); other && *other < 0.0)
    fail(ErrorKind::option, "--margin-default is {}; it must be at least 0", *other);
}

std::vector<double> apply_structure(const Arguments& arguments, Dataset& data) {
  data.margins = margins_of(arguments, data.X.rows(), data.classes.size());
  if (arguments.has("class-features"))
    data.class_features = load_class_features(arguments.text("class-features"), data.classes, index_base_of(arguments),
                                              arguments.bytes("max-unpacked"));
  if (arguments.has("taxonomy")) {
    Taxonomy taxonomy = load_taxonomy(arguments.text("taxonomy"), data.classes, arguments.bytes("max-unpacked"));
    if (!arguments.has("taxonomy-costs-only")) data.class_features = std::move(taxonomy.class_features);
    return std::move(taxonomy.cost_matrix);
  }
  if (!arguments.has("cost-matrix")) return {};
  return load_cost_matrix(arguments.text("cost-matrix"), data.classes.size(), arguments.bytes("max-unpacked"));
}

Margins margins_of(const Arguments& arguments, std::int64_t n, std::int64_t m) {
  if (!arguments.has("margins")) return {};
  return load_margins(arguments.text("margins"), n, m, arguments.real("margin-default").value_or(1.0),
                      index_base_of(arguments), arguments.bytes("max-unpacked"));
}

Model with_asked_classes(const Arguments& arguments, Model model) {
  if (!arguments.has("class-features")) return model;
  if (model.class_features.rows() == 0)
    fail(ErrorKind::data,
         "--class-features names classes for a model that was trained with class features; this one "
         "was not");
  ClassTable table = load_class_table(arguments.text("class-features"), model.class_features.cols(),
                                      index_base_of(arguments), arguments.bytes("max-unpacked"));
  return {with_classes(model, std::move(table.classes), std::move(table.features)), {}};
}

}  // namespace topwolf::cli
