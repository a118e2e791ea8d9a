// From names and wishes to a loss: defaults, and one sentence for everything that is not allowed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "topwolf/error.hpp"
#include "topwolf/loss.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ErrorKind kind_of(const LossSpec& spec, std::int64_t m) {
  try {
    resolve_loss(spec, m);
  } catch (const Error& error) {
    EXPECT_GT(std::string(error.what()).size(), 20u);
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::internal;
}

TEST(ParseLoss, TakesDashesUnderscoresAndK) {
  EXPECT_EQ(parse_loss("weighted_top_k").name, LossName::weighted_top_k);
  EXPECT_EQ(parse_loss("weighted-usunier").name, LossName::weighted_usunier);
  EXPECT_EQ(parse_loss("usunier:20").k, 20);
  EXPECT_FALSE(parse_loss("top-k").k.has_value());
  for (const char* text : {"hinge", "", "usunier:", "usunier:0", "usunier:-3", "usunier:2x", "max-hinge:3"}) {
    EXPECT_THROW(parse_loss(text), Error) << text;
  }
}

TEST(ResolveLoss, FillsInTheDefaults) {
  EXPECT_THAT(resolve_loss({}, 10).rho, ElementsAre(1.0));
  EXPECT_EQ(resolve_loss(parse_loss("top-k"), 10).K(), 5);
  EXPECT_EQ(resolve_loss(parse_loss("top-k"), 3).K(), 2);
  EXPECT_EQ(resolve_loss(parse_loss("top-k"), 10).family, Family::top_k);
  const Loss weighted = resolve_loss(parse_loss("weighted-usunier"), 10);
  EXPECT_EQ(weighted.family, Family::usunier);
  EXPECT_THAT(weighted.rho, ElementsAre(DoubleEq(5.0 / 15), DoubleEq(4.0 / 15), DoubleEq(3.0 / 15), DoubleEq(2.0 / 15),
                                        DoubleEq(1.0 / 15)));
  EXPECT_THAT(resolve_loss(parse_loss("weighted-usunier"), 3).rho, ElementsAre(DoubleEq(5.0 / 9), DoubleEq(4.0 / 9)));
}

TEST(ResolveLoss, KeepsRhoAsGivenWithoutItsZeros) {
  LossSpec spec = parse_loss("weighted-top-k");
  spec.rho = {3.0, 1.0, 1.0, 0.0, 0.0};
  EXPECT_THAT(resolve_loss(spec, 4).rho, ElementsAre(3.0, 1.0, 1.0));
}

TEST(ResolveLoss, TellsOptionsThatAreNeverAllowedFromThoseThatDoNotFitTheData) {
  LossSpec k = parse_loss("usunier:5");
  EXPECT_EQ(kind_of(k, 5), ErrorKind::data);
  k.k = 0;
  EXPECT_EQ(kind_of(k, 5), ErrorKind::option);
  LossSpec max_hinge;
  max_hinge.k = 3;
  EXPECT_EQ(kind_of(max_hinge, 5), ErrorKind::option);
  LossSpec unweighted = parse_loss("usunier");
  unweighted.rho = {1.0};
  EXPECT_EQ(kind_of(unweighted, 5), ErrorKind::option);

  LossSpec rho = parse_loss("weighted-usunier");
  for (const std::vector<double>& bad :
       {std::vector<double>{0.0}, {0.5, 0.6}, {-1.0}, {std::nan("")}, {INFINITY}, {1.0, -0.5}}) {
    rho.rho = bad;
    EXPECT_EQ(kind_of(rho, 9), ErrorKind::option);
  }
  rho.rho = {1.0, 1.0, 1.0};
  EXPECT_EQ(kind_of(rho, 3), ErrorKind::data);
  EXPECT_NO_THROW(resolve_loss(rho, 4));
  EXPECT_EQ(kind_of({}, 1), ErrorKind::data);
  LossSpec smooth;
  smooth.smoothing = -1.0;
  EXPECT_EQ(kind_of(smooth, 3), ErrorKind::option);
}

TEST(ResolveLoss, ChecksTheCostMatrix) {
  LossSpec spec;
  for (const std::vector<double>& bad :
       {std::vector<double>{0, 1, 1}, {1, 1, 1, 0}, {0, -1, 1, 0}, {0, std::nan(""), 1, 0}, {0, INFINITY, 1, 0}}) {
    spec.cost_matrix = bad;
    EXPECT_EQ(kind_of(spec, 2), ErrorKind::data);
  }
  spec.cost_matrix = {0, 2, 0.5, 0};
  EXPECT_NO_THROW(resolve_loss(spec, 2));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
