// From files to what training, verifying and scoring need, in one call each: rows, labels, normalisation, weights,
// costs and structure. Arrays that a program already has need none of this: it fills a Dataset itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"
#include "topwolf/error.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

// Rows, and what belongs to each of them. A file that is not named ("") is not read.
struct RowOptions : LoadOptions {
  std::string weights{};                   // a file of example weights (load_weights), where label_weights is not set
  std::string class_weight{};              // "balanced", or a file (load_class_weights); times the weights
  std::string margins{};                   // a file of costs row by row (load_margins)
  std::optional<double> margin_default{};  // what a sparse file of margins does not store; none: 1
};

// All that training needs. Of cost_matrix, margins and taxonomy at most one is named.
struct DataOptions : RowOptions {
  NormalizeKind normalize = NormalizeKind::none;  // measured on these rows
  std::string cost_matrix{};                      // a file of costs between classes (load_cost_matrix)
  std::string class_features{};                   // a file (load_class_features)
  std::string taxonomy{};                         // a file (load_taxonomy), which gives features and costs, ...
  bool taxonomy_costs_only = false;               // ... or costs alone
};

// What contradicts itself is refused before a file is read: Error{option}.
void check(const RowOptions& options);
// The same.
void check(const DataOptions& options);

// What train() takes.
struct Prepared {
  Dataset data;                     // rows, labels, weights, margins, class features
  std::vector<double> cost_matrix;  // between its classes, for LossSpec::cost_matrix; empty: none
};
// Reads, normalises, numbers the labels, weighs, and puts structure among the classes, as the options say.
Prepared prepare(const DataOptions& options);

// ---- Rows that meet a classifier

// What else is asked of them.
struct RowsWanted {
  bool labels = true;  // every row must have one; which one is not looked at
  bool wider = false;  // sparse values beyond the classifier's features are kept, not dropped with one warning
};

// As the classifier wants them: its index base, label column and precision unless the options say otherwise, its
// normalisation, and its width. Dense rows of another width are Error{data}.
RawDataset load_rows_for(const Classifier& classifier, const LoadOptions& options, const RowsWanted& wanted = {},
                         const Warn& warn = {});

// The same with weights and margins, as a data set of its own classes: what verify() and audit() take.
Dataset prepare_for(const Classifier& classifier, const RowOptions& options, const RowsWanted& wanted = {},
                    const Warn& warn = {});

// options.margins for n rows and m classes; none where no file is named.
Margins load_margins(const RowOptions& options, std::int64_t n, std::int64_t m);

}  // namespace topwolf
