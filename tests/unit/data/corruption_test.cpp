// Random damage to files of every format: an Error or a data set, never a crash.
#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.hpp"
#include "data/readers.hpp"
#include "data/write.hpp"
#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

RawDataset sample(bool sparse) {
  RawDataset raw;
  if (sparse) {
    raw.X = CsrStore<float>{{0, 2, 3, 3, 5}, {0, 3, 9, 1, 2}, {1.5f, -2, 3, 1e-9f, 7}, 4, 10};
  } else {
    raw.X = DenseStore<float>{{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2};
  }
  raw.label = {0, 1, 0, 2};
  raw.spelling = {"1", "2", "30"};
  return raw;
}

double sum_of_squares(const FeatureStore& X) {
  return std::visit(
      [](const auto& store) {
        double sum = 0.0;
        if constexpr (requires { store.row_begin; }) {
          for (std::int64_t i = 0; i < store.rows; ++i) {
            for (auto k = store.row_begin.at(i); k < store.row_begin.at(i + 1); ++k) {
              EXPECT_LT(store.column.at(k), store.cols);
              sum += double{store.values.at(k)} * store.values.at(k);
            }
          }
        } else {
          EXPECT_EQ(store.values.size(), static_cast<std::size_t>(store.rows * store.cols));
          for (const double value : store.values) sum += value * value;
        }
        return sum;
      },
      X);
}

std::string damage(std::string bytes, Rng& rng) {
  for (std::uint64_t times = 1 + rng.below(4); times > 0 && !bytes.empty(); --times) {
    const std::size_t place = rng.below(bytes.size());
    switch (rng.below(4)) {
      case 0:
        bytes[place] = static_cast<char>(rng.below(256));
        break;
      case 1:
        bytes.erase(place, 1 + rng.below(8));
        break;
      case 2:
        bytes.insert(place, 1 + rng.below(8), "0123456789:,#\"\n .-e(){}L"[rng.below(24)]);
        break;
      default:
        bytes.resize(place);
    }
  }
  return bytes;
}

void check_survives(const std::string& name, bool sparse) {
  const TempFolder folder;
  const std::string path = folder.file(name);
  write_dataset(sample(sparse), path);
  const std::string whole = read_text(path);
  ReadOptions options = at(path);
  options.threads = 2;
  options.labels_optional = true;
  Rng rng(7);
  int errors = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    write_text(path, damage(whole, rng));
    try {
      const RawDataset raw = read_raw(options);
      EXPECT_EQ(Features(raw.X).rows(), static_cast<std::int64_t>(raw.label.size()));
      // The sum touches all that is stored; a damaged index may make X too wide to spell out.
      EXPECT_TRUE(std::isfinite(sum_of_squares(raw.X)));
      static_cast<void>(labels_of(raw));
      static_cast<void>(map_labels(raw, collect_classes(raw)));
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
      ++errors;
    }
  }
  EXPECT_GT(errors, 100);
}

TEST(Corruption, of_libsvm_text_is_survived) {
  check_survives("a.svm", true);
}

TEST(Corruption, of_csv_is_survived) {
  check_survives("a.csv", false);
}

TEST(Corruption, of_npy_is_survived) {
  check_survives("a.npy", false);
}

TEST(Corruption, of_npz_is_survived) {
  check_survives("a.npz", false);
  check_survives("a.npz", true);
}

TEST(Corruption, of_stored_data_is_survived) {
  check_survives("a.twd", true);
}

TEST(Corruption, of_label_arrays_is_survived) {
  const TempFolder folder;
  ReadOptions options = at(folder.file("x.npy"));
  options.labels_path = folder.file("y.npy");
  RawDataset raw = sample(false);
  raw.spelling = {"a", "\u00e4", "c"};
  write_dataset(raw, options.path, options.labels_path);
  const std::string whole = read_text(options.labels_path);
  Rng rng(11);
  for (int trial = 0; trial < 1500; ++trial) {
    write_text(options.labels_path, damage(whole, rng));
    try {
      EXPECT_EQ(read_raw(options).label.size(), 4u);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    }
  }
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
