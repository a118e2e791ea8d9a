// Taxonomies, class features and margins from files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>

#include "topwolf/error.hpp"
#include "topwolf/structure.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StructureFiles : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }

  std::string taxonomy_error(const std::string& text) {
    try {
      load_taxonomy(file("tree", text), classes_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      return error.what();
    }
    return "no error";
  }

  std::vector<double> dense(const Features& phi) {
    std::vector<double> out(static_cast<std::size_t>(phi.rows() * phi.cols()), 0.0);
    if (const auto* full = std::get_if<DenseView<double>>(&phi.view())) {
      out.assign(full->data, full->data + out.size());
      return out;
    }
    const auto& view = std::get<CsrView<double>>(phi.view());
    for (std::int64_t j = 0; j < view.rows; ++j) {
      for (auto e = view.row_begin[j]; e < view.row_begin[j + 1]; ++e) {
        out[static_cast<std::size_t>(j * view.cols + view.column[e])] = view.value[e];
      }
    }
    return out;
  }

  TempFolder folder_;
  const ClassList classes_{LabelType::text, {"cat", "cod", "dog"}};
};

TEST_F(StructureFiles, TaxonomyGivesAncestorsAndHalfTheEdges) {
  const Taxonomy tree = load_taxonomy(
      file("tree", "# who is what\ncat mammal\ndog mammal\n\ncod fish\nmammal animal\nfish animal\n"), classes_);
  // cat, cod, dog, mammal, fish
  EXPECT_EQ(tree.class_features.cols(), 5);
  EXPECT_THAT(dense(tree.class_features), ElementsAre(1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0));
  EXPECT_THAT(tree.cost_matrix, ElementsAre(0, 2, 1, 2, 0, 2, 1, 2, 0));
}

TEST_F(StructureFiles, TaxonomyOfDepthOneIsThePlainProblem) {
  const Taxonomy tree = load_taxonomy(file("tree", "dog root\r\ncat root\r\ncod root\r\n"), classes_);
  EXPECT_THAT(dense(tree.class_features), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(tree.cost_matrix, ElementsAre(0, 1, 1, 1, 0, 1, 1, 1, 0));
}

TEST_F(StructureFiles, TaxonomyMayHaveClassesAboveOthersAndNamesWithBlanks) {
  const ClassList classes{LabelType::text, {"big cat", "cat", "cod"}};
  const Taxonomy tree = load_taxonomy(file("tree", "big cat\tcat\ncat\tall things\ncod\tall things\n"), classes);
  EXPECT_THAT(dense(tree.class_features), ElementsAre(1, 1, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(tree.cost_matrix, ElementsAre(0, 0.5, 1.5, 0.5, 0, 1, 1.5, 1, 0));
}

// Before ways were walked once, this took minutes.
TEST_F(StructureFiles, TaxonomyMayBeALongChain) {
  constexpr int length = 300'000;
  std::string text = "cat n0\ncod n0\ndog n0\n";
  for (int k = 1; k < length; ++k) text += "n" + std::to_string(k - 1) + " n" + std::to_string(k) + "\n";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(load_taxonomy(file("tree", text), classes_).class_features.cols(), 3 + length - 1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(StructureFiles, TaxonomyErrorsNameTheLine) {
  EXPECT_THAT(taxonomy_error("cat a\ncod a\ndog b\nb c\nc b\na d\n"), HasSubstr("tree:5: 'c' is its own ancestor"));
  EXPECT_THAT(taxonomy_error("cat cat\n"), HasSubstr("tree:1: 'cat' is its own ancestor"));
  EXPECT_THAT(taxonomy_error("cat a\ncod a\ndog b\n"),
              HasSubstr("tree:3: 'b' has no parent, and neither has 'a' (line 1), but a tree has one root"));
  EXPECT_THAT(taxonomy_error("cat a\ncod a\ndog a\nelk a\n"), HasSubstr("tree:4: 'elk' is no class of the data"));
  EXPECT_THAT(taxonomy_error("cat a\ncod a\n"), HasSubstr("tree: the class 'dog' is not in the taxonomy"));
  EXPECT_THAT(taxonomy_error("cat a\ncod a\ndog a\ncat b\n"),
              HasSubstr("tree:4: 'cat' has a second parent; the first is in line 1"));
  EXPECT_THAT(taxonomy_error("cat a\ncod\n"), HasSubstr("tree:2: a line has a child and its parent"));
  EXPECT_THAT(taxonomy_error("cat a b\n"), HasSubstr("tree:1: a line has a child and its parent"));
  EXPECT_THAT(taxonomy_error("cod cat\ndog cat\n"), HasSubstr("tree:1: the class 'cat' is the root"));
  EXPECT_THAT(taxonomy_error("# nothing\n"), HasSubstr("empty"));
}

TEST_F(StructureFiles, ClassFeaturesAreMatchedByLabel) {
  const Features phi = load_class_features(file("phi.svm", "dog 1:3\nelk 2:9\ncat 1:1\ncod 2:2\n"), classes_);
  EXPECT_EQ(phi.precision(), Precision::float64);
  EXPECT_THAT(dense(phi), ElementsAre(1, 0, 0, 2, 3, 0));
  const ClassTable all = load_class_table(file("all.svm", "dog 1:3\nelk 2:9\n"), 2);
  EXPECT_THAT(all.classes.names, ElementsAre("dog", "elk"));
  EXPECT_THAT(dense(all.features), ElementsAre(3, 0, 0, 9));
}

TEST_F(StructureFiles, ClassFeaturesThatDoNotFitAreRefused) {
  const auto error = [&](const auto& load) -> std::string {
    try {
      load();
    } catch (const Error& thrown) {
      EXPECT_EQ(thrown.kind(), ErrorKind::data);
      return thrown.what();
    }
    return "no error";
  };
  EXPECT_THAT(error([&] { load_class_features(file("a.svm", "dog 1:3\ncat 1:1\n"), classes_); }),
              HasSubstr("the class 'cod' has no row"));
  EXPECT_THAT(error([&] { load_class_features(file("b.svm", "dog 1:3\ncat 1:1\ncod 1:2\ncat 1:1\n"), classes_); }),
              HasSubstr("the class 'cat' has two rows, 2 and 4"));
  EXPECT_THAT(error([&] { load_class_table(file("c.svm", "dog 1:3\nelk 3:1\n"), 2); }),
              HasSubstr("1 values are in columns beyond the 2"));
}

TEST_F(StructureFiles, MarginsKeepWhatIsStoredAndWhatIsNot) {
  // More than half is stored, a zero among it: it stays sparse all the same.
  const Margins margins = load_margins(file("m.svm", "0 1:0 2:2.5\n0 2:0 3:4\n"), 2, 3, 0.5);
  ASSERT_TRUE(margins.values.sparse());
  EXPECT_EQ(margins.values.precision(), Precision::float64);
  EXPECT_EQ(margins.other, 0.5);
  const auto& view = std::get<CsrView<double>>(margins.values.view());
  EXPECT_EQ(view.row_begin[2], 4);
  EXPECT_EQ(view.cols, 3);
  EXPECT_THROW(load_margins(file("m.svm", "0 1:0\n"), 2, 3), Error);
  EXPECT_THROW(load_margins(file("m.svm", "0 4:1\n0 1:1\n"), 2, 3), Error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
