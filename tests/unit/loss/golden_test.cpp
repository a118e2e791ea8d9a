// Loss values, envelopes and projections against values computed elsewhere.

#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/plain.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::golden;

TEST(Golden, LossesAndEnvelopes) {
  RowScratch scratch;
  SparseRow row;
  int checked = 0;
  for (const auto& entry : golden().at("loss")) {
    const auto s = entry.at("s").get<Vector>(), delta = entry.at("delta").get<Vector>();
    const auto m = static_cast<std::int64_t>(s.size());
    const auto y = entry.at("y").get<std::int64_t>();
    const Loss loss = resolve_loss(testing::spec_of(entry, entry), m);
    const double value = loss.smoothing > 0.0 ? envelope(loss, delta.data(), s.data(), m, y, row, scratch)
                                              : vertex(loss, delta.data(), s.data(), m, y, row, scratch).phi;
    EXPECT_NEAR(value, entry.at("value").get<double>(), 1e-10) << entry.dump();
    ++checked;
  }
  EXPECT_EQ(checked, 60);
}

TEST(Golden, Projections) {
  RowScratch scratch;
  SparseRow row;
  int checked = 0;
  for (const auto& entry : golden().at("projection")) {
    const auto a = entry.at("a").get<Vector>(), expected = entry.at("alpha").get<Vector>();
    const auto m = static_cast<std::int64_t>(a.size());
    const auto y = entry.at("y").get<std::int64_t>();
    project(resolve_loss(testing::spec_of(entry, entry), m), a.data(), m, y, row, scratch);
    const Vector alpha = plain::dense(row, m);
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(alpha[j], expected[j], 1e-10) << entry.dump();
    ++checked;
  }
  EXPECT_EQ(checked, 60);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
