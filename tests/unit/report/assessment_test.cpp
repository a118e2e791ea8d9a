// Errors at k, class by class, against counting by hand, and plots.

#include "report/assessment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/svg.hpp"
#include "topwolf/evaluate.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Scores are the features themselves: three classes, W the identity.
Classifier identity_model() {
  Classifier model;
  model.d = 3;
  model.W = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  model.precision = Precision::float64;
  model.classes = {LabelType::text, {"a", "<b>", "c"}};
  return model;
}

Features rows() {
  return Features(FeatureStore(DenseStore<double>{{3, 2, 1, 3, 2, 1, 1, 2, 3, 2, 3, 1, 3, 1, 2}, 5, 3}));
}

const std::vector<std::int32_t> labels{0, 1, 1, 1, -1};

TEST(Assessment, CountsWhatIsWrongAtEveryKAndClass) {
  const Assessment seen = assess(Predictor(identity_model()), rows(), labels, 1);
  EXPECT_EQ(seen.rows, 5);
  EXPECT_THAT(seen.wrong_at, ElementsAre(3, 1, 1));
  EXPECT_DOUBLE_EQ(seen.error_at(2), 0.2);
  EXPECT_DOUBLE_EQ(seen.error_at(50), 0.2) << "a label unknown to the model is wrong at every k";
  ASSERT_EQ(seen.classes.size(), 3u);
  EXPECT_EQ(seen.classes[1].rows, 3);
  EXPECT_EQ(seen.classes[1].wrong, 2);
  ASSERT_EQ(seen.confusions.size(), 2u);
  EXPECT_EQ(seen.confusions[0].label, 1);
  EXPECT_EQ(seen.confusions[0].said, 0);
}

TEST(Assessment, AgreesWithTheErrorsAtK) {
  const Predictor predictor(identity_model());
  const Assessment seen = assess(predictor, rows(), labels, 2);
  const auto errors = top_k_errors(predictor, rows(), labels, {1, 2, 3});
  for (std::int64_t k = 1; k <= 3; ++k) EXPECT_DOUBLE_EQ(seen.error_at(k), errors[static_cast<std::size_t>(k - 1)]);
}

TEST(Assessment, TheBaselineNamesTheMostFrequentClassesOfTheTrainingRows) {
  const std::vector<std::int32_t> training{2, 2, 2, 0, 0, 1};
  EXPECT_DOUBLE_EQ(majority_error(training, {2, 0, 1, 1}, 3, 1), 0.75);
  EXPECT_DOUBLE_EQ(majority_error(training, {2, 0, 1, 1}, 3, 2), 0.5);
  EXPECT_DOUBLE_EQ(majority_error(training, {2, 0, 1, 1}, 3, 7), 0.0);
}

TEST(Assessment, WilsonsIntervalIsThatOfTheTextbook) {
  const Interval half = wilson_interval(0.5, 100);
  EXPECT_NEAR(half.low, 0.40383, 1e-4);
  EXPECT_NEAR(half.high, 0.59617, 1e-4);
  const Interval none = wilson_interval(0.0, 10);
  EXPECT_NEAR(none.low, 0.0, 1e-12);
  EXPECT_NEAR(none.high, 0.27753, 1e-4);
}

TEST(Plot, ShowsEveryPointThatItsAxesCan) {
  Plot plot("a < b", {"x"}, {"y", Plot::Scale::log});
  plot.add_line("one", {{0.0, 1.0}, {1.0, 0.01}, {2.0, 0.0}, {3.0, -1.0}});
  plot.add_points("two", {{1.0, 0.1}});
  const std::string svg = plot.svg();
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  std::size_t circles = 0;
  for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at) ++circles;
  EXPECT_EQ(circles, 3u);
  for (const char* bad : {"nan", "inf", "a < b"}) EXPECT_THAT(svg, Not(HasSubstr(bad)));
}

TEST(Plot, OfNothingOrOneValueIsStillAPlot) {
  for (const Plot::Points& points : {Plot::Points{}, Plot::Points{{2.0, 5.0}}, Plot::Points{{0.0, 0.0}, {0.0, 0.0}}}) {
    Plot plot("p", {"x"}, {"y", Plot::Scale::linear, true});
    plot.add_line("one", points);
    EXPECT_THAT(plot.svg(), Not(HasSubstr("nan")));
    EXPECT_THAT(plot.svg(), Not(HasSubstr(">-"))) << "a negative tick";
  }
}

TEST(Plot, TicksAreToldApart) {
  Plot plot("p", {"rows", Plot::Scale::linear, false, true}, {"gap", Plot::Scale::log});
  plot.add_points("one", {{5000.0, 1e-13}, {5001.0, 1e-14}});
  const std::string svg = plot.svg();
  for (const char* tick : {">5000<", ">5001<", ">1e-13<", ">1e-14<"}) EXPECT_THAT(svg, HasSubstr(tick));
  EXPECT_THAT(svg, Not(HasSubstr(">5000.5<")));
}

TEST(EscapeMarkup, LeavesNothingThatABrowserWouldRead) {
  EXPECT_EQ(escape_markup("<a href=\"x\">&\x01"), "&lt;a href=&quot;x&quot;&gt;&amp;\xef\xbf\xbd");
  EXPECT_EQ(escape_markup("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(escape_markup("\xc3\xb6"), "\xc3\xb6");
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
