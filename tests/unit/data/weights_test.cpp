// Example weights from files, labels and class sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "topwolf/dataset.hpp"
#include "topwolf/error.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string written(const TempFolder& folder, const std::string& text) {
  const std::string path = folder.file("file.svm");
  std::ofstream(path) << text;
  return path;
}

template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

Dataset three_classes() {
  Dataset data;
  data.classes = {LabelType::text, {"ant", "bee", "fly"}};
  data.y = {0, 0, 0, 1, 1, 2};
  data.X = Features(FeatureStore(DenseStore<float>{std::vector<float>(6, 1.0f), 6, 1}));
  return data;
}

TEST(LabelWeights, AreTakenOutOfTheLabels) {
  const TempFolder folder;
  LoadOptions options;
  options.path = written(folder, "b:0.5 1:1\na 1:2\na:2e1 2:1\nb:0 1:3\n");
  options.label_weights = true;
  const Dataset data = load_dataset(options);
  EXPECT_THAT(data.classes.names, ElementsAre("a", "b"));
  EXPECT_THAT(data.y, ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(data.weights, ElementsAre(0.5, 1.0, 20.0, 0.0));
  EXPECT_EQ(data.X.cols(), 2);
}

TEST(LabelWeights, MustBeNumbersOfAtLeastZero) {
  const TempFolder folder;
  LoadOptions options;
  options.label_weights = true;
  for (const char* label : {"a:-1", "a:x", "a:", "a:nan", "a:inf"}) {
    options.path = written(folder, std::string(label) + " 1:1\nb 1:1\n");
    EXPECT_THAT(refusal([&] { load_dataset(options); }), HasSubstr("weight")) << label;
  }
  options.path = written(folder, ":2 1:1\n");
  EXPECT_THAT(refusal([&] { load_dataset(options); }), HasSubstr("no label"));
  options.label_weights = false;
  options.path = written(folder, "a:2 1:1\n");
  EXPECT_THAT(refusal([&] { load_dataset(options); }), HasSubstr("has no label"));
}

TEST(Weights, AreReadOneALine) {
  const TempFolder folder;
  EXPECT_THAT(load_weights(written(folder, "1\n0\n2.5\n"), 3), ElementsAre(1.0, 0.0, 2.5));
  EXPECT_THAT(refusal([&] { load_weights(written(folder, "1\n2\n"), 3); }), HasSubstr("2 weights for 3 rows"));
  EXPECT_THAT(refusal([&] { load_weights(written(folder, "1\n-2\n3\n"), 3); }), HasSubstr("row 2"));
  EXPECT_THAT(refusal([&] { load_weights(written(folder, "1\n\n3\n"), 3); }), HasSubstr("row 2"));
}

TEST(ClassWeights, AreReadByLabel) {
  const TempFolder folder;
  const ClassList classes = three_classes().classes;
  EXPECT_THAT(load_class_weights(written(folder, "fly 2\nant\t0.5\n"), classes), ElementsAre(0.5, 1.0, 2.0));
  EXPECT_THAT(load_class_weights(written(folder, "bee,3\n"), classes), ElementsAre(1.0, 3.0, 1.0));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "cow 2\n"), classes); }), HasSubstr("none of the 3"));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "bee 2\nbee 3\n"), classes); }), HasSubstr("two"));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "bee\n"), classes); }), HasSubstr("label and a weight"));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "bee -1\n"), classes); }), HasSubstr("weight"));
}

TEST(ClassWeights, BalancedMakesEveryClassWeighTheSame) {
  Dataset data = three_classes();
  EXPECT_THAT(balanced_class_weights(data), ElementsAre(6.0 / 9.0, 1.0, 2.0));
  weigh_classes(data, balanced_class_weights(data));
  EXPECT_DOUBLE_EQ(data.weights[0] * 3.0, data.weights[5]);
  EXPECT_DOUBLE_EQ(data.weights[3] * 2.0, data.weights[5]);
}

}  // namespace
}  // namespace topwolf
