// State: what is taken out comes back bit for bit, also through a file.

#include "core/state.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

struct Thing {
  std::int64_t count = 0;
  bool flag = false;
  double number = 0.0;
  std::string text;
  std::vector<float> singles;
  std::vector<std::int32_t> indices;

  void exchange(State& state) {
    state("count", count);
    state("flag", flag);
    state("number", number);
    state("text", text);
    state.within("arrays", [&](State& inner) {
      inner("singles", singles);
      inner("indices", indices);
    });
  }
  bool operator==(const Thing&) const = default;
};

Thing example() {
  return {-7, true, -std::numeric_limits<double>::infinity(), "a \"text\"", {0.1f, -0.0f}, {}};
}

TEST(State, ComesBackBitForBitThroughAFile) {
  const TempFolder folder;
  const std::string path = folder.file("state");
  Thing first = example(), second;
  State out;
  first.exchange(out);
  out.write(path, "{}");
  State in = State::read(TensorFile::read(path));
  second.exchange(in);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(std::signbit(second.singles[1]));
}

TEST(State, HoldsOthersUnderAName) {
  Thing first = example(), second;
  State part, whole;
  first.exchange(part);
  whole.add("thing", part);
  EXPECT_TRUE(whole.has("thing.count"));
  EXPECT_FALSE(whole.has("count"));
  State again = whole.part("thing");
  second.exchange(again);
  EXPECT_EQ(first, second);
  EXPECT_FALSE(whole.part("another").has("count"));
}

TEST(State, NamesWhatIsMissingOrOfAnotherType) {
  State empty, wrong;
  State nothing = empty.part("x");
  double number = 0.0;
  EXPECT_THROW(nothing("number", number), Error);
  std::vector<float> singles{1.0f};
  wrong.within("x", [&](State& x) { x("number", singles); });
  State typed = wrong.part("x");
  EXPECT_THROW(typed("number", number), Error);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
