// .npy arrays: every type, order and version, and headers nobody should trust.
#include "data/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<double>>;

Rows features(const std::string& file, const NumberChoice& precision = Precision::float32) {
  return dense_rows(npy_features(file, precision, 2, "x.npy"));
}

std::string features_error(const std::string& file, const NumberChoice& precision = Precision::float32) {
  return error_of(ErrorKind::data, [&] { features(file, precision); });
}

Labels labels(const std::string& file) {
  return npy_labels(parse_npy(file, "y.npy"), "y.npy");
}

template <class T>
std::string swapped(const std::vector<T>& values) {
  std::string bytes = bytes_of(values);
  for (std::size_t k = 0; k < bytes.size(); k += sizeof(T))
    std::reverse(bytes.begin() + static_cast<long>(k), bytes.begin() + static_cast<long>(k + sizeof(T)));
  return bytes;
}

TEST(Npy, reads_every_type_of_number) {
  const Rows expected{{1, 2}, {3, 100}};
  EXPECT_EQ(features(npy_array("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("<f8", "(2, 2)", bytes_of<double>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("|i1", "(2, 2)", bytes_of<std::int8_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("<i2", "(2, 2)", bytes_of<std::int16_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("<i4", "(2, 2)", bytes_of<std::int32_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("<i8", "(2, 2)", bytes_of<std::int64_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("|u1", "(2, 2)", bytes_of<std::uint8_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("<u2", "(2, 2)", bytes_of<std::uint16_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("<u4", "(2, 2)", bytes_of<std::uint32_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("<u8", "(2, 2)", bytes_of<std::uint64_t>({1, 2, 3, 100}))), expected);
  EXPECT_EQ(features(npy_array("|b1", "(1, 3)", bytes_of<std::uint8_t>({0, 1, 7}))), (Rows{{0, 1, 1}}));
  EXPECT_EQ(features(npy_array("<i8", "(1, 1)", bytes_of<std::int64_t>({-5}))), (Rows{{-5}}));
}

TEST(Npy, reads_float16_normal_subnormal_and_negative) {
  EXPECT_EQ(features(npy_array("<f2", "(1, 5)", bytes_of<std::uint16_t>({0x3c00, 0xc100, 0x7bff, 0x0001, 0x8000}))),
            (Rows{{1, -2.5, 65504, std::ldexp(1.0, -24), 0}}));
  EXPECT_THAT(features_error(npy_array("<f2", "(1, 2)", bytes_of<std::uint16_t>({0, 0x7c00}))),
              HasSubstr("x.npy: row 1, column 2 (counted from 1): the value inf"));
}

Precision stored_as(const std::string& file, const NumberChoice& number) {
  return stored_precision(npy_features(file, number, 2, "x.npy"));
}

TEST(Npy, keeps_float16_unless_told_otherwise) {
  const NumberChoice unasked{std::nullopt}, for_double{std::nullopt, Precision::float64};
  const std::string half = npy_array("<f2", "(1, 4)", bytes_of<std::uint16_t>({0x3c01, 0x0001, 0x8000, 0xfbff}));
  EXPECT_EQ(stored_as(half, unasked), Precision::float16);
  EXPECT_EQ(stored_as(half, for_double), Precision::float64) << "a model in float64 meets what it was trained on";
  EXPECT_EQ(stored_as(npy_array("<f4", "(1, 1)", bytes_of<float>({1})), unasked), Precision::float32);
  for (const Precision asked : {Precision::float32, Precision::float64, Precision::float16}) {
    EXPECT_EQ(stored_as(half, asked), asked);
    EXPECT_EQ(features(half, asked), (Rows{{1 + 0x1p-10, 0x1p-24, 0, -65504}})) << to_string(asked);
  }
  const auto store = std::get<DenseStore<Float16>>(npy_features(half, unasked, 1, "x.npy"));
  EXPECT_EQ(store.values[2].bits, 0x8000) << "the bits of the file";
  EXPECT_EQ(features(npy_array(">f2", "(1, 2)", swapped<std::uint16_t>({0x3c00, 0xc100})), unasked), (Rows{{1, -2.5}}));
  EXPECT_EQ(features(npy_array("<f2", "(2, 2)", bytes_of<std::uint16_t>({0x3c00, 0, 0x4000, 0xbc00}), true), unasked),
            (Rows{{1, 2}, {0, -1}}));
  EXPECT_EQ(features_error(npy_array("<f2", "(2, 1)", bytes_of<std::uint16_t>({0x7bff, 0x7e00})), unasked),
            "x.npy: row 2, column 1 (counted from 1): the value nan is not finite");
}

TEST(Npy, rounds_to_16_bits_where_they_are_asked_for) {
  const std::string file = npy_array("<f8", "(1, 4)", bytes_of<double>({1.0 / 3, 65519.9, 1e-8, -3}));
  EXPECT_EQ(features(file, Precision::float16), (Rows{{1365.0 / 4096, 65504, 0, -3}}));
  EXPECT_EQ(features(file, Precision::bfloat16), (Rows{{171.0 / 512, 65536, 172 * 0x1p-34, -3}}));
  EXPECT_EQ(features_error(npy_array("<f4", "(1, 2)", bytes_of<float>({1, -70000})), Precision::float16),
            "x.npy: row 1, column 2 (counted from 1): the value -70000 is too large for float16");
  EXPECT_THAT(features_error(npy_array("<f8", "(1, 1)", bytes_of<double>({1e39})), Precision::bfloat16),
              HasSubstr("too large for bfloat16"));
}

TEST(Npy, reads_two_bytes_as_bfloat16_where_somebody_says_so) {
  const std::string file = npy_array("|V2", "(1, 3)", bytes_of<std::uint16_t>({0x3f80, 0xc020, 0x0001}));
  EXPECT_EQ(features(file, Precision::bfloat16), (Rows{{1, -2.5, 0x1p-133}}));
  EXPECT_EQ(stored_as(file, Precision::bfloat16), Precision::bfloat16);
  for (const NumberChoice& other : {NumberChoice(std::nullopt), NumberChoice(Precision::float32)}) {
    EXPECT_THAT(features_error(file, other), HasSubstr("the type '|V2' does not say what it is"));
  }
  EXPECT_THAT(features_error(npy_array("|V2", "(1, 1)", bytes_of<std::uint16_t>({0x7f80})), Precision::bfloat16),
              HasSubstr("the value inf is not finite"));
  EXPECT_THAT(error_of(ErrorKind::data, [] { labels(npy_array("|V2", "(1,)", "ab")); }),
              HasSubstr("numbers are needed"));
}

TEST(Npy, reads_big_endian_fortran_order_and_versions_2_and_3) {
  EXPECT_EQ(features(npy_array(">f8", "(1, 2)", swapped<double>({1.5, -2}))), (Rows{{1.5, -2}}));
  EXPECT_EQ(features(npy_array(">i2", "(1, 2)", swapped<std::int16_t>({258, -2}))), (Rows{{258, -2}}));
  EXPECT_EQ(features(npy_array("<f4", "(2, 3)", bytes_of<float>({1, 4, 2, 5, 3, 6}), true)),
            (Rows{{1, 2, 3}, {4, 5, 6}}));
  for (const int version : {1, 2, 3}) {
    const std::string header = "{'shape': (1L, 1), 'fortran_order': False, 'descr': \"<f4\"}";
    EXPECT_EQ(features(npy_file(header, bytes_of<float>({9}), version)), (Rows{{9}}));
  }
}

TEST(Npy, refuses_values_that_are_not_finite_with_the_first_place) {
  std::vector<double> values(400000, 1.0);
  values[200003] = NAN;
  values[399999] = INFINITY;
  EXPECT_EQ(features_error(npy_array("<f8", "(200000, 2)", bytes_of(values))),
            "x.npy: row 100002, column 2 (counted from 1): the value nan is not finite");
  const std::string large = npy_array("<f8", "(1, 1)", bytes_of<double>({1e300}));
  EXPECT_THAT(features_error(large), HasSubstr("too large for float32"));
  EXPECT_EQ(features(large, Precision::float64), (Rows{{1e300}}));
}

TEST(Npy, refuses_shapes_that_are_no_features) {
  for (const char* shape : {"()", "(1,)", "(1, 1, 1)"}) {
    EXPECT_THAT(features_error(npy_array("<f4", shape, bytes_of<float>({1}))), HasSubstr("two dimensions")) << shape;
  }
  for (const char* shape : {"(0, 3)", "(3, 0)", "(9223372036854775807, 0)"}) {
    EXPECT_THAT(features_error(npy_array("<f4", shape, "")), HasSubstr("none of them 0")) << shape;
  }
}

TEST(Npy, refuses_a_shape_that_does_not_fit_the_bytes_without_allocating_for_it) {
  for (const char* shape : {"(2, 2)", "(1, 1)", "(4294967296, 4294967296)", "(9223372036854775807, 2)"}) {
    EXPECT_THAT(features_error(npy_array("<f4", shape, bytes_of<float>({1, 2, 3}))),
                HasSubstr("does not fit the 12 bytes"));
  }
}

TEST(Npy, refuses_garbage_headers) {
  EXPECT_THAT(features_error("PK"), HasSubstr("not a .npy file"));
  EXPECT_THAT(features_error("\x93NUMPY"), HasSubstr("header is corrupt"));
  EXPECT_THAT(features_error(npy_file("{", "", 4)), HasSubstr("version"));
  EXPECT_THAT(features_error(npy_array("<f4", "(1, 1)", "").substr(0, 40)), HasSubstr("truncated"));
  for (const char* header : {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4, 'shape': (1,)}", "[1]",
                             "{'descr': '<f4', 'fortran_order': 1, 'shape': (1, 1)}",
                             "{'descr': '<f4', 'fortran_order': True, 'shape': (1 1)}",
                             "{'descr': '<f4', 'fortran_order': True, 'shape': (-1, 1)}",
                             "{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999999999999, 1)}",
                             "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), 'more': 1}"}) {
    EXPECT_THAT(features_error(npy_file(header, "abcd")), HasSubstr("header is corrupt")) << header;
  }
}

TEST(Npy, refuses_types_that_are_not_numbers_by_name) {
  EXPECT_THAT(features_error(npy_array("|O", "(1, 1)", "")), HasSubstr("Python objects"));
  EXPECT_THAT(features_error(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 1)}", "abcd")),
              HasSubstr("records"));
  for (const char* type : {"<c8", "<f16", "<M8[ns]", "|V4", "", "<", "<i3", "<f-4"}) {
    EXPECT_THAT(features_error(npy_array(type, "(1, 1)", "abcdefgh")), HasSubstr("is not supported")) << type;
  }
  EXPECT_THAT(features_error(npy_array("|S4", "(1, 1)", "abcd")), HasSubstr("numbers are needed"));
}

TEST(NpyLabels, are_spelled_by_their_type) {
  const Labels integers = labels(npy_array("<i8", "(3,)", bytes_of<std::int64_t>({7, -1, 7})));
  EXPECT_EQ(integers.type, LabelType::integer);
  EXPECT_THAT(integers.spelling, ElementsAre("7", "-1"));
  EXPECT_THAT(integers.label, ElementsAre(0, 1, 0));
  EXPECT_THAT(labels(npy_array("<u8", "(1,)", bytes_of<std::uint64_t>({~0ull}))).spelling,
              ElementsAre("18446744073709551615"));
  const Labels reals = labels(npy_array("<f8", "(4,)", bytes_of<double>({3, 0.1, -2.5, 1e30})));
  EXPECT_EQ(reals.type, LabelType::real);
  EXPECT_THAT(reals.spelling, ElementsAre("3.0", "0.1", "-2.5", "1e+30"));
  EXPECT_THAT(labels(npy_array("<f4", "(1,)", bytes_of<float>({0.1f}))).spelling, ElementsAre("0.1"));
  const Labels booleans = labels(npy_array("|b1", "(3,)", std::string("\0\1\0", 3)));
  EXPECT_EQ(booleans.type, LabelType::boolean);
  EXPECT_THAT(booleans.spelling, ElementsAre("False", "True"));
}

TEST(NpyLabels, read_text_in_either_byte_order_and_bytes) {
  const Labels text = labels(npy_array("<U3", "(2,)", bytes_of<char32_t>({U'c', 0xe4, 0x1f600, U'b', 0, 0})));
  EXPECT_EQ(text.type, LabelType::text);
  EXPECT_THAT(text.spelling, ElementsAre("c\u00e4\U0001f600", "b"));
  EXPECT_THAT(labels(npy_array(">U1", "(1,)", swapped<char32_t>({0x20ac}))).spelling, ElementsAre("\u20ac"));
  EXPECT_THAT(labels(npy_array("|S3", "(2,)", std::string("cat\0\0\0", 6))).label, ElementsAre(0, -1));
}

TEST(NpyLabels, refuse_nan_other_shapes_objects_and_invalid_text) {
  const auto error = [](const std::string& file) { return error_of(ErrorKind::data, [&] { labels(file); }); };
  EXPECT_EQ(error(npy_array("<f8", "(2,)", bytes_of<double>({1, NAN}))), "y.npy: row 2: the label nan is not finite");
  EXPECT_THAT(error(npy_array("<i8", "(1, 1)", bytes_of<std::int64_t>({1}))), HasSubstr("one dimension"));
  EXPECT_THAT(error(npy_array("|O", "(1,)", "")), HasSubstr("Python objects"));
  EXPECT_THAT(error(npy_array("<U1", "(1,)", bytes_of<char32_t>({0xd800}))), HasSubstr("not valid text"));
  EXPECT_THAT(error(npy_array("<U2", "(1,)", bytes_of<char32_t>({0, U'a'}))), HasSubstr("NUL"));
  EXPECT_THAT(error(npy_array("<U0", "(4000000000000000000,)", "")), HasSubstr("all labels are empty"));
}

TEST(Npy, gives_numbers_in_row_major_order) {
  EXPECT_THAT(npy_numbers<double>(parse_npy(npy_array("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 4}), true), "c"), "c"),
              ElementsAre(1, 3, 2, 4));
}

TEST(Npy, writes_headers_that_numpy_aligns_and_we_read) {
  const std::string header = npy_header("<f4", {2, 1});
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(features(header + bytes_of<float>({1, 2})), (Rows{{1}, {2}}));
  EXPECT_THAT(npy_header("<i8", {3}), HasSubstr("'shape': (3,), }"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
