// Data in memory and in files, through the public headers alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <topwolf/topwolf.hpp>

#include "unit/core/temp_folder.hpp"

namespace TOPWOLF_FILE {

using namespace topwolf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two features, three classes, a caller's own memory.
struct Rows {
  std::vector<double> x{1, 0, 2, 0, 0, 1, 0, 2, -1, -1, -2, -2};
  std::vector<std::int32_t> y{0, 0, 1, 1, 2, 2};

  Dataset data(Features X) const {
    Dataset out;
    out.X = std::move(X);
    out.y = y;
    out.classes = {LabelType::text, {"ant", "bee", "cat"}};
    return out;
  }
};

template <class Body>
std::string sentence_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PublicData, ViewsOfAnyLayoutAreTheSameRows) {
  const Rows rows;
  const std::vector<float> single(rows.x.begin(), rows.x.end());
  std::vector<double> wide;  // one number of something else behind each row
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> column;
  std::vector<double> value;
  for (std::size_t i = 0; i < 6; ++i) {
    wide.insert(wide.end(), {rows.x[2 * i], rows.x[2 * i + 1], 99.0});
    for (std::int32_t f = 0; f < 2; ++f) {
      if (rows.x[2 * i + static_cast<std::size_t>(f)] == 0.0) continue;
      column.push_back(f);
      value.push_back(rows.x[2 * i + static_cast<std::size_t>(f)]);
    }
    begin.push_back(static_cast<std::int64_t>(column.size()));
  }
  const std::vector<float> single_value(value.begin(), value.end());
  const TrainResult expected = train(rows.data(Features::dense(rows.x.data(), 6, 2)));
  EXPECT_EQ(expected.status, Status::converged);
  for (const Features& X : {Features::dense(single.data(), 6, 2), Features::dense(wide.data(), 6, 2, 3),
                            Features::csr(begin.data(), column.data(), value.data(), 6, 2),
                            Features::csr(begin.data(), column.data(), single_value.data(), 6, 2)}) {
    const TrainResult found = train(rows.data(X));
    EXPECT_NEAR(found.certificate.primal, expected.certificate.primal, 2e-3 * expected.certificate.primal);
    EXPECT_THAT(Predictor(found.model).predict(X), ::testing::ElementsAreArray(rows.y));
  }
}

TEST(PublicData, ASubsetIsTheRowsAskedFor) {
  const Rows rows;
  Dataset data = rows.data(Features::dense(rows.x.data(), 6, 2));
  data.weights = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> wanted{5, 0, 0};
  const Dataset some = subset(data, wanted);
  EXPECT_THAT(some.y, ElementsAre(2, 0, 0));
  EXPECT_THAT(some.weights, ElementsAre(6, 1, 1));
  const auto& X = std::get<DenseView<double>>(some.X.view());
  EXPECT_THAT(std::vector<double>(X.data, X.data + 6), ElementsAre(-2, -2, 1, 0, 1, 0));
  const std::vector<std::int64_t> beyond{0, 6};
  EXPECT_EQ(sentence_of([&] { subset(data, beyond); }), "row 6 (counted from 0) is asked for, but there are 6 rows");
}

TEST(PublicData, ATaxonomyFromMemoryIsThatOfTheFile) {
  const ClassList classes{LabelType::text, {"cat", "cod", "dog"}};
  const std::vector<TaxonomyEdge> edges{{"cat", "mammal"}, {"dog", "mammal"}, {"mammal", "animal"}, {"cod", "animal"}};
  const Taxonomy tree = make_taxonomy(edges, classes);
  EXPECT_THAT(tree.cost_matrix, ElementsAre(0, 1.5, 1, 1.5, 0, 1.5, 1, 1.5, 0));
  EXPECT_EQ(tree.class_features.cols(), 4);
  TempFolder folder;
  std::ofstream(folder.file("tree")) << "cat mammal\ndog mammal\nmammal animal\ncod animal\n";
  const Taxonomy read = load_taxonomy(folder.file("tree"), classes);
  EXPECT_EQ(read.cost_matrix, tree.cost_matrix);
  const auto& a = std::get<CsrView<double>>(read.class_features.view());
  const auto& b = std::get<CsrView<double>>(tree.class_features.view());
  EXPECT_TRUE(std::equal(a.column, a.column + a.row_begin[3], b.column, b.column + b.row_begin[3]));
}

TEST(PublicData, ABadEdgeIsNamedByItsNumber) {
  const ClassList classes{LabelType::text, {"cat", "dog"}};
  const auto sentence = [&](std::vector<TaxonomyEdge> edges) {
    return sentence_of([&] { make_taxonomy(edges, classes); });
  };
  EXPECT_EQ(sentence({}), "the taxonomy is empty");
  EXPECT_EQ(sentence({{"cat", ""}}), "edge 1: a name is empty");
  EXPECT_EQ(sentence({{"cat", "all"}, {"dog", "all"}, {"cat", "dog"}}),
            "edge 3: 'cat' has a second parent; the first is in edge 1");
  EXPECT_EQ(sentence({{"cat", "all"}}), "the class 'dog' is not in the taxonomy");
  EXPECT_THAT(sentence({{"cat", "a"}, {"dog", "b"}}), HasSubstr("neither has 'a' (edge 1), but a tree has one root"));
}

TEST(PublicData, CostMatricesAreRead) {
  TempFolder folder;
  std::ofstream(folder.file("costs")) << "0 1 2\n1 0 1\n2, 1, 0\n";
  EXPECT_THAT(load_cost_matrix(folder.file("costs"), 3), ElementsAre(0, 1, 2, 1, 0, 1, 2, 1, 0));
  EXPECT_THAT(sentence_of([&] { load_cost_matrix(folder.file("costs"), 2); }), HasSubstr("the data has 2 classes"));
}

}  // namespace TOPWOLF_FILE
