// Matrices of weights as NumPy writes them: shapes, intercepts, classes, and what is refused.
#include "topwolf/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;
using Members = std::map<std::string, std::string>;
using Vector = std::vector<double>;

const ClassList two{LabelType::integer, {"-1", "1"}};
const ClassList three{LabelType::integer, {"1", "2", "3"}};

std::string doubles(const std::string& shape, const Vector& values, bool fortran = false) {
  return npy_array("<f8", shape, bytes_of(values), fortran);
}

std::string texts(const std::string& shape, const std::string& bytes) {
  return npy_array("|S1", shape, bytes);
}

Model from_npy(const std::string& bytes, std::int64_t d, const ClassList& classes) {
  const TempFolder folder;
  write_text(folder.file("w.npy"), bytes);
  EXPECT_TRUE(is_coefficient_file(folder.file("w.npy")));
  return load_coefficients(folder.file("w.npy"), d, classes);
}

Model from_npz(const Members& members, std::int64_t d, const ClassList& classes) {
  const TempFolder folder;
  write_zip(folder.file("w.npz"), members);
  EXPECT_TRUE(is_coefficient_file(folder.file("w.npz")));
  return load_coefficients(folder.file("w.npz"), d, classes);
}

template <class Load>
std::string refusal(const Load& load) {
  const std::string sentence = error_of(ErrorKind::data, load);
  return sentence.substr(sentence.find("w.np"));
}

TEST(Coefficients, AMatrixHasARowPerClassOfTheData) {
  const Model model = from_npy(doubles("(3, 2)", {1, 2, 3, 4, 5, 6}), 2, three);
  EXPECT_EQ(model.W, (Vector{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(model.classes.names, three.names);
  EXPECT_EQ(model.d, 2);
  EXPECT_EQ(model.bias, 0.0);
  EXPECT_EQ(model.precision, Precision::float64);
  EXPECT_EQ(model.provenance.lambda, 0.0);
}

TEST(Coefficients, MayBeInFortranOrderOrFloat32) {
  EXPECT_EQ(from_npy(doubles("(3, 2)", {1, 3, 5, 2, 4, 6}, true), 2, three).W, (Vector{1, 2, 3, 4, 5, 6}));
  const std::vector<float> values{1, 2, 3, 4, 5, 0.1f};
  EXPECT_EQ(from_npy(npy_array("<f4", "(3, 2)", bytes_of(values)), 2, three).W, Vector(values.begin(), values.end()));
}

TEST(Coefficients, OneMoreColumnHoldsTheIntercepts) {
  const Model model = from_npy(doubles("(3, 2)", {1, 2, 3, 4, 5, 6}), 1, three);
  EXPECT_EQ(model.bias, 1.0);
  EXPECT_EQ(model.d, 1);
  EXPECT_EQ(model.W, (Vector{1, 2, 3, 4, 5, 6}));
}

// A positive score of scikit-learn's single row means the second class.
TEST(Coefficients, OneRowForTwoClassesBecomesTwoOppositeHalves) {
  EXPECT_EQ(from_npy(doubles("(1, 2)", {4, -6}), 2, two).W, (Vector{-2, 3, 2, -3}));
  const Model biased =
      from_npz({{"coef_.npy", doubles("(1, 1)", {4})}, {"intercept_.npy", doubles("(1,)", {6})}}, 1, two);
  EXPECT_EQ(biased.W, (Vector{-2, -3, 2, 3}));
  const Model turned = from_npz({{"coef_.npy", doubles("(1, 1)", {4})}, {"classes_.npy", texts("(2,)", "ba")}}, 1, two);
  EXPECT_EQ(turned.classes.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(turned.W, (Vector{2, -2})) << "the second class of the file is a";
}

TEST(Coefficients, AnArchiveNamesItsClassesAndIntercepts) {
  for (const std::string end : {"", "_"}) {
    const Model model =
        from_npz({{"coef" + end + ".npy", doubles("(3, 1)", {1, 2, 3})},
                  {"intercept" + end + ".npy", doubles("(3,)", {10, 20, 30})},
                  {"classes" + end + ".npy", npy_array("<i8", "(3,)", bytes_of(std::vector<std::int64_t>{20, -1, 3}))}},
                 1, two);
    EXPECT_EQ(model.classes.names, (std::vector<std::string>{"-1", "3", "20"}));
    EXPECT_EQ(model.W, (Vector{2, 20, 3, 30, 1, 10}));
    EXPECT_EQ(model.bias, 1.0);
  }
}

TEST(Coefficients, InterceptsThatAreAllZeroAreNone) {
  const Model scalar =
      from_npz({{"coef_.npy", doubles("(3, 1)", {1, 2, 3})}, {"intercept_.npy", doubles("()", {0})}}, 1, three);
  EXPECT_EQ(scalar.bias, 0.0);
  EXPECT_EQ(scalar.W, (Vector{1, 2, 3}));
  EXPECT_EQ(from_npy(doubles("(3, 2)", {1, 0, 2, 0, 3, 0}), 1, three).D(), 1);
}

TEST(Coefficients, WrongSizesAreNamed) {
  EXPECT_EQ(refusal([] { from_npy(doubles("(3, 2)", Vector(6)), 4, three); }),
            "w.npy: the matrix of weights is 3 x 2, but 3 classes and 4 features need 3 x 4, or 3 x 5 with the "
            "intercepts in the last column");
  EXPECT_THAT(refusal([] { from_npy(doubles("(2, 2)", Vector(4)), 2, three); }), HasSubstr("is 2 x 2, but 3 classes"));
  EXPECT_THAT(refusal([] { from_npy(doubles("(1, 2)", Vector(2)), 2, three); }), HasSubstr("is 1 x 2, but 3 classes"));
  EXPECT_THAT(refusal([] { from_npy(doubles("(3,)", Vector(3)), 1, three); }), HasSubstr("the shape is (3)"));
  EXPECT_THAT(refusal([] { from_npy(doubles("(3, 0)", {}), 1, three); }), HasSubstr("the shape is (3, 0)"));
  const std::string coef = doubles("(3, 2)", Vector(6));
  EXPECT_EQ(refusal([&] {
              from_npz({{"coef.npy", coef}, {"intercept.npy", doubles("(3,)", Vector(3))}}, 1, three);
            }),
            "w.npz: the matrix of weights is 3 x 2, but 3 classes and 1 features need 3 x 1");
  EXPECT_EQ(refusal([&] {
              from_npz({{"coef.npy", coef}, {"intercept.npy", doubles("(2,)", Vector(2))}}, 2, three);
            }),
            "w.npz: there are 2 intercepts for 3 rows of weights");
  EXPECT_THAT(refusal([&] {
                from_npz({{"coef.npy", coef}, {"intercept.npy", doubles("(3, 1)", Vector(3))}}, 2, three);
              }),
              HasSubstr("w.npz: intercept: at most one dimension"));
  EXPECT_THAT(refusal([&] {
                from_npz({{"coef.npy", coef}, {"classes.npy", texts("(2,)", "ab")}}, 2, three);
              }),
              HasSubstr("is 3 x 2, but 2 classes"));
}

TEST(Coefficients, WhatIsNoNumberOrNoClassIsRefused) {
  EXPECT_EQ(refusal([] {
              from_npy(doubles("(3, 2)", {1, 2, 3, NAN, 5, 6}), 2, three);
            }),
            "w.npy: row 2, column 2 (counted from 1): the value nan is not finite");
  const std::string coef = doubles("(3, 1)", Vector(3));
  EXPECT_THAT(refusal([&] {
                from_npz({{"coef.npy", coef}, {"intercept.npy", doubles("(3,)", {0, INFINITY, 0})}}, 1, three);
              }),
              HasSubstr("intercept: row 2, column 1 (counted from 1): the value inf is not finite"));
  EXPECT_THAT(refusal([] { from_npy(texts("(3, 1)", "abc"), 1, three); }), HasSubstr("numbers are needed"));
  EXPECT_EQ(refusal([&] {
              from_npz({{"coef.npy", coef}, {"classes.npy", texts("(3,)", "aba")}}, 1, three);
            }),
            "w.npz: only 2 of the 3 classes are distinct labels");
  EXPECT_EQ(refusal([&] {
              from_npz({{"coef.npy", coef}, {"classes.npy", texts("(3,)", std::string("a\0b", 3))}}, 1, three);
            }),
            "w.npz: only 2 of the 3 classes are distinct labels");
  EXPECT_EQ(refusal([&] {
              from_npz({{"weights.npy", coef}}, 1, three);
            }),
            "w.npz: holds neither an array coef nor coef_");
}

TEST(Coefficients, EveryTruncationIsRefused) {
  const std::string bytes = doubles("(3, 2)", {1, 2, 3, 4, 5, 6});
  for (std::size_t size = 8; size < bytes.size(); size += 7) {
    EXPECT_THAT(refusal([&] { from_npy(bytes.substr(0, size), 2, three); }), HasSubstr("w.npy: "));
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
