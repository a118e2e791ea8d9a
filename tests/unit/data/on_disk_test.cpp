// Rows in files that a program made: arrays of numbers, several files, and the order in which a cache is shuffled.
#include "topwolf/on_disk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "data/readers.hpp"
#include "data/row_files.hpp"
#include "data/window.hpp"
#include "data/write.hpp"
#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::string put(const std::string& path, const std::vector<T>& numbers) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * sizeof(T)));
  return path;
}

// n rows of two numbers, of which the first is the row's number.
std::vector<float> numbered_rows(std::int64_t n) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < n; ++i) out.insert(out.end(), {static_cast<float>(i), 0.5f});
  return out;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OnDisk, sparse_rows_may_be_three_files) {
  const TempFolder folder;
  const CsrInFiles arrays{put<std::int64_t>(folder.file("begin"), {0, 2, 2, 5}),
                          put<std::int32_t>(folder.file("column"), {0, 3, 1, 2, 3}),
                          put<double>(folder.file("value"), {1, 2, 3, 4, 5}),
                          3,
                          4,
                          Precision::float64};
  const Features X = in_memory(*rows_in_files(arrays).source(), 2);
  const auto& rows = std::get<CsrView<double>>(X.view());
  EXPECT_THAT(std::vector(rows.row_begin, rows.row_begin + 4), ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(std::vector(rows.column, rows.column + 5), ElementsAre(0, 3, 1, 2, 3));
  EXPECT_THAT(std::vector(rows.value, rows.value + 5), ElementsAre(1, 2, 3, 4, 5));
  put<double>(folder.file("value"), {1, 2, 3, 4});
  EXPECT_THAT(error_of([&] { rows_in_files(arrays); }),
              HasSubstr("value: the file has 32 bytes, but the array needs 40"));
  put<std::int32_t>(folder.file("column"), {0});
  EXPECT_THAT(error_of([&] { rows_in_files(arrays); }),
              HasSubstr("column: the file has 4 bytes, but the array needs 20"));
  put<std::int64_t>(folder.file("begin"), {0, 2});
  EXPECT_THAT(error_of([&] { rows_in_files(arrays); }),
              HasSubstr("begin: the file has 16 bytes, but the array needs 32"));
}

TEST(OnDisk, a_shuffled_cache_tells_the_order_of_its_rows) {
  const TempFolder folder;
  constexpr std::int64_t n = 300000;  // of 8 bytes: several parts of the least memory
  RawDataset raw;
  raw.rows = rows_in_file({put(folder.file("X"), numbered_rows(n)), 0, n, 2, Precision::float32}).source();
  raw.label.assign(n, -1);
  std::vector<std::int64_t> order, unshuffled;
  write_cache(raw, folder.file("a.twd"), {.shuffle = true, .seed = 3, .memory = 1 << 20, .order = &order});
  write_cache(raw, folder.file("b.twd"), {.memory = 1 << 20, .order = &unshuffled});
  const RawDataset back = read_cache(folder.file("a.twd"));
  const std::vector<float>& values = std::get<DenseStore<float>>(back.X).values;
  std::vector<std::int64_t> found, all(n);
  for (std::int64_t i = 0; i < n; ++i)
    found.push_back(static_cast<std::int64_t>(values[static_cast<std::size_t>(2 * i)]));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, found);
  EXPECT_EQ(unshuffled, all);
  EXPECT_NE(order, all);
  EXPECT_THAT(back.label, ::testing::Each(-1));
}

TEST(OnDisk, files_that_are_named_keep_their_precision) {
  const TempFolder folder;
  RawDataset raw;
  raw.X = DenseStore<double>{{1, 1e99}, 2, 1};
  raw.label = {0, 1};
  raw.spelling = {"b", "a"};
  write_cache(raw, folder.file("1.twd"));
  raw.X = DenseStore<double>{{3}, 1, 1};
  raw.label = {0};
  raw.spelling = {"a"};
  write_cache(raw, folder.file("2.twd"));
  const std::vector<std::string> paths{folder.file("2.twd"), folder.file("1.*")};
  const RawDataset both = open_files(paths, {}, {});
  const Features X = in_memory(*both.rows, 1);
  const auto& rows = std::get<DenseView<double>>(X.view());
  EXPECT_THAT(std::vector(rows.data, rows.data + 3), ElementsAre(3, 1, 1e99));
  EXPECT_THAT(both.spelling, ElementsAre("a", "b"));
  EXPECT_THAT(both.label, ElementsAre(0, 1, 0));
  std::ofstream(folder.file("labels")) << "x\ny\nx\n";
  EXPECT_THAT(open_files(paths, {folder.file("labels")}, {}).label, ElementsAre(0, 1, 0));
  EXPECT_THAT(error_of([&] { open_files({paths[0]}, {folder.file("labels")}, {}); }),
              HasSubstr("there are 3 labels for the 1 rows of"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
