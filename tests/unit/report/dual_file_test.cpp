// The dual's file: what goes in comes out, and nothing else is accepted.
#include "topwolf/dual.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "core/tensor_file.hpp"
#include "topwolf/error.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;

struct DualFile : ::testing::Test {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("topwolf-dual-test-" + std::to_string(getpid()));
  std::string path = (folder / "run.dual").string();
  SparseRows dual{{0, 2, 2, 4}, {0, 3, 1, 2}, {0.5, -0.5, 1.0 / 3.0, -1.0 / 3.0}};  // (3 x 4), row 2 empty
  DualFile() { std::filesystem::create_directories(folder); }
  ~DualFile() override { std::filesystem::remove_all(folder); }

  std::string refusal(const SparseRows& rows, std::int64_t n = 3, std::int64_t m = 4) {
    try {
      check_dual(rows, n, m, "x.dual");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      return error.what();
    }
    return "";
  }
};

TEST_F(DualFile, RoundTripsExactly) {
  save_dual(dual, 4, "0123", path);
  const SparseRows loaded = load_dual(path, 3, 4);
  EXPECT_EQ(loaded.row_begin, dual.row_begin);
  EXPECT_EQ(loaded.column, dual.column);
  EXPECT_EQ(loaded.values, dual.values);
}

TEST_F(DualFile, AnEmptyDualRoundTrips) {
  save_dual({{0, 0, 0}, {}, {}}, 2, "", path);
  EXPECT_EQ(load_dual(path, 2, 2).rows(), 2);
}

TEST_F(DualFile, AnotherNumberOfRowsOrClassesIsRefused) {
  save_dual(dual, 4, "", path);
  EXPECT_THROW(load_dual(path, 2, 4), Error);
  EXPECT_THROW(load_dual(path, 3, 3), Error);
}

TEST_F(DualFile, MalformedRowsAreRefusedWithASentence) {
  EXPECT_EQ(refusal(dual), "");
  EXPECT_THAT(refusal({{0, 3, 2, 4}, dual.column, dual.values}), HasSubstr("descend at row 2"));
  EXPECT_THAT(refusal({{0, 9, 2, 4}, dual.column, dual.values}), HasSubstr("descend"));
  EXPECT_THAT(refusal({{1, 2, 2, 4}, dual.column, dual.values}), HasSubstr("row pointers"));
  EXPECT_THAT(refusal({{0, 2, 2, 5}, dual.column, dual.values}), HasSubstr("row pointers"));
  EXPECT_THAT(refusal({dual.row_begin, {0, 3, 1}, dual.values}), HasSubstr("agree"));
  EXPECT_THAT(refusal({dual.row_begin, {3, 0, 1, 2}, dual.values}), HasSubstr("row 1"));
  EXPECT_THAT(refusal({dual.row_begin, {0, 3, 2, 2}, dual.values}), HasSubstr("row 3"));
  EXPECT_THAT(refusal({dual.row_begin, {0, 3, 1, 4}, dual.values}), HasSubstr("class 4"));
  EXPECT_THAT(refusal({dual.row_begin, {-1, 3, 1, 2}, dual.values}), HasSubstr("class -1"));
  EXPECT_THAT(refusal({{}, {}, {}}), HasSubstr("-1 rows"));
  SparseRows infinite = dual;
  infinite.values[3] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(refusal(infinite), HasSubstr("not finite"));
}

TEST_F(DualFile, AFileOfAnotherKindIsRefused) {
  const double number = 1.0;
  const Tensor tensor{"weights", "F64", {1}, &number};
  write_tensor_file(path, {&tensor, 1}, R"({"format": "topwolf-model", "format_version": 1})");
  EXPECT_THROW(load_dual(path, 3, 4), Error);
  write_tensor_file(path, {&tensor, 1}, R"({"format": "topwolf-dual", "format_version": 1})");
  EXPECT_THROW(load_dual(path, 3, 4), Error);
  write_tensor_file(path, {&tensor, 1}, R"({"format": "topwolf-dual", "format_version": 2})");
  EXPECT_THROW(load_dual(path, 3, 4), Error);
}

TEST_F(DualFile, TruncationAtEveryByteIsRefused) {
  save_dual(dual, 4, "0123", path);
  const auto size = std::filesystem::file_size(path);
  std::string bytes(size, '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(size));
  for (std::size_t length = 0; length < size; ++length) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, length);
    EXPECT_THROW(load_dual(path, 3, 4), Error) << length;
  }
}

TEST_F(DualFile, AFileThatCannotBeReadIsAnInputError) {
  try {
    load_dual((folder / "missing.dual").string(), 3, 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
