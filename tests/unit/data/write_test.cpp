// What is written is read back the same, in every format; what a format cannot say is refused and leaves no file.
#include "data/write.hpp"
#include "data/readers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
RawDataset random_sparse() {
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto cols = *rc::gen::inRange<std::int32_t>(1, 30);
  RawDataset raw;
  CsrStore<T> X{{0}, {}, {}, rows, cols};
  raw.index_base = *rc::gen::inRange(0, 2);
  raw.spelling = {"3", "+1", "-7"};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int32_t j = 0; j < cols; ++j) {
      if (*rc::gen::inRange(0, 4) != 0) continue;
      X.column.push_back(j);
      // Every exponent, so that few digits would not do.
      const int exponent = *rc::gen::inRange(-120, 120);
      X.values.push_back(static_cast<T>(std::ldexp(1.0 + *rc::gen::inRange(0, 1 << 30) * 0x1.0p-30, exponent)));
    }
    X.row_begin.push_back(static_cast<std::int64_t>(X.values.size()));
    raw.label.push_back(*rc::gen::inRange(0, 3));
  }
  raw.X = std::move(X);
  return raw;
}

template <class T>
void check_round_trip() {
  const TempFolder folder;
  const RawDataset raw = random_sparse<T>();
  ReadOptions options;
  options.precision = sizeof(T) == 4 ? Precision::float32 : Precision::float64;
  options.cols = std::get<CsrStore<T>>(raw.X).cols;
  options.index_base = raw.index_base;
  for (const char* name : {"a.svm", "a.csv", "a.npz", "a.twd", "a.npy"}) {
    options.path = folder.file(name);
    options.labels_path = options.path.ends_with(".npy") ? folder.file("y.npy") : "";
    write_dataset(raw, options.path, options.labels_path);
    ReadReport report;
    const RawDataset back = read_raw(options, &report);
    RC_ASSERT(dense_rows(back.X) == dense_rows(raw.X));
    RC_ASSERT(report.dropped_values == 0);
    RC_ASSERT(map_labels(back, collect_classes(back)) == map_labels(raw, collect_classes(raw)));
    RC_ASSERT(options.path.ends_with(".npz") || options.path.ends_with(".npy") || labels_of(back) == labels_of(raw));
  }
}

RC_GTEST_PROP(Write, is_undone_by_reading_in_float32, ()) {
  check_round_trip<float>();
}

RC_GTEST_PROP(Write, is_undone_by_reading_in_float64, ()) {
  check_round_trip<double>();
}

template <class Half>
void check_half_round_trip() {
  const TempFolder folder;
  RawDataset raw;
  DenseStore<Half> X{{}, 3, 7};
  for (int c = 0; c < 21; ++c) {
    const auto bits = *rc::gen::inRange<std::uint32_t>(0, 0x7c00);  // finite in both
    X.values.push_back(std::bit_cast<Half>(static_cast<std::uint16_t>(bits | (c % 2 == 0 ? 0x8000u : 0u))));
  }
  raw.X = X;
  raw.spelling = {"a", "b"};
  raw.label = {0, 1, 0};
  for (const char* name : {"a.svm", "a.csv", "a.npz", "a.twd", "a.npy"}) {
    ReadOptions options = at(folder.file(name));
    options.precision = precision_of<Half>;
    options.labels_path = options.path.ends_with(".npy") ? folder.file("y.npy") : "";
    options.cols = 7;
    options.index_base = 1;
    options.keep_sparse = false;
    write_dataset(raw, options.path, options.labels_path);
    // Text of zeros is sparse, and then there is no half of it.
    if (options.path.ends_with(".svm")) options.precision = Precision::float32;
    RC_ASSERT(dense_rows(read_raw(options).X) == dense_rows(raw.X));
    RC_ASSERT(least_written(raw, "x.npy") == 42);
  }
}

RC_GTEST_PROP(Write, is_undone_by_reading_in_float16, ()) {
  check_half_round_trip<Float16>();
}

RC_GTEST_PROP(Write, is_undone_by_reading_in_bfloat16, ()) {
  check_half_round_trip<BFloat16>();
}

class WriteLabels : public ::testing::Test {
 protected:
  RawDataset labelled(const std::vector<std::string>& spelling) const {
    RawDataset raw;
    raw.spelling = spelling;
    const auto rows = static_cast<std::int64_t>(spelling.size());
    for (std::int32_t i = 0; i < rows; ++i) raw.label.push_back(i);
    raw.X = DenseStore<float>{std::vector<float>(spelling.size(), 1.5f), rows, 1};
    return raw;
  }
  RawDataset reload(const RawDataset& raw, const std::string& name) const {
    write_dataset(raw, folder_.file(name));
    ReadOptions options = at(folder_.file(name));
    options.labels_optional = true;
    return read_raw(options);
  }
  const TempFolder folder_;
};

TEST_F(WriteLabels, keep_their_type_in_npz) {
  EXPECT_EQ(reload(labelled({"2", "-1"}), "a.npz").label_type, LabelType::integer);
  EXPECT_EQ(reload(labelled({"2.5", "1"}), "a.npz").label_type, LabelType::real);
  EXPECT_THAT(labels_of(reload(labelled({"2.5", "1"}), "a.npz")), ElementsAre("2.5", "1.0"));
  EXPECT_THAT(labels_of(reload(labelled({"True", "False"}), "a.npz")), ElementsAre("True", "False"));
  EXPECT_THAT(labels_of(reload(labelled({"c\u00e4\u20ac\U0001f600", "b"}), "a.npz")),
              ElementsAre("c\u00e4\u20ac\U0001f600", "b"));
  EXPECT_THAT(labels_of(reload(labelled({"99999999999999999999", "1"}), "a.npz")),
              ElementsAre("99999999999999999999", "1"));
}

TEST_F(WriteLabels, of_any_text_survive_csv_and_twd) {
  const std::vector<std::string> odd{"a,b", "say \"hi\"", "two\nlines", " padded ", "x;y", "\xff\xfe bytes"};
  EXPECT_EQ(labels_of(reload(labelled(odd), "a.csv")), odd);
  EXPECT_EQ(labels_of(reload(labelled(odd), "a.twd")), odd);
}

TEST_F(WriteLabels, may_be_missing_where_the_format_can_say_so) {
  RawDataset raw = labelled({"a", "b"});
  raw.label = {0, -1};
  for (const char* name : {"a.svm", "a.csv", "a.npz", "a.twd"}) {
    EXPECT_THAT(labels_of(reload(raw, name)), ElementsAre("a", "")) << name;
  }
  raw.label = {-1, -1};
  EXPECT_THAT(reload(raw, "a.npz").label, ElementsAre(-1, -1));
}

TEST_F(WriteLabels, that_a_format_cannot_say_are_refused_and_leave_no_file) {
  const auto data_error = [&](const RawDataset& raw, const std::string& name) {
    return error_of(ErrorKind::data, [&] { write_dataset(raw, folder_.file(name)); });
  };
  for (const char* label : {"a b", "a:b", "a,b", "#a"}) {
    EXPECT_THAT(data_error(labelled({label}), "a.svm"), HasSubstr("cannot be written as LIBSVM text")) << label;
  }
  for (const char* name : {"a.svm", "a.csv"}) {
    EXPECT_THAT(data_error(labelled({"nan"}), name), HasSubstr("would be read as a number that is not finite")) << name;
  }
  EXPECT_THAT(data_error(labelled({"\xff"}), "a.npz"), HasSubstr("not UTF-8"));
  RawDataset raw = labelled({"1", "2"});
  raw.label[1] = -1;
  EXPECT_THAT(data_error(raw, "a.npz"), HasSubstr("row 2 (counted from 1) has no label"));
  std::get<DenseStore<float>>(raw.X).values[1] = 0;
  EXPECT_THAT(data_error(raw, "a.svm"), HasSubstr("row 2 (counted from 1) has neither label nor values"));
  EXPECT_EQ(folder_.file_count(), 0);
}

TEST_F(WriteLabels, go_beside_a_npy_file_as_lines_or_array) {
  const RawDataset raw = labelled({"big cat", "dog"});
  ReadOptions options = at(folder_.file("x.npy"));
  for (const char* name : {"y.txt", "y.npy"}) {
    options.labels_path = folder_.file(name);
    write_dataset(raw, options.path, options.labels_path);
    EXPECT_THAT(labels_of(read_raw(options)), ElementsAre("big cat", "dog"));
  }
  EXPECT_THAT(error_of(ErrorKind::option, [&] { write_dataset(raw, folder_.file("a.csv"), options.labels_path); }),
              HasSubstr("only beside a .npy file"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { write_label_lines(labelled({" a"}), folder_.file("y.txt")); }),
              HasSubstr("a line of its own"));
}

TEST(Write, keeps_the_index_base_and_writes_as_few_digits_as_needed) {
  const TempFolder folder;
  RawDataset raw;
  raw.X = CsrStore<float>{{0, 2, 2}, {0, 4}, {0.1f, -3}, 2, 5};
  raw.label = {0, 1};
  raw.spelling = {"+1", "-1"};
  raw.index_base = 0;
  write_dataset(raw, folder.file("a.libsvm"));
  EXPECT_EQ(read_text(folder.file("a.libsvm")), "+1 0:0.1 4:-3\n-1\n");
  raw.index_base = 1;
  write_dataset(raw, folder.file("a.TXT"));
  EXPECT_EQ(read_text(folder.file("a.TXT")), "+1 1:0.1 5:-3\n-1\n");
}

TEST(Write, gives_the_same_archive_each_time) {
  const TempFolder folder;
  RawDataset raw;
  raw.X = DenseStore<float>{{1, 2}, 1, 2};
  raw.label = {0};
  raw.spelling = {"5"};
  write_dataset(raw, folder.file("a.npz"));
  write_dataset(raw, folder.file("b.npz"));
  EXPECT_EQ(read_text(folder.file("a.npz")), read_text(folder.file("b.npz")));
}

TEST(Write, refuses_unknown_endings_and_folders_that_are_not_there) {
  RawDataset raw;
  raw.X = DenseStore<float>{{1}, 1, 1};
  raw.label = {0};
  raw.spelling = {"1"};
  EXPECT_THAT(error_of(ErrorKind::option, [&] { write_dataset(raw, "a.parquet"); }), HasSubstr("a.parquet"));
  const TempFolder folder;
  for (const char* name : {"none/a.svm", "none/a.csv", "none/a.npz", "none/a.npy", "none/a.twd"}) {
    EXPECT_THAT(error_of(ErrorKind::io, [&] { write_dataset(raw, folder.file(name)); }), HasSubstr("No such file"));
  }
}

TEST(LeastWritten, is_known_for_dense_formats_and_the_cache) {
  RawDataset raw;
  raw.X = CsrStore<float>{{0, 1, 1}, {2}, {1.0f}, 2, 3};
  EXPECT_EQ(least_written(raw, "a.npy"), 2 * 3 * 4);
  EXPECT_EQ(least_written(raw, "a.CSV"), 2 * 3 * 2);
  EXPECT_EQ(least_written(raw, "a.twd"), 4 + 4 + 3 * 8);
  EXPECT_EQ(least_written(raw, "a.svm"), 0);
  EXPECT_EQ(least_written(raw, "a.npz"), 0);
  raw.X = DenseStore<double>{std::vector<double>(6), 2, 3};
  EXPECT_EQ(least_written(raw, "a.npy"), 2 * 3 * 8);
  EXPECT_EQ(least_written(raw, "a.twd"), 2 * 3 * 8);
}

TEST(LeastWritten, never_overflows) {
  RawDataset raw;
  CsrStore<double> X;
  X.rows = std::int64_t{1} << 40;
  X.cols = INT32_MAX;
  raw.X = X;
  EXPECT_EQ(least_written(raw, "a.npy"), INT64_MAX);
  EXPECT_EQ(least_written(raw, "a.csv"), INT64_MAX);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
