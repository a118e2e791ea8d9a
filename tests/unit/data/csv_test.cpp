// CSV: delimiters, quotes, headers, which column is the label, and places of errors.
#include "data/readers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<double>>;

RawDataset parse(std::string_view text, const ReadOptions& options = {}) {
  return parse_csv(Buffer(text), options, "f.csv");
}

std::string data_error(std::string_view text, const ReadOptions& options = {}) {
  return error_of(ErrorKind::data, [&] { parse(text, options); });
}

ReadOptions label_column(const std::string& column) {
  ReadOptions options;
  options.label_column = column;
  return options;
}

TEST(Csv, finds_commas_semicolons_and_tabs) {
  for (const char* text : {"1,2,a\n3,4,b\n", "1;2;a\n3;4;b\n", "1\t2\ta\n3\t4\tb\n", " 1 , +2 , a \n3,4,b"}) {
    const RawDataset raw = parse(text);
    EXPECT_EQ(dense_rows(raw.X), (Rows{{1, 2}, {3, 4}})) << text;
    EXPECT_THAT(labels_of(raw), ElementsAre("a", "b"));
    EXPECT_FALSE(is_sparse(raw));
  }
}

TEST(Csv, accepts_crlf_byte_order_mark_blank_lines_and_a_missing_last_newline) {
  const RawDataset raw = parse("\xef\xbb\xbf\r\nx,y,label\r\n\r\n1,2,a\r\n  \n3,4,b\r\n5,6,c");
  EXPECT_EQ(dense_rows(raw.X), (Rows{{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_THAT(labels_of(raw), ElementsAre("a", "b", "c"));
  EXPECT_THAT(labels_of(parse("x,label\r\n1,a\r\n2,b\r")), ElementsAre("a", "b"));
  EXPECT_THAT(labels_of(parse("x,label\r\n1,a\r\n2,\"b\"\r")), ElementsAre("a", "b"));
}

TEST(Csv, reads_quoted_cells_with_delimiters_quotes_and_newlines) {
  const RawDataset raw = parse("\"x, 1\",\"class\"\n1,\"a,\"\"b\"\"\nc\"\n\"2\",\" d \"\n");
  EXPECT_THAT(labels_of(raw), ElementsAre("a,\"b\"\nc", " d "));
  EXPECT_EQ(dense_rows(raw.X), (Rows{{1}, {2}}));
}

TEST(Csv, takes_the_label_from_a_usual_name_else_from_the_last_column) {
  EXPECT_THAT(labels_of(parse("Target,x1,x2\n7,1,2\n")), ElementsAre("7"));
  EXPECT_THAT(labels_of(parse("x1,CLASS,x2\n7,1,2\n")), ElementsAre("1"));
  EXPECT_THAT(labels_of(parse("y,label,x2\n7,1,2\n")), ElementsAre("1"));
  EXPECT_THAT(labels_of(parse("x1,x2,species\n7,1,2\n")), ElementsAre("2"));
  EXPECT_THAT(labels_of(parse("7,1,2\n")), ElementsAre("2"));
  EXPECT_THAT(labels_of(parse("0,1,label\n7,1,2\n")), ElementsAre("2"));
  EXPECT_THAT(labels_of(parse("7,1,y\n")), ElementsAre("y"));
}

TEST(Csv, takes_the_label_column_by_name_or_number) {
  EXPECT_THAT(labels_of(parse("kind,x1\na,1\n", label_column("kind"))), ElementsAre("a"));
  EXPECT_THAT(labels_of(parse("a,1\nb,2\n", label_column("1"))), ElementsAre("a", "b"));
  EXPECT_THAT(labels_of(parse("kind,x1\na,1\n", label_column("1"))), ElementsAre("a"));
  EXPECT_EQ(data_error("a,1\n", label_column("3")), "f.csv: the label column is 3, but the columns are 1 to 2");
  EXPECT_EQ(data_error("a,1\n", label_column("0")), "f.csv: the label column is 0, but the columns are 1 to 2");
  EXPECT_THAT(data_error("a,b\n1,2\n", label_column("kind")), HasSubstr("no column is named 'kind'"));
}

TEST(Csv, has_no_labels_when_predicting_on_exactly_the_expected_columns) {
  ReadOptions options;
  options.labels_optional = true;
  options.cols = 2;
  EXPECT_EQ(dense_rows(parse("1,2\n", options).X), (Rows{{1, 2}}));
  EXPECT_TRUE(parse("a,b\n1,2\n", options).label.empty());
  EXPECT_EQ(dense_rows(parse("a,b\n1,2\n", options).X), (Rows{{1, 2}}));
  EXPECT_THAT(labels_of(parse("1,2,x\n1,2,\n", options)), ElementsAre("x", ""));
  options.label_column = "2";
  EXPECT_THAT(labels_of(parse("1,2\n", options)), ElementsAre("2"));
}

TEST(Csv, refuses_each_bad_cell_with_its_place) {
  EXPECT_EQ(data_error("1,2,a\n3,,b\n"), "f.csv:2:3: a value is missing");
  EXPECT_EQ(data_error("1,,a\n"), "f.csv:1:3: a value is missing");
  EXPECT_EQ(data_error("1,2,a\n3, x,b\n"), "f.csv:2:4: the value 'x' is not a number");
  EXPECT_EQ(data_error("1,nan,a\n"), "f.csv:1:3: the value 'nan' is not finite");
  EXPECT_EQ(data_error("1,1e39,a\n"), "f.csv:1:3: the value '1e39' is too large for float32");
  EXPECT_EQ(data_error("1,2,a\n\n1,2\n"), "f.csv:3:3: the row has 2 cells, but the first line has 3");
  EXPECT_EQ(data_error("1,2,a\n1,2,a,9\n"), "f.csv:2:7: the row has 4 cells, but the first line has 3");
  EXPECT_EQ(data_error("1,2,a\n1,2,\n"), "f.csv:2:5: the label is missing");
  EXPECT_EQ(data_error("1,2,inf\n"), "f.csv:1:5: the label 'inf' is not finite");
  EXPECT_EQ(data_error("1,\"a\n"), "f.csv:1:3: the quote that opens here is never closed");
  EXPECT_THAT(data_error("1,\"a\"b\n"), HasSubstr("f.csv:1:6: a closing quote must be followed"));
  EXPECT_EQ(data_error("1,\"a\nb\"\nx,c\n"), "f.csv:3:1: the value 'x' is not a number");
  EXPECT_EQ(data_error(std::string_view("1,2\n1,\0\n", 8)), "f.csv:2:3: a NUL byte is not allowed in text");
}

TEST(Csv, refuses_files_without_rows_or_features) {
  EXPECT_EQ(data_error(""), "f.csv: the file has no rows");
  EXPECT_EQ(data_error("\n\n"), "f.csv: the file has no rows");
  EXPECT_EQ(data_error("a,b,label\n"), "f.csv: the file has a header but no rows");
  EXPECT_EQ(data_error("a\nb\n"), "f.csv: the file has a label column but no features");
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
