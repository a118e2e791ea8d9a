// The page of a run, made from a real one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlReport, HoldsTheClaimTheErrorsAndNoMarkupFromLabels) {
  Dataset data;
  data.X = Features(FeatureStore(DenseStore<double>{{3, 2, 1, 3, 2, 1, 1, 2, 3, 2, 3, 1, 3, 1, 2}, 5, 3}));
  data.y = {0, 1, 1, 1, 2};
  data.classes = {LabelType::text, {"a", "<!--<script></script>", "c"}};
  const TrainResult result = train(data);
  RunReport report{data, result};
  report.status = "converged after 3 passes";
  report.certificate = "at most 0.05 % above the optimum";
  report.training = assess(Predictor(result.model), data.X, data.y, 1);
  const std::vector<std::int32_t> labels{0, 1, 1, 1, -1};
  report.held_out = {"test.svm", labels, assess(Predictor(result.model), data.X, labels, 1)};
  const std::string page = html_report(report);
  for (const char* part : {"at most 0.05 % above the optimum", "converged after 3 passes", "&lt;!--&lt;script&gt;",
                           "test.svm, 5 rows", "Worst classes", "Most confused", "held out", "class=\"plot\""}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = page.find("</script>", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 1u);
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
}

TEST(HtmlReport, SaysHowLongTheRowsAreWithoutTheConstantFeature) {
  Dataset data;
  data.X = Features(FeatureStore(DenseStore<double>{{3, 4, 1e-9, 0, 0, 2}, 3, 2}));
  data.y = {0, 1, 0};
  data.classes = {LabelType::text, {"a", "b"}};
  TrainOptions options;
  options.bias = 1.0;
  const TrainResult result = train(data, options);
  RunReport report{data, result};
  report.training = assess(Predictor(result.model), data.X, data.y, 1);
  EXPECT_THAT(html_report(report), HasSubstr("1e-09 to 5, median 2"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
