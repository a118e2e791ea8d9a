// LIBSVM text: what is accepted, what is refused and where, and that threads change neither.
#include "data/readers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "data/libsvm_line.hpp"
#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<double>>;

RawDataset parse(std::string_view text, const ReadOptions& options = {}, std::size_t chunk_bytes = 16) {
  return parse_libsvm(TextSource(Buffer(text)), options, "f.svm", chunk_bytes);
}

std::string data_error(std::string_view text, const ReadOptions& options = {}) {
  return error_of(ErrorKind::data, [&] { parse(text, options); });
}

TEST(LibsvmText, gives_rows_labels_and_the_largest_index_as_columns) {
  const RawDataset raw = parse("1 1:0.5 3:-2\n-1 2:1e3\n1 4:7\n");
  EXPECT_EQ(dense_rows(raw.X), (Rows{{0.5, 0, -2, 0}, {0, 1000, 0, 0}, {0, 0, 0, 7}}));
  EXPECT_THAT(labels_of(raw), ElementsAre("1", "-1", "1"));
  EXPECT_THAT(raw.spelling, ElementsAre("1", "-1"));
  EXPECT_EQ(raw.index_base, 1);
  EXPECT_TRUE(is_sparse(raw));
  EXPECT_FALSE(raw.label_type.has_value());
}

TEST(LibsvmText, accepts_comments_blank_lines_crlf_byte_order_mark_and_a_missing_last_newline) {
  const RawDataset raw =
      parse("\xef\xbb\xbf# a: header, 1:2\r\n\r\n+1\t1:1  2:2 # note 3:4\r\n   \n 2 2:5#x\n\n3\t\r\ncat 1:4.");
  EXPECT_EQ(dense_rows(raw.X), (Rows{{1, 2}, {0, 5}, {0, 0}, {4, 0}}));
  EXPECT_THAT(labels_of(raw), ElementsAre("+1", "2", "3", "cat"));
}

TEST(LibsvmText, sorts_the_indices_of_a_row) {
  const RawDataset raw = parse("1 3:3 1:1 2:2\n2 2:5\n");
  const auto& X = std::get<CsrStore<float>>(raw.X);
  EXPECT_THAT(X.column, ElementsAre(0, 1, 2, 1));
  EXPECT_THAT(X.values, ElementsAre(1, 2, 3, 5));
}

TEST(LibsvmText, counts_from_0_if_an_index_is_0_or_if_told) {
  EXPECT_EQ(dense_rows(parse("1 1:1\n2 0:2 1:3\n").X), (Rows{{0, 1}, {2, 3}}));
  EXPECT_EQ(parse("1 1:1\n2 0:2 1:3\n").index_base, 0);
  ReadOptions options;
  options.index_base = 0;
  EXPECT_EQ(dense_rows(parse("1 1:1\n", options).X), (Rows{{0, 1}}));
  EXPECT_EQ(parse("1 1:1\n", options).index_base, 0);
  options.index_base = 1;
  EXPECT_EQ(data_error("1 1:1\n2 2:1 0:2\n", options),
            "f.svm:2:7: the index 0 is not allowed where indices count from 1");
  options.index_base = 2;
  EXPECT_THAT(error_of(ErrorKind::option, [&] { parse("1 1:1\n", options); }), HasSubstr("only 0 and 1"));
}

TEST(LibsvmText, refuses_each_malformed_row_with_its_place) {
  EXPECT_EQ(data_error("1 1:1\n2 2:1 1:1 2:3\n"), "f.svm:2:11: the index 2 appears twice in the row");
  EXPECT_EQ(data_error("1 1:nan\n"), "f.svm:1:5: the value 'nan' is not finite");
  EXPECT_EQ(data_error("1 1:-Inf\n"), "f.svm:1:5: the value '-Inf' is not finite");
  EXPECT_EQ(data_error("1 1:1e39\n"), "f.svm:1:5: the value '1e39' is too large for float32");
  EXPECT_EQ(data_error("1 2147483647:1\n"), "f.svm:1:3: the index '2147483647' is larger than 2147483646");
  EXPECT_THAT(data_error("1 99999999999999999999999:1\n"), HasSubstr("f.svm:1:3: the index '99999"));
  EXPECT_EQ(data_error("\n\n1,3 1:2\n"), "f.svm:3:1: the label '1,3' is a list; multi-label data is not supported");
  EXPECT_EQ(data_error("1 1:2\n1:2 2:3\n"), "f.svm:2:1: the row begins with '1:2' and has no label");
  EXPECT_EQ(data_error("1 1:2 5\n"), "f.svm:1:7: '5' is not a pair index:value");
  EXPECT_EQ(data_error("1 qid:3 1:2\n"), "f.svm:1:3: 'qid:3' is not a pair index:value");
  EXPECT_EQ(data_error("1 -1:2\n"), "f.svm:1:3: '-1:2' is not a pair index:value");
  EXPECT_EQ(data_error("1 1:\n"), "f.svm:1:5: a value is missing");
  EXPECT_EQ(data_error("1 1: 2\n"), "f.svm:1:5: a value is missing");
  EXPECT_EQ(data_error("1 1:0x10\n"), "f.svm:1:5: the value '0x10' is not a number");
  EXPECT_EQ(data_error("1 1:+-1\n"), "f.svm:1:5: the value '+-1' is not a number");
  EXPECT_EQ(data_error("1 1:1,5\n"), "f.svm:1:5: the value '1,5' is not a number");
  EXPECT_EQ(data_error("nan 1:1\n"), "f.svm:1:1: the label 'nan' is not finite");
  EXPECT_EQ(data_error("1 1:1\n-INF 1:1\n"), "f.svm:2:1: the label '-INF' is not finite");
  EXPECT_EQ(data_error("C# 1:1\n"), "f.svm:1:2: the label 'C#' contains '#'; a comment needs a blank before it");
}

TEST(LibsvmText, refuses_nul_bytes_wherever_they_are) {
  using std::literals::string_view_literals::operator""sv;
  for (const auto& [text, place] : {std::pair{"1\0 1:1\n"sv, "1:2"},
                                    {"1 1\0:1\n"sv, "1:4"},
                                    {"1 1:1\0\n"sv, "1:6"},
                                    {"1 1:1 \0\n"sv, "1:7"},
                                    {"1 1:1 # \0\n"sv, "1:9"},
                                    {"#\0\n"sv, "1:2"}}) {
    EXPECT_EQ(data_error(text), std::string("f.svm:") + place + ": a NUL byte is not allowed in text");
  }
}

TEST(LibsvmText, refuses_a_file_without_rows) {
  for (const char* text : {"", "\n", "# only a comment\n\n", "\xef\xbb\xbf"}) {
    EXPECT_EQ(data_error(text), "f.svm: the file has no rows");
  }
}

TEST(LibsvmText, accepts_rows_without_labels_if_they_are_optional) {
  ReadOptions options;
  options.labels_optional = true;
  const RawDataset raw = parse("1:2 2:3\nb 1:1\n", options);
  EXPECT_THAT(labels_of(raw), ElementsAre("", "b"));
  EXPECT_EQ(dense_rows(raw.X), (Rows{{2, 3}, {1, 0}}));
}

TEST(LibsvmText, takes_the_largest_index_and_refuses_the_next) {
  EXPECT_EQ(std::get<CsrStore<float>>(parse("1 2147483646:1\n").X).cols, 2147483646);
  EXPECT_EQ(std::get<CsrStore<float>>(parse("1 0:1 2147483645:1\n").X).cols, 2147483646);
  const std::string beyond = "the index '2147483646' is larger than 2147483645, the last where indices count from 0";
  EXPECT_EQ(data_error("1 2:1\n1 3:1 2147483646:1\n1 0:1\n"), "f.svm:2:7: " + beyond);
  ReadOptions options;
  options.index_base = 0;
  EXPECT_EQ(data_error("1 2147483646:1\n", options), "f.svm:1:3: " + beyond);
}

TEST(LibsvmText, rounds_what_is_too_small_to_zero_and_keeps_double_range_in_double) {
  EXPECT_EQ(dense_rows(parse("1 1:1e-400\n").X), (Rows{{0}}));
  const std::string zeros(400, '0');
  for (const std::string& small : {"0." + zeros + "1e3", std::string("1e-99999999999999999999"),
                                   std::string("-0.001e-9223372036854775808"), "0." + zeros + "9"}) {
    EXPECT_EQ(dense_rows(parse("1 1:" + small + "\n").X), (Rows{{0}})) << small;
  }
  for (const std::string& large : {"1" + zeros, "1" + zeros + ".5e-3", std::string("0.001e9223372036854775807"),
                                   std::string("-1e99999999999999999999")}) {
    EXPECT_THAT(data_error("1 1:" + large + "\n"), HasSubstr("is too large for float32")) << large;
  }
  ReadOptions options;
  options.precision = Precision::float64;
  EXPECT_EQ(dense_rows(parse("1 1:1e39 2:0.1\n", options).X), (Rows{{1e39, 0.1}}));
  EXPECT_EQ(data_error("1 1:1e309\n", options), "f.svm:1:5: the value '1e309' is too large for float64");
}

TEST(LibsvmText, shows_control_characters_and_long_tokens_harmlessly) {
  EXPECT_EQ(data_error("1 \x1b[31m\n"), "f.svm:1:3: '\\x1b[31m' is not a pair index:value");
  EXPECT_LT(data_error("1 " + std::string(100000, 'x')).size(), 120u);
}

// The plain path must agree with the general one to the last bit.
RC_GTEST_PROP(LibsvmText, reads_plain_decimals_as_strtof_and_strtod_do, ()) {
  const auto places = *rc::gen::inRange<std::size_t>(0, 20);
  std::string text = std::to_string(*rc::gen::arbitrary<std::uint64_t>() >> *rc::gen::inRange(0, 60));
  if (places < text.size()) text.insert(text.size() - places, ".");
  if (*rc::gen::arbitrary<bool>()) text.insert(0, "-");
  ReadOptions options;
  RC_ASSERT(std::get<CsrStore<float>>(parse("1 1:" + text, options).X).values[0] == std::strtof(text.c_str(), nullptr));
  options.precision = Precision::float64;
  RC_ASSERT(std::get<CsrStore<double>>(parse("1 1:" + text, options).X).values[0] ==
            std::strtod(text.c_str(), nullptr));
}

TEST(LibsvmText, does_not_round_twice) {
  // Rounded to double first, these land halfway between two float32 and could then round the wrong way.
  for (const char* text : {"1.0000000596046448", "1.0000001788139343", "16777217", "16777219.0"}) {
    float value = 0;
    const std::string line = std::string(text) + "\n";
    const char* place = line.c_str();
    EXPECT_FALSE(parse_plain_decimal(place, value)) << text;
    EXPECT_EQ(place, line.c_str());
    EXPECT_EQ(dense_rows(parse("1 1:" + line).X)[0][0], std::strtof(text, nullptr)) << text;
  }
}

std::string random_text() {
  std::string text;
  const auto rows = *rc::gen::inRange(0, 40);
  for (int i = 0; i < rows; ++i) {
    const auto kind = *rc::gen::inRange(0, 12);
    if (kind == 0) text += "# 1:2 comment";
    if (kind > 1) {
      text += "l" + std::to_string(*rc::gen::inRange(0, 5));
      for (int k = *rc::gen::inRange(0, 5); k > 0; --k) {
        text += " " + std::to_string(*rc::gen::inRange(0, 60)) + ":" + std::to_string(*rc::gen::inRange(-9, 9)) + ".5";
      }
    }
    text += "\n";
  }
  return text;
}

RC_GTEST_PROP(LibsvmText, gives_the_same_rows_or_the_same_error_for_any_threads_and_chunks_from_memory_or_a_file, ()) {
  const TempFolder folder;
  const std::string text = random_text(), path = folder.file("f.svm");
  std::ofstream(path) << text;
  const auto outcome = [&](int threads, std::size_t chunk_bytes, bool from_file = false) {
    ReadOptions options;
    options.threads = threads;
    try {
      const RawDataset raw =
          from_file ? parse_libsvm(TextSource(path), options, "f.svm", chunk_bytes) : parse(text, options, chunk_bytes);
      const auto& X = std::get<CsrStore<float>>(raw.X);
      return std::tuple(std::string(), X.row_begin, X.column, X.values, raw.label, raw.spelling);
    } catch (const Error& error) {
      return std::tuple(std::string(error.what()), std::vector<std::int64_t>(), std::vector<std::int32_t>(),
                        std::vector<float>(), std::vector<std::int32_t>(), std::vector<std::string>());
    }
  };
  const auto expected = outcome(1, 1 << 20);
  for (const int threads : {1, 2, 7}) {
    for (const std::size_t chunk_bytes : {1, 13, 100}) {
      RC_ASSERT(outcome(threads, chunk_bytes) == expected);
      RC_ASSERT(outcome(threads, chunk_bytes, true) == expected);
    }
  }
}

TEST(TextSource, reads_pieces_and_lines_of_a_file_as_of_memory) {
  const TempFolder folder;
  const std::string text = "ab\nc\n" + std::string(100000, 'x') + "\nlast", path = folder.file("t");
  std::ofstream(path) << text;
  Buffer scratch;
  const auto check = [&](const TextSource& source) {
    EXPECT_EQ(source.size(), text.size());
    EXPECT_EQ(source.piece(1, 5, scratch), "b\nc\n");
    EXPECT_EQ(source.lines(0, 3, scratch), "ab\n");
    EXPECT_EQ(source.lines(text.size() - 4, text.size(), scratch), "last\n");
    EXPECT_EQ(source.line_end(0, scratch), 3U);
    EXPECT_EQ(source.line_end(2, scratch), 3U);
    EXPECT_EQ(source.line_end(6, scratch), text.size() - 4);
    EXPECT_EQ(source.line_end(text.size() - 2, scratch), text.size());
  };
  check(TextSource(Buffer(text)));
  const TextSource file(path);
  check(file);
  std::filesystem::resize_file(path, 10);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { file.piece(0, text.size(), scratch); }), HasSubstr("became shorter"));
}

TEST(LibsvmText, reports_the_first_of_many_errors_for_any_number_of_threads) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "1 1:1 2:2\n";
  const std::string good = text;
  for (int i = 0; i < 2000; ++i) text += "1 1:1 2:x\n";
  for (const int threads : {1, 2, 7}) {
    ReadOptions options;
    options.threads = threads;
    EXPECT_EQ(data_error(text, options), "f.svm:2001:9: the value 'x' is not a number");
    EXPECT_NO_THROW(parse(good, options));
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
