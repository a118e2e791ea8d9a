// The order of preparation, and what its options say to each other. What a step does is said where the step is.
#include "topwolf/prepare.hpp"

#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "data/normalize.hpp"
#include "data/readers.hpp"
#include "data/window.hpp"
#include "topwolf/structure.hpp"

namespace topwolf {
namespace {

void apply_weights(const RowOptions& options, Dataset& data) {
  if (!options.weights.empty()) data.weights = load_weights(options.weights, data.X.rows(), options.max_unpacked);
  if (options.class_weight == "balanced") {
    weigh_classes(data, balanced_class_weights(data));
  } else if (!options.class_weight.empty()) {
    weigh_classes(data, load_class_weights(options.class_weight, data.classes, options.max_unpacked));
  }
}

// Measures and applies it; rows on disk are normalised when they are read, which for their columns is once before.
Normalization normalized(const DataOptions& options, RawDataset& raw) {
  if (!raw.rows) {
    const Normalization out = fit_normalization(options.normalize, raw.X);
    apply_normalization(out, raw.X);
    return out;
  }
  Normalization out{options.normalize, {}};
  if (options.normalize == NormalizeKind::maxabs) {
    out.scale.assign(static_cast<std::size_t>(raw.rows->cols()), 0.0);
    for_windows(Features(raw.rows), resolve_threads(options.threads),
                [&](std::int64_t, const FeatureView& X) { add_largest(X, out.scale); });
  }
  raw.rows = normalized(out, std::move(raw.rows));
  return out;
}

void check_costs(const DataOptions& options) {
  Field first{""};
  for (const auto& [name, file] : {std::pair("cost_matrix", &options.cost_matrix),
                                   std::pair("margins", &options.margins), std::pair("taxonomy", &options.taxonomy)}) {
    if (file->empty()) continue;
    if (!first.name.empty()) {
      fail(ErrorKind::option, "{} and {} both say what errors cost; give one of them", first, Field{name});
    }
    first = {name};
  }
}

}  // namespace

void check(const RowOptions& options) {
  if (!options.weights.empty() && options.label_weights) {
    fail(ErrorKind::option, "{} and {} both say what a row weighs; give one of them", Field{"weights"},
         Field{"label_weights"});
  }
  if (options.margin_default && options.margins.empty()) {
    fail(ErrorKind::option, "{} is about {}, which is not given", Field{"margin_default"}, Field{"margins"});
  }
  if (const double other = options.margin_default.value_or(1.0); !std::isfinite(other) || other < 0.0) {
    fail(ErrorKind::option, "{} is {}; it must be finite and at least 0", Field{"margin_default"}, other);
  }
}

void check(const DataOptions& options) {
  check_costs(options);
  if (options.taxonomy_costs_only && options.taxonomy.empty()) {
    fail(ErrorKind::option, "{} is about {}, which is not given", Field{"taxonomy_costs_only"}, Field{"taxonomy"});
  }
  if (!options.taxonomy.empty() && !options.class_features.empty() && !options.taxonomy_costs_only) {
    fail(ErrorKind::option, "{} and {} both give features to the classes; add {}, or give one", Field{"taxonomy"},
         Field{"class_features"}, Field{"taxonomy_costs_only"});
  }
  check(static_cast<const RowOptions&>(options));
}

Prepared prepare(const DataOptions& options) {
  const IeeeArithmetic ieee;
  check(options);
  RawDataset raw = read_raw(LoadOptions(options));
  const Normalization normalization = normalized(options, raw);
  Prepared out{make_dataset(std::move(raw)), {}};
  Dataset& data = out.data;
  data.normalization = normalization;
  apply_weights(options, data);
  data.margins = load_margins(options, data.X.rows(), data.classes.size());
  if (!options.class_features.empty()) {
    data.class_features =
        load_class_features(options.class_features, data.classes, options.index_base, options.max_unpacked);
  }
  if (!options.taxonomy.empty()) {
    Taxonomy taxonomy = load_taxonomy(options.taxonomy, data.classes, options.max_unpacked);
    if (!options.taxonomy_costs_only) data.class_features = std::move(taxonomy.class_features);
    out.cost_matrix = std::move(taxonomy.cost_matrix);
  }
  if (!options.cost_matrix.empty()) {
    out.cost_matrix = load_cost_matrix(options.cost_matrix, data.classes.size(), options.max_unpacked);
  }
  return out;
}

RawDataset load_rows_for(const Classifier& classifier, const LoadOptions& options, const RowsWanted& wanted,
                         const Warn& warn) {
  const IeeeArithmetic ieee;
  ReadOptions asked = options;
  if (!asked.index_base) asked.index_base = classifier.index_base;
  asked.usual_precision = classifier.precision;
  asked.usual_label_column = classifier.label_column;
  asked.cols = classifier.d;
  asked.keep_beyond_cols = wanted.wider;
  asked.labels_optional = !wanted.labels;
  ReadReport report;
  RawDataset raw = read_raw(asked, &report);
  if (report.dropped_values > 0 && warn) {
    warn(say("{}: {} values have an index beyond the model's {} features and are ignored", options.path,
             report.dropped_values, classifier.d));
  }
  if (raw.rows) {
    raw.rows = normalized(classifier.normalization, std::move(raw.rows));
  } else {
    apply_normalization(classifier.normalization, raw.X);
  }
  return raw;
}

Dataset prepare_for(const Classifier& classifier, const RowOptions& options, const RowsWanted& wanted,
                    const Warn& warn) {
  const IeeeArithmetic ieee;
  check(options);
  Dataset data = make_dataset(load_rows_for(classifier, options, wanted, warn));
  data.normalization = classifier.normalization;
  apply_weights(options, data);
  data.margins = load_margins(options, data.X.rows(), data.classes.size());
  return data;
}

Margins load_margins(const RowOptions& options, std::int64_t n, std::int64_t m) {
  if (options.margins.empty()) return {};
  return load_margins(options.margins, n, m, options.margin_default.value_or(1.0), options.index_base,
                      options.max_unpacked);
}

}  // namespace topwolf
