#include "data/row_files.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/fail.hpp"
#include "data/byte_source.hpp"
#include "data/npy.hpp"
#include "data/rows.hpp"
#include "topwolf/on_disk.hpp"

namespace topwolf {
namespace {

std::size_t size_of(Precision precision) {
  return is_half(precision) ? 2 : precision == Precision::float32 ? 4 : 8;
}

// Calls visit(store, values) with the store of the type that rows are read into.
template <class Visit>
void into_dense(FeatureStore& to, const Visit& visit) {
  std::visit(
      [&]<class Store>(Store& store) {
        if constexpr (!requires { store.row_begin; }) visit(store.values.data());
      },
      to);
}

template <class T>
bool all_finite(const T* values, std::int64_t count) {
  if constexpr (is_half(precision_of<T>)) {
    return std::all_of(values, values + count, [](T x) { return std::isfinite(x); });
  } else {
    bool finite = true;  // without a way out of the loop, which is then as fast as memory
    for (std::int64_t k = 0; k < count; ++k) finite &= std::abs(values[k]) <= std::numeric_limits<T>::max();
    return finite;
  }
}

// What all rows in files share: where they are, and that they stay what they are.
class FileRows : public RowSource {
 public:
  FileRows(const std::string& path, std::int64_t rows, std::int64_t cols, Precision precision)
      : file_(path), rows_(rows), cols_(cols), precision_(precision) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return cols_; }
  bool sparse() const override { return false; }
  Precision precision() const override { return precision_; }
  std::int64_t stored(std::int64_t, std::int64_t count) const override { return count * cols_; }

 protected:
  // After reading, so that what was read is of the file as it was opened.
  static void read_bytes(const InputFile& file, std::size_t offset, void* to, std::size_t count) {
    file.read_exactly_at(offset, static_cast<char*>(to), count);
    file.check_unchanged();
  }
  const InputFile& file() const { return file_; }

 private:
  const InputFile file_;
  const std::int64_t rows_, cols_;
  const Precision precision_;
};

class DenseInFile final : public FileRows {
 public:
  explicit DenseInFile(const RowsInFile& what)
      : FileRows(what.path, what.rows, what.cols, what.precision),
        path_(what.path),
        begin_(what.values),
        row_bytes_(static_cast<std::size_t>(what.cols) * size_of(what.precision)) {}

  void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const override {
    into_dense(to, [&](auto* values) {
      auto* const rows = values + place.value;
      read_bytes(file(), at(first), rows, bytes(count));
      if (all_finite(rows, count * cols())) return;
      std::int64_t k = 0;
      while (std::isfinite(rows[k])) ++k;
      fail_not_finite(path_, first + k / cols(), k % cols(), static_cast<double>(rows[k]), precision());
    });
  }
  void expect(std::int64_t first, std::int64_t count) const override { file().expect(at(first), bytes(count)); }

 private:
  std::size_t at(std::int64_t row) const { return begin_ + bytes(row); }
  std::size_t bytes(std::int64_t rows) const { return static_cast<std::size_t>(rows) * row_bytes_; }

  const std::string path_;
  const std::size_t begin_, row_bytes_;
};

class SparseInFile final : public FileRows {
 public:
  explicit SparseInFile(const RowsInFile& what)
      : FileRows(what.path, what.rows, what.cols, what.precision),
        path_(what.path),
        row_begin_(*what.row_begin),
        column_(*what.column),
        values_(what.values),
        own_row_begin_(own_file(what.row_begin_path)),
        own_column_(own_file(what.column_path)) {}

  bool sparse() const override { return true; }
  std::int64_t stored(std::int64_t first, std::int64_t count) const override {
    return bound(first + count) - bound(first);
  }
  void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const override {
    std::visit(
        [&]<class Store>(Store& store) {
          if constexpr (requires { store.row_begin; }) read_into(first, count, store, place);
        },
        to);
  }
  void expect(std::int64_t first, std::int64_t count) const override {
    const auto from = static_cast<std::size_t>(bound(first)), values = static_cast<std::size_t>(stored(first, count));
    bounds_file().expect(at_bound(first), static_cast<std::size_t>(count) * sizeof(std::int64_t));
    column_file().expect(column_ + from * sizeof(std::int32_t), values * sizeof(std::int32_t));
    file().expect(values_ + from * size_of(precision()), values * size_of(precision()));
  }

 private:
  static std::unique_ptr<const InputFile> own_file(const std::string& path) {
    return path.empty() ? nullptr : std::make_unique<const InputFile>(path);
  }
  const InputFile& bounds_file() const { return own_row_begin_ ? *own_row_begin_ : file(); }
  const InputFile& column_file() const { return own_column_ ? *own_column_ : file(); }
  std::size_t at_bound(std::int64_t row) const {
    return row_begin_ + static_cast<std::size_t>(row) * sizeof(std::int64_t);
  }
  std::int64_t bound(std::int64_t row) const {
    std::int64_t value = 0;
    read_bytes(bounds_file(), at_bound(row), &value, sizeof value);
    return value;
  }
  template <class T>
  void read_into(std::int64_t first, std::int64_t count, CsrStore<T>& to, Place place) const {
    std::vector<std::int64_t> bounds(static_cast<std::size_t>(count) + 1);
    read_bytes(bounds_file(), at_bound(first), bounds.data(), bounds.size() * sizeof(std::int64_t));
    const std::int64_t begin = bounds.front(), stored = bounds.back() - begin;
    // Weights are indexed by columns without a look, and the store has room for what the bounds promised.
    const auto room = static_cast<std::int64_t>(to.values.size());
    if (begin < 0 || stored < 0 || place.value + stored > room || !std::is_sorted(bounds.begin(), bounds.end())) {
      fail(ErrorKind::data, "{}: not a valid data file of topwolf: its row bounds do not ascend", path_);
    }
    const auto from = static_cast<std::size_t>(begin), values = static_cast<std::size_t>(stored);
    std::int32_t* const column = to.column.data() + place.value;
    read_bytes(column_file(), column_ + from * sizeof(std::int32_t), column, values * sizeof(std::int32_t));
    read_bytes(file(), values_ + from * sizeof(T), to.values.data() + place.value, values * sizeof(T));
    if (const T* const value = to.values.data() + place.value; !all_finite(value, stored)) {
      const std::int64_t k = std::find_if_not(value, value + stored, [](T x) { return std::isfinite(x); }) - value;
      const std::int64_t row = std::upper_bound(bounds.begin(), bounds.end(), begin + k) - bounds.begin() - 1;
      fail_not_finite(path_, first + row, column[k], value[k], precision());
    }
    const auto outside = [d = cols()](std::int32_t c) { return c < 0 || c >= d; };
    if (std::any_of(column, column + stored, outside)) {
      fail(ErrorKind::data, "{}: not a valid data file of topwolf: a column is not one of its {}", path_, cols());
    }
    for (std::int64_t i = 0; i < count; ++i) {
      to.row_begin[static_cast<std::size_t>(place.row + i + 1)] =
          place.value + bounds[static_cast<std::size_t>(i) + 1] - begin;
    }
  }

  const std::string path_;
  const std::size_t row_begin_, column_, values_;
  const std::unique_ptr<const InputFile> own_row_begin_, own_column_;
};

// Numbers of another type than what is asked for, or in the other order of bytes.
class ConvertedNpy final : public FileRows {
 public:
  ConvertedNpy(const std::string& path, NpyArray array, std::size_t begin, const NumberChoice& number)
      : FileRows(path, array.shape[0], array.shape[1], npy_precision(array, number)),
        path_(path),
        array_(std::move(array)),
        begin_(begin),
        number_(number) {}

  void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const override {
    std::string bytes(static_cast<std::size_t>(count * row_bytes()), '\0');
    read_bytes(file(), at(first), bytes.data(), bytes.size());
    const FeatureStore rows = npy_rows(array_, bytes, first, number_, path_);
    std::visit(
        [&]<class Store>(const Store& from) {
          if constexpr (!requires { from.row_begin; }) {
            std::copy(from.values.begin(), from.values.end(), std::get<Store>(to).values.begin() + place.value);
          }
        },
        rows);
  }
  void expect(std::int64_t first, std::int64_t count) const override {
    file().expect(at(first), static_cast<std::size_t>(count * row_bytes()));
  }

 private:
  std::int64_t row_bytes() const { return array_.item_size * cols(); }
  std::size_t at(std::int64_t row) const { return begin_ + static_cast<std::size_t>(row * row_bytes()); }

  const std::string path_;
  const NpyArray array_;
  const std::size_t begin_;
  const NumberChoice number_;
};

}  // namespace

SharedRows open_in_file(const RowsInFile& what) {
  if (what.row_begin) return std::make_shared<SparseInFile>(what);
  return std::make_shared<DenseInFile>(what);
}

SharedRows open_npy_rows(const std::string& path, const NumberChoice& number) {
  InputFile file(path);
  std::string header(npy_prefix, '\0');
  header.resize(file.read_at(0, header.data(), header.size()));
  const std::size_t begin = npy_header_size(header, path);
  if (begin > file.size()) fail(ErrorKind::data, "{}: the .npy header is truncated", path);
  header.resize(begin);
  file.read_exactly_at(0, header.data(), begin);
  const NpyArray array = parse_npy_header(header, path);
  const std::int64_t needed = npy_data_size(array);
  if (needed < 0 || static_cast<std::size_t>(needed) != file.size() - begin) {
    fail_npy_size(array, file.size() - begin, path);
  }
  // Shape and type are refused where they are no features, before any row is wanted.
  const Precision precision = npy_precision(array, number);
  check_npy_features(array, number, path);
  if (array.fortran_order && array.shape[1] > 1) {
    fail(ErrorKind::data,
         "{}: the array is in Fortran order, whose rows lie all over the file; "
         "np.save(path, np.ascontiguousarray(X)) or 'topwolf convert' puts them in C order",
         path);
  }
  if (npy_in_place(array, precision)) return open_in_file({path, array.shape[0], array.shape[1], precision, begin});
  return std::make_shared<ConvertedNpy>(path, array, begin, number);
}

namespace {

void check_room(const std::string& path, std::uint64_t needed) {
  if (const InputFile file(path); file.size() < needed) {
    fail(ErrorKind::io, "{}: the file has {} bytes, but the array needs {}", path, file.size(), needed);
  }
}

}  // namespace

Features rows_in_files(const CsrInFiles& arrays) {
  check_room(arrays.row_begin, (static_cast<std::uint64_t>(arrays.rows) + 1) * sizeof(std::int64_t));
  const SharedRows rows = open_in_file(
      {arrays.value, arrays.rows, arrays.cols, arrays.precision, 0, 0, 0, arrays.row_begin, arrays.column});
  const auto stored = static_cast<std::uint64_t>(rows->stored(0, arrays.rows));
  check_room(arrays.column, stored * sizeof(std::int32_t));
  check_room(arrays.value, stored * size_of(arrays.precision));
  return Features(rows);
}

Features rows_in_file(const ArrayInFile& array) {
  check_room(array.path, array.offset + static_cast<std::uint64_t>(array.rows) *
                                            static_cast<std::uint64_t>(array.cols) * size_of(array.precision));
  return Features(open_in_file({array.path, array.rows, array.cols, array.precision, array.offset}));
}

}  // namespace topwolf
