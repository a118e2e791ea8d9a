// What held-out rows are judged by, as text and back.

#include "report/metric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;

MetricTerm term(std::int64_t k, double weight) {
  return {k, weight};
}

TEST(Metric, IsOneErrorOrAMix) {
  EXPECT_THAT(Metric().terms, ElementsAre(term(1, 1.0)));
  EXPECT_THAT(parse_metric("top7").terms, ElementsAre(term(7, 1.0)));
  EXPECT_THAT(parse_metric("cost").terms, ElementsAre(term(0, 1.0)));
  EXPECT_THAT(parse_metric("top1+top5").terms, ElementsAre(term(1, 0.5), term(5, 0.5)));
  EXPECT_THAT(parse_metric(" 3 * top1 + cost ").terms, ElementsAre(term(1, 0.75), term(0, 0.25)));
  EXPECT_THAT(parse_metric("1e308*top1+1e308*top2").terms, ElementsAre(term(1, 0.5), term(2, 0.5)));
}

TEST(Metric, KnowsItsLargestKAndItsCosts) {
  EXPECT_EQ(parse_metric("top1+top5+top3").largest_k(), 5);
  EXPECT_EQ(parse_metric("cost").largest_k(), 0);
  EXPECT_TRUE(parse_metric("top1+cost").costs());
  EXPECT_FALSE(parse_metric("top1+top5").costs());
}

TEST(Metric, GoesToTextAndBack) {
  for (const char* text : {"top1", "top12", "cost", "top1+top5", "0.7*top1+0.3*top5", "0.25*cost+0.75*top3"}) {
    EXPECT_EQ(to_string(parse_metric(text)), text);
    EXPECT_EQ(parse_metric(to_string(parse_metric(text))), parse_metric(text));
  }
}

TEST(Metric, RefusesWhatIsNone) {
  for (const char* text : {"", "top", "top0", "top-1", "top1.5", "top1+", "+top1", "5", "accuracy", "x*top1", "*top1",
                           "0.5 top1", "0.5*", "top99999999999999999999", "Top1", "1e999*top1"}) {
    EXPECT_THAT([&] { parse_metric(text); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr("but it must be top1")))
        << text;
  }
  for (const char* text : {"0*top1", "-1*top1", "nan*top1+top5", "inf*top1"}) {
    EXPECT_THAT([&] { parse_metric(text); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr("must be finite and above 0")))
        << text;
  }
  EXPECT_THAT([] { parse_metric("top1+0.5*top1"); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("names top1 twice")));
  EXPECT_THROW(check(Metric{{}}), Error);
  EXPECT_THROW(check(Metric{{{-1, 1.0}}}), Error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
