// LIBLINEAR's format, read and written, against LIBLINEAR's own programs: every prediction must agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <sstream>

#include <fmt/format.h>

#include "unit/core/temp_folder.hpp"
#include "unit/model/sample_model.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;
using Rows = std::vector<std::vector<double>>;  // n rows of d values

Rows random_rows(std::int64_t n, std::int64_t d, Rng& rng) {
  Rows rows(n, std::vector<double>(d));
  for (auto& row : rows) {
    for (double& value : row) value = rng.uniform() < 0.5 ? 0.0 : rng.normal();
  }
  rows[0].assign(d, 0.0);  // without a bias every class ties here
  return rows;
}

std::string to_libsvm(const Rows& rows, const std::vector<std::string>& labels) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += labels[i];
    for (std::size_t f = 0; f < rows[i].size(); ++f) {
      if (rows[i][f] != 0.0) text += fmt::format(" {}:{:.17g}", f + 1, rows[i][f]);
    }
    text += "\n";
  }
  return text;
}

// The best class of every row, ties to the lower class.
std::vector<std::string> predictions(const Model& model, const Rows& rows) {
  std::vector<std::string> result;
  for (const auto& row : rows) {
    std::int64_t best = 0;
    double best_score = -INFINITY;
    for (std::int64_t j = 0; j < model.m(); ++j) {
      const double* weights = model.W.data() + j * model.D();
      double score = model.bias != 0.0 ? weights[model.d] * model.bias : 0.0;
      for (std::int64_t f = 0; f < model.d; ++f) score += weights[f] * row[f];
      if (score > best_score) best = j;
      best_score = std::max(best_score, score);
    }
    result.push_back(model.classes.names[best]);
  }
  return result;
}

void run(const std::string& command) {
  ASSERT_EQ(std::system((command + " > /dev/null").c_str()), 0) << command;
}

std::vector<std::string> liblinear_predictions(const TempFolder& folder, const std::string& model, const Rows& rows) {
  write_text(folder.file("rows.svm"), to_libsvm(rows, std::vector<std::string>(rows.size(), "0")));
  run(fmt::format("liblinear-predict {} {} {}", folder.file("rows.svm"), model, folder.file("out")));
  std::istringstream lines(read_text(folder.file("out")));
  std::vector<std::string> result;
  for (std::string line; std::getline(lines, line);) result.push_back(line);
  return result;
}

void expect_export_agrees(const Model& model, const Rows& prepared, const Rows& raw) {
  const TempFolder folder;
  save_liblinear(model, folder.file("m"));
  EXPECT_EQ(liblinear_predictions(folder, folder.file("m"), raw), predictions(model, prepared));
}

TEST(LiblinearExport, predicts_as_the_model_does) {
  Rng rng(1);
  for (const std::int64_t m : {2, 3, 10}) {
    for (const double bias : {0.0, 1.0, 0.25, -2.0}) {
      const Rows rows = random_rows(300, 7, rng);
      expect_export_agrees(random_model(m, 7, bias, rng), rows, rows);
    }
  }
}

TEST(LiblinearExport, gives_ties_to_the_lower_class) {
  Rng rng(2);
  for (const std::int64_t m : {2, 3}) {
    Model model = random_model(m, 4, 0.0, rng);
    std::fill(model.W.begin(), model.W.end(), 0.5);
    const Rows rows = random_rows(20, 4, rng);
    EXPECT_EQ(predictions(model, rows), std::vector<std::string>(20, "3"));
    expect_export_agrees(model, rows, rows);
  }
}

TEST(LiblinearExport, folds_column_scales_into_the_weights) {
  Rng rng(3);
  for (const std::int64_t m : {2, 5}) {
    Model model = random_model(m, 4, 1.0, rng);
    model.normalization = {NormalizeKind::maxabs, {2.0, 100.0, 0.0, 0.01}};
    const Rows raw = random_rows(300, 4, rng);
    Rows prepared = raw;
    for (auto& row : prepared) {
      for (std::size_t f = 0; f < 4; ++f) row[f] /= f == 2 ? 1.0 : model.normalization.scale[f];
    }
    expect_export_agrees(model, prepared, raw);
  }
}

TEST(LiblinearExport, needs_no_scaling_to_unit_length_without_a_bias) {
  Rng rng(4);
  Model model = random_model(4, 5, 0.0, rng);
  model.normalization.kind = NormalizeKind::unit;
  const Rows raw = random_rows(300, 5, rng);
  Rows prepared = raw;
  for (auto& row : prepared) {
    double square = 0.0;
    for (const double value : row) square += value * value;
    for (double& value : row) value /= square > 0.0 ? std::sqrt(square) : 1.0;
  }
  expect_export_agrees(model, prepared, raw);
}

TEST(LiblinearExport, comes_back_with_the_same_classes_and_predictions) {
  Rng rng(5);
  for (const std::int64_t m : {2, 4}) {
    const TempFolder folder;
    const Model model = random_model(m, 6, 0.5, rng);
    save_liblinear(model, folder.file("m"));
    const Model loaded = load_model(folder.file("m"));
    EXPECT_EQ(loaded.classes.names, model.classes.names);
    EXPECT_EQ(loaded.bias, model.bias);
    if (m > 2) {
      EXPECT_EQ(loaded.W, model.W);
    }
    const Rows rows = random_rows(200, 6, rng);
    EXPECT_EQ(predictions(loaded, rows), predictions(model, rows));
  }
}

TEST(LiblinearExport, refuses_what_the_format_cannot_say) {
  Rng rng(6);
  const TempFolder folder;
  const auto refused = [&](const std::function<void(Model&)>& change) {
    Model model = random_model(3, 2, 1.0, rng);
    change(model);
    return error_of(ErrorKind::data, [&] { save_liblinear(model, folder.file("m")); });
  };
  const std::string integers = "LIBLINEAR's labels are integers from -2147483648 to 2147483647";
  for (const LabelType type : {LabelType::text, LabelType::real, LabelType::boolean}) {
    EXPECT_THAT(refused([&](Model& m) { m.classes.type = type; }), HasSubstr(integers));
  }
  for (const char* name : {"2147483648", "1.5", "+-1", "1e3", ""}) {
    EXPECT_THAT(refused([&](Model& m) { m.classes.names[1] = name; }), HasSubstr(integers)) << name;
  }
  EXPECT_THAT(refused([](Model& m) { m.index_base = 0; }), HasSubstr("counts from 1"));
  EXPECT_THAT(refused([](Model& m) { m.normalization.kind = NormalizeKind::unit; }), HasSubstr("unit length"));
  EXPECT_THAT(refused([](Model& m) {
                m.normalization = {NormalizeKind::maxabs, {1.0, 5e-324}};
              }),
              HasSubstr("feature 2 is too small to unscale"));
  EXPECT_THAT(refused([](Model& m) { m.W[0] = NAN; }), HasSubstr("weights"));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(LiblinearExport, writes_labels_as_plain_integers) {
  Rng rng(7);
  const TempFolder folder;
  Model model = random_model(3, 1, 0.0, rng);
  model.classes.names = {"-2147483648", "007", "+8"};
  save_liblinear(model, folder.file("m"));
  EXPECT_THAT(read_text(folder.file("m")),
              HasSubstr("solver_type MCSVM_CS\nnr_class 3\nlabel -2147483648 7 8\nnr_feature 1\nbias -1\nw\n"));
}

class LiblinearImport : public ::testing::TestWithParam<int> {};

TEST_P(LiblinearImport, predicts_as_liblinear_does) {
  Rng rng(8);
  for (const std::int64_t m : {2, 3, 5}) {
    for (const char* bias : {"-1", "0", "1", "2.5"}) {
      const TempFolder folder;
      // Labels that neither appear nor sort in the order of the classes that made them.
      const Model teacher = random_model(m, 6, 0.5, rng);
      const Rows rows = random_rows(200, 6, rng);
      std::vector<std::string> labels = predictions(teacher, rows);
      for (std::string& label : labels) label = std::to_string(7 * (std::stoi(label) % 5) - 10);
      write_text(folder.file("train.svm"), to_libsvm(rows, labels));
      run(fmt::format("liblinear-train -q -s {} -B {} {} {}", GetParam(), bias, folder.file("train.svm"),
                      folder.file("m")));
      const Model model = load_model(folder.file("m"));
      EXPECT_EQ(model.m(), m);
      EXPECT_EQ(model.bias, std::max(std::stod(bias), 0.0));
      EXPECT_FALSE(model.provenance.claim);
      Rows test = random_rows(300, 6, rng);
      for (auto& row : test) row[0] += 0.1;  // no row of zeros: LIBLINEAR breaks ties by the order of its labels
      EXPECT_EQ(predictions(model, test), liblinear_predictions(folder, folder.file("m"), test));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(solver_type, LiblinearImport, ::testing::Range(0, 8), ::testing::PrintToStringParamName());

const std::string head = "solver_type MCSVM_CS\nnr_class 3\nlabel 5 -1 2\nnr_feature 2\nbias 1.5\nw\n";

Model imported(const std::string& text) {
  const TempFolder folder;
  write_text(folder.file("m"), text);
  return load_model(folder.file("m"));
}

// Without the path.
std::string refusal(const std::string& text) {
  const TempFolder folder;
  write_text(folder.file("m"), text);
  const std::string sentence = error_of(ErrorKind::data, [&] { load_model(folder.file("m")); });
  EXPECT_EQ(sentence.rfind(folder.file("m") + ":", 0), 0u) << sentence;
  return sentence.substr(std::min(sentence.size(), folder.file("m").size() + 1));
}

TEST(LiblinearText, puts_classes_in_the_order_of_their_values) {
  const Model model = imported(head + "1 2 3 \n4 5 6 \n7 8 9e-1 \n");
  EXPECT_EQ(model.classes.names, (std::vector<std::string>{"-1", "2", "5"}));
  EXPECT_EQ(model.classes.type, LabelType::integer);
  EXPECT_EQ(model.d, 2);
  EXPECT_EQ(model.bias, 1.5);
  EXPECT_EQ(model.precision, Precision::float64);
  EXPECT_EQ(model.W, (std::vector<double>{2, 5, 8, 3, 6, 0.9, 1, 4, 7}));
}

TEST(LiblinearText, with_one_vector_becomes_two_opposite_rows) {
  const Model model = imported("solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n3 \n-5 \n");
  EXPECT_EQ(model.classes.names, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(model.W, (std::vector<double>{-1.5, 2.5, 1.5, -2.5}));
}

TEST(LiblinearText, with_two_classes_follows_the_first_vector_as_liblinear_does) {
  const Model model = imported("solver_type MCSVM_CS\nnr_class 2\nlabel 1 2\nnr_feature 1\nbias 0\nw\n3 4 \n5 6 \n");
  EXPECT_EQ(model.W, (std::vector<double>{3, -3}));
  EXPECT_EQ(model.bias, 0.0);
}

TEST(LiblinearText, refuses_every_truncation) {
  const std::string text = head + "1 2 3 \n4 5 6 \n7 8 99\n";
  EXPECT_NO_THROW(imported(text));
  for (std::size_t size = 0; size < text.size(); ++size) refusal(text.substr(0, size));
}

TEST(LiblinearText, says_where_it_is_wrong) {
  EXPECT_THAT(refusal(head + "1 2 3 \n4 x 6 \n7 8 9 \n"), HasSubstr("8:3: a weight should be a number"));
  EXPECT_THAT(refusal(head + "1 2 3 \n4 5 6 \n7 8 nan \n"), HasSubstr("9:5: a weight should be a number"));
  EXPECT_THAT(refusal(head + "1 2 3 \n4 5 6 \n7 8 1e999 \n"), HasSubstr("9:5: a weight should be a number"));
  EXPECT_EQ(refusal(head + "1 2 3 \n4 5 6 \n7 8 9 \n1\n"), "10:1: the weights are complete, but the file goes on");
  EXPECT_EQ(refusal(head + "1 2 3 \n4 5 6 \n7 8 9"), "9:5: the file ends within its last number");
  EXPECT_THAT(refusal("solver_type L2R_L2LOSS_SVR\n"), HasSubstr("1:13: the solver 'L2R_L2LOSS_SVR' is none of"));
  EXPECT_THAT(refusal("solver_type ONECLASS_SVM\n"), HasSubstr("is none of LIBLINEAR's classifiers"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nnr_class 1\n"), HasSubstr("2:10: nr_class should be a number from 2 to"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nnr_class -3\n"), HasSubstr("nr_class should be a number from 2 to"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nlabel 1 2\n"), HasSubstr("2:1: 'label' is unknown, comes twice or comes"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nsolver_type L2R_LR\n"), HasSubstr("2:1: 'solver_type' is unknown, comes"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nw\n1\n"), HasSubstr("2:1: 'w' is unknown, comes twice or comes before"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nnr_class 2\nlabel 1.5 2\n"), HasSubstr("3:7: a label should be a number"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nnr_class 2\nlabel 2 2\nnr_feature 1\nbias 1\nw\n1\n"),
              HasSubstr("the label 2 comes twice"));
}

TEST(LiblinearText, cannot_claim_more_than_the_file_holds) {
  EXPECT_THAT(refusal("solver_type L2R_LR\nnr_class 2147483647\nlabel 1 2 3\n"),
              HasSubstr("2147483647 labels are claimed, more than the rest of the file can hold"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nnr_class 3\nlabel 1 2 3\nnr_feature 2147483647\nbias 1\nw\n1 2 3\n"),
              HasSubstr("6442450944 weights are claimed"));
  EXPECT_THAT(refusal("solver_type L2R_LR\nnr_class 99999999999999999999\n"), HasSubstr("nr_class should be a number"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
