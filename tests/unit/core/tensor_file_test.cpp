// Tensor files: what is written comes back; what was damaged or forged is refused.
#include "core/tensor_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/hash.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<char> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string with_length(std::string header, const std::string& data) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

// A file whose checksum is right, so that only its structure can be refused.
std::string forge(const json& table, const std::string& data, const std::string& metadata = "{}") {
  Hasher checksum;
  checksum.add(data);
  checksum.add(metadata);
  checksum.add(table.dump());
  json header = table;
  header["__metadata__"] = {{"topwolf", metadata}, {"checksum", checksum.hex()}};
  return with_length(header.dump(), data);
}

json entry(const char* dtype, const json& shape, const json& offsets) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", offsets}};
}

std::string refusal(const std::string& file) {
  const std::string sentence = error_of(ErrorKind::data, [&] { TensorFile::parse(bytes_of(file), "f"); });
  EXPECT_EQ(sentence.rfind("f: ", 0), 0u) << sentence;
  return sentence;
}

std::string small_file(const TempFolder& folder) {
  const std::array<double, 2> a = {1.5, -2.5};
  const std::array<std::uint8_t, 3> b = {1, 2, 3};
  const std::array<Tensor, 2> tensors = {Tensor{"b", "U8", {3}, b.data()}, Tensor{"a", "F64", {2, 1}, a.data()}};
  write_tensor_file(folder.file("small"), tensors, "{\"x\":1}");
  return read_text(folder.file("small"));
}

template <class T>
std::vector<T> values_of(const TensorFile& file, const char* name) {
  const std::span<const T> values = file.get<T>(name);
  return {values.begin(), values.end()};
}

RC_GTEST_PROP(TensorFile, returns_what_was_written,
              (const std::vector<float>& f32, const std::vector<double>& f64, const std::vector<std::int64_t>& i64,
               const std::vector<std::int32_t>& i32, const std::vector<std::uint8_t>& u8)) {
  const TempFolder folder;
  const auto shape = [](const auto& values) {
    return std::vector<std::int64_t>{1, static_cast<std::int64_t>(values.size())};
  };
  const std::array<Tensor, 5> tensors = {
      Tensor{"bytes", "U8", shape(u8), u8.data()}, Tensor{"single", "F32", shape(f32), f32.data()},
      Tensor{"double", "F64", shape(f64), f64.data()}, Tensor{"int", "I32", shape(i32), i32.data()},
      Tensor{"long", "I64", shape(i64), i64.data()}};
  const std::string metadata = "{\"text\":\"\\u00e9\\\\ \xc3\xa9\"}";
  write_tensor_file(folder.file("t"), tensors, metadata);

  const TensorFile file = TensorFile::read(folder.file("t"));
  RC_ASSERT(file.metadata() == metadata);
  RC_ASSERT(file.names() == (std::vector<std::string>{"bytes", "double", "int", "long", "single"}));
  RC_ASSERT(file.shape("single") == shape(f32));
  RC_ASSERT(file.dtype("int") == "I32");
  RC_ASSERT(!file.has("other"));
  RC_ASSERT(values_of<std::uint8_t>(file, "bytes") == u8);
  RC_ASSERT(values_of<float>(file, "single") == f32);
  RC_ASSERT(values_of<double>(file, "double") == f64);
  RC_ASSERT(values_of<std::int32_t>(file, "int") == i32);
  RC_ASSERT(values_of<std::int64_t>(file, "long") == i64);
}

TEST(TensorFile, is_laid_out_as_safetensors) {
  const TempFolder folder;
  const std::string file = small_file(folder);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const json header = json::parse(file.substr(8, length));
  EXPECT_EQ(header.at("a"), entry("F64", {2, 1}, {0, 16}));
  EXPECT_EQ(header.at("b"), entry("U8", json::array({3}), {16, 19}));
  EXPECT_EQ(header.at("__metadata__").at("topwolf"), "{\"x\":1}");
  EXPECT_EQ(file.substr(8 + length + 16), "\x01\x02\x03");
  EXPECT_EQ(file, forge({{"a", header["a"]}, {"b", header["b"]}}, file.substr(8 + length), "{\"x\":1}"));
}

TEST(TensorFile, says_which_tensor_is_missing_or_of_another_type) {
  const TempFolder folder;
  small_file(folder);
  const TensorFile file = TensorFile::read(folder.file("small"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { file.get<double>("c"); }), HasSubstr("no tensor 'c'"));
  EXPECT_THAT(error_of(ErrorKind::data, [&] { file.get<float>("a"); }), HasSubstr("'a' has the dtype F64, not F32"));
}

TEST(TensorFile, refuses_every_truncation_and_every_extension) {
  const TempFolder folder;
  const std::string file = small_file(folder);
  for (std::size_t size = 0; size < file.size(); ++size) refusal(file.substr(0, size));
  refusal(file + '\0');
}

TEST(TensorFile, refuses_every_change_of_a_byte) {
  const TempFolder folder;
  const std::string file = small_file(folder);
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (int change = 1; change < 256; ++change) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ change);
      ASSERT_NE(refusal(changed), "") << i;
    }
  }
}

TEST(TensorFile, refuses_padding_other_than_spaces) {
  const std::string file = forge(json::object(), "");
  const std::string header = file.substr(8);
  for (const char byte : {'\0', '\t', '\n', '\r'}) {
    const std::string padded = with_length(header + byte + "       ", "");
    EXPECT_THAT(refusal(padded), HasSubstr(byte == '\0' ? "the header has a NUL at byte" : "only spaces may follow"));
  }
  EXPECT_NO_THROW(TensorFile::parse(bytes_of(with_length(header + "        ", "")), "f"));
}

TEST(TensorFile, refuses_impossible_header_lengths) {
  for (const std::uint64_t length :
       {std::uint64_t{17}, std::uint64_t{24}, std::uint64_t{1} << 62, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    std::string file(8 + 16, ' ');
    std::memcpy(file.data(), &length, 8);
    EXPECT_THAT(refusal(file), HasSubstr("claims a header of " + std::to_string(length) + " bytes"));
  }
}

TEST(TensorFile, refuses_sizes_that_overflow) {
  const std::uint64_t huge = std::uint64_t{1} << 62;
  EXPECT_THAT(refusal(forge({{"a", entry("F64", {huge, 4}, {0, 0})}}, "")), HasSubstr("shape of tensor 'a'"));
  EXPECT_THAT(refusal(forge({{"a", entry("F64", json::array({huge}), {0, 0})}}, "")), HasSubstr("shape of tensor 'a'"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", json::array({8}), {0, ~std::uint64_t{0}})}}, "12345678")),
              HasSubstr("not a list of sizes"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", json::array({8}), {0, INT64_MAX})}}, "12345678")),
              HasSubstr("no range within the 8 bytes"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", json::array({huge}), {0, 8})}}, "12345678")), HasSubstr("does not fit"));
}

TEST(TensorFile, accepts_a_tensor_without_elements_whatever_its_other_extents) {
  const json shape = {std::uint64_t{1} << 62, std::uint64_t{1} << 62, 0};
  const TensorFile file = TensorFile::parse(bytes_of(forge({{"a", entry("F64", shape, {0, 0})}}, "")), "f");
  EXPECT_TRUE(file.get<double>("a").empty());
}

TEST(TensorFile, refuses_tensors_that_overlap_leave_gaps_or_bytes_over) {
  const std::string data = "12345678";
  const auto byte_tensor = [](int begin, int end) { return entry("U8", json::array({end - begin}), {begin, end}); };
  EXPECT_NO_THROW(TensorFile::parse(bytes_of(forge({{"a", byte_tensor(4, 8)}, {"b", byte_tensor(0, 4)}}, data)), "f"));
  EXPECT_THAT(refusal(forge({{"a", byte_tensor(0, 5)}, {"b", byte_tensor(4, 8)}}, data)), HasSubstr("overlap"));
  EXPECT_THAT(refusal(forge({{"a", byte_tensor(0, 8)}, {"b", byte_tensor(0, 8)}}, data)), HasSubstr("overlap"));
  EXPECT_THAT(refusal(forge({{"a", byte_tensor(0, 3)}, {"b", byte_tensor(4, 8)}}, data)), HasSubstr("gap"));
  EXPECT_THAT(refusal(forge({{"a", byte_tensor(1, 8)}}, data)), HasSubstr("gap"));
  EXPECT_THAT(refusal(forge({{"a", byte_tensor(0, 7)}}, data)), HasSubstr("take 7 of the 8 bytes"));
  EXPECT_THAT(refusal(forge(json::object(), data)), HasSubstr("take 0 of the 8 bytes"));
}

TEST(TensorFile, refuses_tensors_that_are_badly_described) {
  const std::string data = "12345678";
  EXPECT_THAT(refusal(forge({{"a", entry("I16", json::array({4}), {0, 8})}}, data)), HasSubstr("unknown dtype 'I16'"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", json::array({-8}), {0, 8})}}, data)), HasSubstr("not a list of sizes"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", json::array({8.0}), {0, 8})}}, data)), HasSubstr("not a list of sizes"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", 8, {0, 8})}}, data)), HasSubstr("not a list of sizes"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", json::array({8}), {0, 4, 8})}}, data)), HasSubstr("no range"));
  EXPECT_THAT(refusal(forge({{"a", entry("U8", json::array({8}), {8, 0})}}, data)), HasSubstr("no range"));
  EXPECT_THAT(refusal(forge({{"a", 1}}, data)), HasSubstr("not described"));
  EXPECT_THAT(refusal(forge({{"a", {{"dtype", "U8"}, {"shape", {8}}}}}, data)), HasSubstr("not described"));
  EXPECT_THAT(
      refusal(forge({{"a", entry("U8", json::array({1}), {0, 1})}, {"b", entry("F64", json::array({1}), {1, 9})}},
                    "123456789")),
      HasSubstr("'b' is not aligned"));
}

TEST(TensorFile, refuses_headers_that_are_not_what_they_should_be) {
  EXPECT_THAT(refusal(with_length("[]", "")), HasSubstr("no text __metadata__.topwolf"));
  EXPECT_THAT(refusal(with_length("{}", "")), HasSubstr("no text __metadata__.topwolf"));
  EXPECT_THAT(refusal(with_length(R"({"__metadata__": {"topwolf": "{}"}})", "")), HasSubstr("__metadata__.checksum"));
  EXPECT_THAT(refusal(with_length(R"({"__metadata__": {"topwolf": 1, "checksum": ""}})", "")), HasSubstr("no text"));
  EXPECT_THAT(refusal(with_length(R"({"a": 1, "a": 1})", "")), HasSubstr("twice"));
  EXPECT_THAT(refusal(with_length(std::string(100000, '['), "")), HasSubstr("nests deeper"));
  EXPECT_THAT(refusal(with_length("solver", "")), HasSubstr("not well-formed JSON"));
}

TEST(TensorFile, will_not_write_what_could_not_be_read) {
  const TempFolder folder;
  const std::uint8_t byte = 0;
  const auto write = [&](std::vector<Tensor> tensors) {
    return error_of(ErrorKind::internal, [&] { write_tensor_file(folder.file("t"), tensors, "{}"); });
  };
  EXPECT_THAT(write({{"a", "U8", {1}, &byte}, {"a", "U8", {1}, &byte}}), HasSubstr("two tensors are called 'a'"));
  EXPECT_THAT(write({{"a", "I16", {1}, &byte}}), HasSubstr("'I16' cannot be stored"));
  EXPECT_THAT(write({{"a", "U8", {-1}, &byte}}), HasSubstr("cannot be stored"));
  EXPECT_THAT(write({{"__metadata__", "U8", {1}, &byte}}), HasSubstr("cannot be stored"));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(TensorFile, that_cannot_be_opened_is_an_io_error) {
  const TempFolder folder;
  EXPECT_THAT(error_of(ErrorKind::io, [&] { TensorFile::read(folder.file("none")); }), HasSubstr("cannot be read"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
