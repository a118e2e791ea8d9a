// Example weights from files, labels and class sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fingerprint.hpp"

#include <cmath>
#include <fstream>

#include "topwolf/dataset.hpp"
#include "topwolf/error.hpp"
#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

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
    options.path = written(folder, "b 1:1\n" + std::string(label) + " 1:1\n");
    EXPECT_THAT(refusal([&] { load_dataset(options); }), HasSubstr("file.svm: row 2 (counted from 1): the weight"))
        << label;
  }
  options.path = written(folder, ":2 1:1\n");
  EXPECT_THAT(refusal([&] { load_dataset(options); }),
              HasSubstr("file.svm: row 1 (counted from 1): ':2' has no label before its weight"));
  options.path = written(folder, "a 1:1\nb 1:1\n");
  options.labels_path = folder.file("labels");
  std::ofstream(options.labels_path) << "a\nb:x\n";
  EXPECT_THAT(refusal([&] { load_dataset(options); }), HasSubstr("labels: row 2 (counted from 1): the weight 'x'"));
  options.labels_path.clear();
  options.label_weights = false;
  options.path = written(folder, "a:2 1:1\n");
  EXPECT_THAT(refusal([&] { load_dataset(options); }), HasSubstr("has no label"));
}

TEST(Weights, AreReadOneALine) {
  const TempFolder folder;
  EXPECT_THAT(load_weights(written(folder, "1\n0\n2.5\n"), 3), ElementsAre(1.0, 0.0, 2.5));
  EXPECT_THAT(refusal([&] { load_weights(written(folder, "1\n2\n"), 3); }), HasSubstr("2 weights for 3 rows"));
  EXPECT_THAT(refusal([&] { load_weights(written(folder, "1\n -2\n3\n"), 3); }),
              HasSubstr("file.svm:2:2: the weight '-2' is not"));
  EXPECT_THAT(refusal([&] { load_weights(written(folder, "1\n\n3\n"), 3); }), HasSubstr("file.svm:2:1: the weight ''"));
  EXPECT_THAT(refusal([&] { load_weights(written(folder, "1\nnan\n3\n\n"), 3); }),
              HasSubstr("file.svm:2:1: the weight 'nan' is not a finite number of at least 0"));
}

TEST(Weights, AreReadFromAnArray) {
  const TempFolder folder;
  const auto load = [&](const std::vector<double>& values, const std::string& shape) {
    return load_weights(written(folder, npy_array("<f8", shape, bytes_of(values))), 2);
  };
  EXPECT_THAT(load({0.5, 2.0}, "(2,)"), ElementsAre(0.5, 2.0));
  EXPECT_THAT(refusal([&] { load({0.5, NAN}, "(2,)"); }), HasSubstr("row 2 (counted from 1): the weight nan"));
  EXPECT_THAT(refusal([&] { load({-0.5, 1.0}, "(2,)"); }), HasSubstr("row 1 (counted from 1): the weight -0.5"));
  EXPECT_THAT(refusal([&] { load({0.5, 1.0}, "(2, 1)"); }), HasSubstr("weights need one dimension"));
}

TEST(ClassWeights, AreReadByLabel) {
  const TempFolder folder;
  const ClassList classes = three_classes().classes;
  EXPECT_THAT(load_class_weights(written(folder, "fly 2\nant\t0.5\n"), classes), ElementsAre(0.5, 1.0, 2.0));
  EXPECT_THAT(load_class_weights(written(folder, "bee,3\n"), classes), ElementsAre(1.0, 3.0, 1.0));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "cow 2\n"), classes); }),
              HasSubstr("file.svm:1: 'cow' is none of the 3"));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "bee 2\n\nbee 3\n"), classes); }),
              HasSubstr("file.svm:3: the class 'bee' has two"));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "bee\n"), classes); }),
              HasSubstr("file.svm:1: the line 'bee' is not"));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "bee 1\n, 1\n"), classes); }), HasSubstr("file.svm:2:"));
  EXPECT_THAT(refusal([&] { load_class_weights(written(folder, "fly 1\n bee  -1\n"), classes); }),
              HasSubstr("file.svm:2:7: the weight '-1'"));
}

TEST(ClassWeights, BalancedMakesEveryClassWeighTheSame) {
  Dataset data = three_classes();
  EXPECT_THAT(balanced_class_weights(data), ElementsAre(6.0 / 9.0, 1.0, 2.0));
  weigh_classes(data, balanced_class_weights(data));
  EXPECT_DOUBLE_EQ(data.weights[0] * 3.0, data.weights[5]);
  EXPECT_DOUBLE_EQ(data.weights[3] * 2.0, data.weights[5]);
}

// A certificate is divided by it: no addition may cost it a digit, however many rows there are.
TEST(Weights, TheirSumIsRightToTheLastDigit) {
  for (const double weight : {0.1, 0.3, 0.7}) {
    Dataset data;
    data.weights.assign(1000000, weight);
    data.y.assign(data.weights.size(), 0);
    EXPECT_EQ(weight_sum(data), static_cast<double>(1e6L * static_cast<long double>(weight)));
    data.weights.push_back(1e30);
    data.weights.push_back(1e-30);
    EXPECT_EQ(weight_sum(data), static_cast<double>(1e30L + 1e6L * static_cast<long double>(weight)));
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
