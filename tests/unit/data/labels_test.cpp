// From spellings to classes and class numbers; labels in files of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/labels.hpp"
#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RawDataset labelled(const std::vector<std::string>& labels) {
  RawDataset raw;
  LabelTable table;
  for (const std::string& label : labels) raw.label.push_back(label.empty() ? -1 : table.add(label));
  raw.spelling = table.take();
  raw.source = "f.svm";
  raw.X = DenseStore<float>{std::vector<float>(labels.size()), static_cast<std::int64_t>(labels.size()), 1};
  return raw;
}

std::vector<std::string> classes_of(const std::vector<std::string>& labels, LabelType expected) {
  const ClassList classes = collect_classes(labelled(labels));
  EXPECT_EQ(classes.type, expected);
  return classes.names;
}

TEST(CollectClasses, orders_integers_by_value_and_merges_spellings) {
  EXPECT_THAT(classes_of({"10", "+1", "-3", "9", "1", "01"}, LabelType::integer), ElementsAre("-3", "+1", "9", "10"));
  EXPECT_THAT(classes_of({"-0", "0", "-12", "-2"}, LabelType::integer), ElementsAre("-12", "-2", "-0"));
}

TEST(CollectClasses, keeps_long_integers_apart_that_are_one_double) {
  EXPECT_THAT(classes_of({"9007199254740993", "9007199254740992", "-9007199254740992", "-9007199254740993"},
                         LabelType::integer),
              ElementsAre("-9007199254740993", "-9007199254740992", "9007199254740992", "9007199254740993"));
}

TEST(CollectClasses, makes_reals_of_mixed_numbers) {
  EXPECT_THAT(classes_of({"1.9", "1", "1.0", "1.5", "1e0", "-.5"}, LabelType::real),
              ElementsAre("-.5", "1", "1.5", "1.9"));
}

TEST(CollectClasses, merges_booleans_of_either_case) {
  EXPECT_THAT(classes_of({"true", "False", "True", "false"}, LabelType::boolean), ElementsAre("False", "true"));
}

TEST(CollectClasses, orders_text_by_bytes) {
  EXPECT_THAT(classes_of({"b", "1", "a", "B", "1.0"}, LabelType::text), ElementsAre("1", "1.0", "B", "a", "b"));
  EXPECT_THAT(classes_of({"true", "1"}, LabelType::text), ElementsAre("1", "true"));
}

TEST(CollectClasses, believes_the_type_that_the_file_declares) {
  RawDataset raw = labelled({"10", "9"});
  raw.label_type = LabelType::text;
  EXPECT_THAT(collect_classes(raw).names, ElementsAre("10", "9"));
  raw.label_type = LabelType::real;
  EXPECT_EQ(collect_classes(raw).type, LabelType::real);
  EXPECT_THAT(collect_classes(raw).names, ElementsAre("9", "10"));
}

TEST(CollectClasses, leaves_out_spellings_that_no_row_has) {
  RawDataset raw = labelled({"1", "2", "cat"});
  raw.label.pop_back();
  EXPECT_EQ(collect_classes(raw).type, LabelType::integer);
  EXPECT_EQ(collect_classes(raw).size(), 2);
}

TEST(MapLabels, compares_numbers_by_value_and_gives_minus_one_to_strangers) {
  const RawDataset raw = labelled({"1", "+2", "2.0", "3", "", "x"});
  EXPECT_THAT(map_labels(raw, {LabelType::integer, {"+1", "2"}}), ElementsAre(0, 1, 1, -1, -1, -1));
  EXPECT_THAT(map_labels(raw, {LabelType::real, {"1.0", "2.00"}}), ElementsAre(0, 1, 1, -1, -1, -1));
}

TEST(MapLabels, compares_text_exactly_and_booleans_in_either_case) {
  EXPECT_THAT(map_labels(labelled({"a", "A", "1"}), {LabelType::text, {"A", "a"}}), ElementsAre(1, 0, -1));
  EXPECT_THAT(map_labels(labelled({"true", "False", "1"}), {LabelType::boolean, {"False", "True"}}),
              ElementsAre(1, 0, -1));
}

TEST(MapLabels, does_not_confuse_long_integers) {
  EXPECT_THAT(map_labels(labelled({"9007199254740993"}), {LabelType::integer, {"9007199254740992"}}), ElementsAre(-1));
}

TEST(MakeDataset, numbers_the_rows_and_takes_the_features_over) {
  const Dataset data = make_dataset(labelled({"5", "3", "5"}));
  EXPECT_THAT(data.y, ElementsAre(1, 0, 1));
  EXPECT_THAT(data.classes.names, ElementsAre("3", "5"));
  EXPECT_EQ(data.X.rows(), 3);
  EXPECT_TRUE(data.weights.empty());
}

TEST(MakeDataset, refuses_rows_without_label_and_a_single_class) {
  EXPECT_EQ(error_of(ErrorKind::data,
                     [] {
                       make_dataset(labelled({"1", "", "2"}));
                     }),
            "f.svm: row 2 (counted from 1) has no label");
  EXPECT_EQ(error_of(ErrorKind::data,
                     [] {
                       make_dataset(labelled({"1", "+1", "1.0"}));
                     }),
            "f.svm: every row has the label '1'; training needs at least two classes");
  EXPECT_THAT(error_of(ErrorKind::data, [] { make_dataset(labelled({})); }), HasSubstr("no rows"));
  EXPECT_THAT(error_of(ErrorKind::data,
                       [] {
                         make_dataset(labelled({"tea", "caf\xe9"}));
                       }),
              HasSubstr("f.svm: row 2 (counted from 1): the label 'caf\\xe9' is not UTF-8"));
}

TEST(LabelLines, are_one_label_each_without_blanks_around) {
  const Labels labels = parse_label_lines("\xef\xbb\xbf cat \r\ndog\n\nbig cat\n\n\n", "y.txt");
  EXPECT_THAT(labels.spelling, ElementsAre("cat", "dog", "big cat"));
  EXPECT_THAT(labels.label, ElementsAre(0, 1, -1, 2));
  EXPECT_THAT(parse_label_lines("a\nb", "y.txt").label, ElementsAre(0, 1));
}

TEST(LabelLines, refuse_nan_and_nul) {
  EXPECT_EQ(error_of(ErrorKind::data, [] { parse_label_lines("1\n  nan\n", "y.txt"); }),
            "y.txt:2:3: the label 'nan' is not finite");
  EXPECT_EQ(error_of(ErrorKind::data, [] { parse_label_lines(std::string_view("1\n\0", 3), "y.txt"); }),
            "y.txt:2:1: a NUL byte is not allowed in text");
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
