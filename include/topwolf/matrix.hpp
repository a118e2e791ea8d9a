// Where numbers live: the features X (dense row-major or CSR, owned, borrowed or on a disk, in one of four types of
// number), and rows with few non-zeros such as the dual A. No arithmetic here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "topwolf/error.hpp"
#include "topwolf/half.hpp"
#include "topwolf/names.hpp"

namespace topwolf {

// What features are stored as.
enum class Precision {
  float32,   // half the memory of float64
  float64,   // for gaps that float32 cannot reach: those runs end as stalled
  float16,   // half the memory of float32; dense rows alone
  bfloat16,  // the same
};
template <>
struct Names<Precision> {
  static constexpr std::array<std::string_view, 4> all{"float32", "float64", "float16", "bfloat16"};
};

// What is computed with where features are stored so, and what their weights are stored as.
constexpr Precision working_precision(Precision stored) {
  return stored == Precision::float64 ? Precision::float64 : Precision::float32;
}
// Whether numbers are stored in 16 bits, in which nothing is computed.
constexpr bool is_half(Precision stored) {
  return stored == Precision::float16 || stored == Precision::bfloat16;
}

// What T is called: float, double, Float16 or BFloat16.
template <class T>
constexpr Precision precision_of = std::is_same_v<T, float>     ? Precision::float32
                                   : std::is_same_v<T, double>  ? Precision::float64
                                   : std::is_same_v<T, Float16> ? Precision::float16
                                                                : Precision::bfloat16;
// What is computed with where T is stored.
template <class T>
using Working = std::conditional_t<std::is_same_v<T, double>, double, float>;

// X: (rows x cols), row-major; row i starts at data + i * stride.
template <class T>
struct DenseView {
  using Value = T;          // float, double, Float16 or BFloat16
  const T* data = nullptr;  // the caller's
  std::int64_t rows = 0;    // n
  std::int64_t cols = 0;    // d
  std::int64_t stride = 0;  // at least cols
};

// X: (rows x cols); the non-zeros of row i are [row_begin[i], row_begin[i + 1]), columns ascending.
template <class T>
struct CsrView {
  using Value = T;                          // float or double
  const std::int64_t* row_begin = nullptr;  // rows + 1
  const std::int32_t* column = nullptr;     // of each non-zero
  const T* value = nullptr;                 // of each non-zero
  std::int64_t rows = 0;                    // n
  std::int64_t cols = 0;                    // d
};

// Any of the six: an index takes as much room as a float32, so that halves would make sparse rows hardly smaller.
using FeatureView = std::variant<DenseView<float>, DenseView<double>, CsrView<float>, CsrView<double>,
                                 DenseView<Float16>, DenseView<BFloat16>>;

// Owned storage, filled by a loader and changed only before it becomes Features.
template <class T>
struct DenseStore {
  using Value = T;        // float, double, Float16 or BFloat16
  std::vector<T> values;  // (rows x cols), row-major
  std::int64_t rows = 0;  // n
  std::int64_t cols = 0;  // d
  // Of what is stored, which must stay.
  DenseView<T> view() const { return {values.data(), rows, cols, cols}; }
};

// The same of sparse rows.
template <class T>
struct CsrStore {
  using Value = T;                      // float or double
  std::vector<std::int64_t> row_begin;  // rows + 1
  std::vector<std::int32_t> column;     // of each non-zero
  std::vector<T> values;                // of each non-zero
  std::int64_t rows = 0;                // n
  std::int64_t cols = 0;                // d
  // Of what is stored, which must stay.
  CsrView<T> view() const { return {row_begin.data(), column.data(), values.data(), rows, cols}; }
};

// Any of the six.
using FeatureStore = std::variant<DenseStore<float>, DenseStore<double>, CsrStore<float>, CsrStore<double>,
                                  DenseStore<Float16>, DenseStore<BFloat16>>;

// Whether rows are CSR, in a view or a store.
template <class Features>
bool is_sparse(const Features& X) {
  return std::visit(
      [](const auto& matrix) {
        return requires {
          matrix.row_begin;
        };
      },
      X);
}
// What their values are.
template <class Features>
Precision stored_precision(const Features& X) {
  return std::visit([]<class Matrix>(const Matrix&) { return precision_of<typename Matrix::Value>; }, X);
}

// Rows that stay where they are, on a disk for instance, and are copied to memory some at a time. They never change:
// a source that finds they did throws Error{io}.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // n
  virtual std::int64_t rows() const = 0;
  // d
  virtual std::int64_t cols() const = 0;
  // Whether they are CSR.
  virtual bool sparse() const = 0;
  // Of the values.
  virtual Precision precision() const = 0;
  // How many values the rows [first, first + count) store.
  virtual std::int64_t stored(std::int64_t first, std::int64_t count) const = 0;

  // Where rows go in a store that has room for them: the first of them is row `row`, its first value the value `value`
  // (dense: row * cols).
  struct Place {
    std::int64_t row = 0, value = 0;
  };
  // Copies the rows [first, first + count) into a store of this type of rows and values; of sparse rows row_begin is
  // written behind place.row. Several threads may read at once, each to a place of its own.
  virtual void read(std::int64_t first, std::int64_t count, FeatureStore& to, Place place) const = 0;
  // These rows are read soon: what takes time may begin.
  virtual void expect(std::int64_t /*first*/, std::int64_t /*count*/) const {}
};

// X as the solvers see it: an immutable view and, if the memory is ours, what keeps it alive; or a source of rows.
class Features {
 public:
  // No rows.
  Features() : view_(DenseView<float>{}) {}
  // Borrowed: the caller keeps the memory alive and unchanged.
  explicit Features(FeatureView view) : view_(view) {}
  // The same without ceremony: n rows of d numbers, row i at data + i * stride.
  template <class T>
  static Features dense(const T* data, std::int64_t n, std::int64_t d, std::int64_t stride) {
    return Features(FeatureView(DenseView<T>{data, n, d, stride}));
  }
  // One row after the other.
  template <class T>
  static Features dense(const T* data, std::int64_t n, std::int64_t d) {
    return dense(data, n, d, d);
  }
  // CSR: n + 1 row bounds, the first 0; for every non-zero its column, ascending within a row, and its value.
  template <class T>
  static Features csr(const std::int64_t* row_begin, const std::int32_t* column, const T* value, std::int64_t n,
                      std::int64_t d) {
    return Features(FeatureView(CsrView<T>{row_begin, column, value, n, d}));
  }
  // A view, with what keeps the memory alive, or some of it.
  Features(FeatureView view, std::shared_ptr<const void> owner) : view_(view), owner_(std::move(owner)) {}
  // Owned: takes the storage over without a copy.
  explicit Features(FeatureStore store) {
    auto owner = std::make_shared<const FeatureStore>(std::move(store));
    view_ = std::visit([](const auto& s) -> FeatureView { return s.view(); }, *owner);
    owner_ = std::move(owner);
  }

  // Rows that are read some at a time.
  explicit Features(std::shared_ptr<const RowSource> source) : view_(no_rows(*source)), source_(std::move(source)) {}

  // Which of the six it is, and where it lies. Rows that are not in memory have no view: Error{data}.
  const FeatureView& view() const {
    if (source_) throw Error(ErrorKind::data, std::string("the rows are on disk, but this needs them in memory"));
    return view_;
  }
  // Which of the six it is, and how wide; the rows themselves only where they are in memory.
  const FeatureView& kind() const { return view_; }
  // Of rows that are read some at a time; null: they are in memory.
  const std::shared_ptr<const RowSource>& source() const { return source_; }
  // n
  std::int64_t rows() const {
    return source_ ? source_->rows() : std::visit([](const auto& v) { return v.rows; }, view_);
  }
  // d
  std::int64_t cols() const {
    return std::visit([](const auto& v) { return v.cols; }, view_);
  }
  // Whether it is CSR.
  bool sparse() const { return is_sparse(view_); }
  // Of the values.
  Precision precision() const { return stored_precision(view_); }

 private:
  static FeatureView no_rows(const RowSource& source) {
    static constexpr std::int64_t begin = 0;
    const std::int64_t d = source.cols();
    const bool wide = source.precision() == Precision::float64;
    if (source.sparse()) {
      return wide ? FeatureView(CsrView<double>{&begin, nullptr, nullptr, 0, d})
                  : FeatureView(CsrView<float>{&begin, nullptr, nullptr, 0, d});
    }
    if (source.precision() == Precision::float16) return DenseView<Float16>{nullptr, 0, d, d};
    if (source.precision() == Precision::bfloat16) return DenseView<BFloat16>{nullptr, 0, d, d};
    return wide ? FeatureView(DenseView<double>{nullptr, 0, d, d}) : FeatureView(DenseView<float>{nullptr, 0, d, d});
  }

  FeatureView view_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const RowSource> source_;
};

// One non-zero of a row over the classes.
struct Entry {
  std::int32_t column;  // the class
  double value;         // not 0
};

// Rows over the classes with few non-zeros, classes ascending: the dual A (n x m).
struct SparseRows {
  std::vector<std::int64_t> row_begin{0};  // rows + 1
  std::vector<std::int32_t> column;        // of each non-zero, the class
  std::vector<double> values;              // of each non-zero
  // n
  std::int64_t rows() const { return static_cast<std::int64_t>(row_begin.size()) - 1; }
};

}  // namespace topwolf
