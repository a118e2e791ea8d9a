// From files to a data set in one call, and rows for a classifier in another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <topwolf/topwolf.hpp>

#include "unit/core/temp_folder.hpp"

namespace TOPWOLF_FILE {

using namespace topwolf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Preparing : public ::testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    write_text(folder_.file(name), text);
    return folder_.file(name);
  }
  DataOptions rows(const std::string& text) {
    DataOptions options;
    options.path = put("rows.svm", text);
    return options;
  }

  TempFolder folder_;
};

std::vector<double> first_row(const Features& X) {
  std::vector<double> row(static_cast<std::size_t>(X.cols()), 0.0);
  std::visit(
      [&](const auto& view) {
        if constexpr (requires { view.row_begin; }) {
          for (auto e = view.row_begin[0]; e < view.row_begin[1]; ++e) {
            row[static_cast<std::size_t>(view.column[e])] = view.value[e];
          }
        } else {
          row.assign(view.data, view.data + view.cols);
        }
      },
      X.view());
  return row;
}

TEST_F(Preparing, DoesAllThatTheOptionsName) {
  DataOptions options = rows("ant 1:3 2:4\nant 1:1\nbee 2:2\ncat 1:1 2:1\n");
  options.precision = Precision::float64;
  options.normalize = NormalizeKind::unit;
  options.weights = put("weights", "1\n2\n3\n4\n");
  options.class_weight = put("classes", "bee 10\n");
  options.taxonomy = put("tree", "ant insect\nbee insect\ninsect all\ncat all\n");
  const Prepared prepared = prepare(options);
  EXPECT_THAT(prepared.data.classes.names, ElementsAre("ant", "bee", "cat"));
  EXPECT_THAT(first_row(prepared.data.X), ElementsAre(DoubleEq(0.6), DoubleEq(0.8)));
  EXPECT_EQ(prepared.data.normalization.kind, NormalizeKind::unit);
  EXPECT_THAT(prepared.data.weights, ElementsAre(1, 2, 30, 4));
  EXPECT_EQ(prepared.data.class_features.cols(), 4);
  EXPECT_THAT(prepared.cost_matrix, ElementsAre(0, 1, 1.5, 1, 0, 1.5, 1.5, 1.5, 0));
  options.taxonomy_costs_only = true;
  EXPECT_EQ(prepare(options).data.class_features.rows(), 0);
}

TEST_F(Preparing, BalancesClassesAndReadsMargins) {
  DataOptions options = rows("1 1:1\n1 1:2\n1 1:3\n2 2:1\n");
  options.class_weight = "balanced";
  options.margins = put("margins.svm", "0 2:5\n0\n0\n0\n");
  options.margin_default = 2.0;
  const Prepared prepared = prepare(options);
  EXPECT_THAT(prepared.data.weights, ElementsAre(DoubleEq(2.0 / 3), DoubleEq(2.0 / 3), DoubleEq(2.0 / 3), 2));
  EXPECT_EQ(prepared.data.margins.other, 2.0);
  EXPECT_TRUE(prepared.cost_matrix.empty());
}

TEST_F(Preparing, RefusesWhatContradictsItselfBeforeItReads) {
  DataOptions options;
  options.path = "/no/such/file";
  options.cost_matrix = "costs";
  options.margins = "margins";
  EXPECT_EQ(error_of(ErrorKind::option, [&] { prepare(options); }),
            "cost_matrix and margins both say what errors cost; give one of them");
  options.cost_matrix.clear();
  options.margin_default = -1.0;
  EXPECT_THAT(error_of(ErrorKind::option, [&] { prepare(options); }), HasSubstr("margin_default is -1"));
  options.margins.clear();
  EXPECT_EQ(error_of(ErrorKind::option, [&] { prepare(options); }),
            "margin_default is about margins, which is not given");
  options.margin_default.reset();
  options.weights = "weights";
  options.label_weights = true;
  EXPECT_THAT(error_of(ErrorKind::option, [&] { prepare(options); }), HasSubstr("both say what a row weighs"));
}

TEST_F(Preparing, RowsForAClassifierAreAsItWantsThem) {
  DataOptions options = rows("1 1:3 2:4\n1 1:1\n2 2:2\n2 2:3\n");
  options.normalize = NormalizeKind::unit;
  const Model model = train(prepare(options).data).model;

  LoadOptions others;
  others.path = put("others.svm", "2 1:3 2:4 9:12\n1:1\n");
  std::vector<std::string> warnings;
  const Warn warn = [&](const Sentence& sentence) { warnings.push_back(sentence.text()); };
  EXPECT_THAT(error_of(ErrorKind::data, [&] { load_rows_for(model, others, {}, warn); }), HasSubstr("has no label"));
  const RawDataset raw = load_rows_for(model, others, {.labels = false}, warn);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("1 values have an index beyond the model's 2 features")));
  EXPECT_THAT(map_labels(raw, model.classes), ElementsAre(1, -1));
  EXPECT_NEAR(first_row(Features(raw.X))[0], 0.6, 1e-6);

  RowOptions all;
  all.path = put("all.svm", "2 1:3 2:4 9:12\n1 1:1\n");
  EXPECT_EQ(prepare_for(model, all, {.wider = true}).X.cols(), 9);
  EXPECT_EQ(prepare_for(model, all).X.cols(), 2);
}

TEST_F(Preparing, SlowConvergenceIsToldBeforeItHappens) {
  const Dataset data = prepare(rows("1 1:30 2:40\n1 1:1\n2 2:20\n")).data;
  TrainOptions options;
  options.max_iterations = 1;
  std::vector<Sentence> told;
  options.warn = [&](const Sentence& sentence) { told.push_back(sentence); };
  train(data, options);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0].text(), HasSubstr("convergence is slow: rows of unit length (normalize = unit) or a smaller C"));
  options.C = 1e-3;
  train(data, options);
  EXPECT_EQ(told.size(), 1u);
}

}  // namespace TOPWOLF_FILE
