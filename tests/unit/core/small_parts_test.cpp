// The small parts of core: fingerprints, status names, whole files in, strict JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "core/escape.hpp"
#include "core/hash.hpp"
#include "core/read_file.hpp"
#include "core/strict_json.hpp"
#include "topwolf/select.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;

TEST(Hash, is_xxh3_128_as_published) {
  EXPECT_EQ(Hasher().hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hash, does_not_depend_on_how_the_bytes_are_cut) {
  const std::string text(1000, 'x');
  Hasher whole;
  whole.add(text);
  Hasher pieces;
  for (std::size_t i = 0; i < text.size(); i += 8) pieces.add(text.data() + i, 8);
  pieces.add(nullptr, 0);
  EXPECT_EQ(whole.hex(), pieces.hex());
  EXPECT_EQ(whole.hex().size(), 32u);
  pieces.add("y");
  EXPECT_NE(whole.hex(), pieces.hex());
}

template <class E>
class NamesOf : public testing::Test {};
using Enumerations = testing::Types<Status, SolverName, ScoresName, LossName, NormalizeKind, Precision, LabelType>;
TYPED_TEST_SUITE(NamesOf, Enumerations);

TYPED_TEST(NamesOf, values_go_there_and_back) {
  for (std::size_t value = 0; value < Names<TypeParam>::all.size(); ++value) {
    const auto name = to_string(static_cast<TypeParam>(value));
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(parse_name<TypeParam>(name), static_cast<TypeParam>(value)) << name;
  }
  EXPECT_EQ(parse_name<TypeParam>("no such name"), std::nullopt);
}

TEST(Names, are_those_of_the_last_value) {
  EXPECT_EQ(to_string(Status::interrupted), "interrupted");
  EXPECT_EQ(to_string(SolverName::pg), "pg");
  EXPECT_EQ(to_string(ScoresName::gram), "gram");
  EXPECT_EQ(to_string(LossName::weighted_usunier), "weighted-usunier");
  EXPECT_EQ(to_string(NormalizeKind::maxabs), "maxabs");
  EXPECT_EQ(to_string(Precision::float64), "float64");
  EXPECT_EQ(to_string(LabelType::text), "text");
}

TEST(ReadFile, returns_every_byte) {
  const TempFolder folder;
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 300000}) {
    const std::string content(size, '\0');
    write_text(folder.file("a"), content);
    const std::vector<char> bytes = read_file(folder.file("a"));
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), content);
  }
}

TEST(ReadFile, reads_a_pipe_to_its_end) {
  const TempFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_text(pipe, std::string(200000, 'p')); });
  const std::vector<char> bytes = read_file(pipe);
  writer.join();
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), std::string(200000, 'p'));
}

TEST(ReadFile, names_what_cannot_be_read_and_why) {
  const TempFolder folder;
  const std::string path = folder.file("missing");
  EXPECT_EQ(error_of(ErrorKind::io, [&] { read_file(path); }), path + ": cannot be read: No such file or directory");
  EXPECT_THAT(error_of(ErrorKind::io, [&] { read_file(folder.file("")); }), HasSubstr("Is a directory"));
}

TEST(Escape, shows_what_would_act_on_a_terminal_or_break_a_line) {
  EXPECT_EQ(escape_controls("a\tb\nc\rd\x1b[0m\x7f"), "a\\tb\\nc\\rd\\u001b[0m\\u007f");
  EXPECT_EQ(escape_controls(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(escape_controls("\u0085\u009b\u2028\u2029"), "\\u0085\\u009b\\u2028\\u2029");
  EXPECT_EQ(escape_controls("\u00e9\u4e2d\u2027 \\ \xc2"), "\u00e9\u4e2d\u2027 \\ \xc2");
  EXPECT_EQ(escape_field("a\\nb\n"), "a\\\\nb\\n");
}

TEST(StrictJson, reads_what_is_json) {
  const nlohmann::json value = parse_strict_json(R"({"a": [1, {"a": 2}], "b": {"a": 0.1}})", "f", "the header");
  EXPECT_EQ(value["a"][1]["a"], 2);
  EXPECT_EQ(value["b"]["a"], 0.1);
}

TEST(StrictJson, refuses_what_is_not) {
  for (const char* text : {"", "{", "{}x", "{\"a\":}", "[1,]", "nul", "{\"a\" 1}", "\"\xff\"", "\"\n\"", "01"}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { parse_strict_json(text, "f", "the header"); }),
                HasSubstr("f: the header is not well-formed JSON at byte "))
        << text;
  }
}

TEST(StrictJson, refuses_duplicate_keys_at_every_level) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"({"b": {"a": 1, "c": {}, "a": 1}})", R"([{"a": [], "a": []}])"}) {
    EXPECT_EQ(error_of(ErrorKind::data, [&] { parse_strict_json(text, "f", "the header"); }),
              "f: the header has the key \"a\" twice");
  }
}

TEST(StrictJson, refuses_deep_nesting_without_exhausting_the_stack) {
  for (const std::string open : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 1000000; ++i) text += open;
    EXPECT_EQ(error_of(ErrorKind::data, [&] { parse_strict_json(text, "f", "the header"); }),
              "f: the header nests deeper than 16 levels");
  }
}

TEST(StrictJson, refuses_numbers_beyond_a_double) {
  EXPECT_EQ(error_of(ErrorKind::data, [&] { parse_strict_json("[1e999]", "f", "the header"); }),
            "f: the header has a number that no double can hold");
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
