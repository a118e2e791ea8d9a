// Arrays first, each checked by itself; then their sizes against each other and the data; then the model.
#include "topwolf/model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "data/byte_source.hpp"
#include "data/features.hpp"
#include "data/npy.hpp"
#include "data/readers.hpp"
#include "data/text.hpp"

namespace topwolf {
namespace {

// (rows x cols), row-major, finite. One dimension is a column, none a single number.
struct Matrix {
  std::int64_t rows = 1, cols = 1;
  std::vector<double> values;
  double at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * cols + j)]; }
};

struct Arrays {
  Matrix coef;
  std::optional<Matrix> intercept;
  std::optional<Labels> classes;
};

Matrix read_matrix(std::string_view bytes, const std::string& name, std::size_t least_dimensions,
                   std::size_t most_dimensions) {
  const NpyArray array = parse_npy(bytes, name);
  if (array.shape.size() < least_dimensions || array.shape.size() > most_dimensions || array.size() == 0) {
    fail(ErrorKind::data, "{}: {} needed, none of them 0, but the shape is ({})", name,
         most_dimensions == 2 ? "two dimensions are" : "at most one dimension is", fmt::join(array.shape, ", "));
  }
  Matrix matrix;
  if (!array.shape.empty()) matrix.rows = array.shape[0];
  if (array.shape.size() == 2) matrix.cols = array.shape[1];
  matrix.values = npy_numbers<double>(array, name);
  const auto bad =
      std::find_if_not(matrix.values.begin(), matrix.values.end(), [](double x) { return std::isfinite(x); });
  if (bad != matrix.values.end()) {
    const std::int64_t k = bad - matrix.values.begin();
    fail_not_finite(name, k / matrix.cols, k % matrix.cols, *bad, Precision::float64);
  }
  return matrix;
}

// With the name of the array, as scikit-learn spells it or without the underscore.
std::optional<std::pair<Buffer, std::string>> find_array(const std::string& path, const std::string& member,
                                                         UnpackLimit max_unpacked) {
  for (const std::string& spelling : {member, member + "_"}) {
    if (auto bytes = read_npz_array(path, spelling, max_unpacked)) {
      return std::pair{std::move(*bytes), fmt::format("{}: {}", path, spelling)};
    }
  }
  return std::nullopt;
}

Arrays read_archive(const std::string& path, UnpackLimit max_unpacked) {
  Arrays arrays;
  const auto coef = find_array(path, "coef", max_unpacked);
  if (!coef) fail(ErrorKind::data, "{}: holds neither an array coef nor coef_", path);
  arrays.coef = read_matrix(coef->first.view(), coef->second, 2, 2);
  if (const auto intercept = find_array(path, "intercept", max_unpacked)) {
    arrays.intercept = read_matrix(intercept->first.view(), intercept->second, 0, 1);
  }
  if (const auto classes = find_array(path, "classes", max_unpacked)) {
    arrays.classes = npy_labels(parse_npy(classes->first.view(), classes->second), classes->second);
  }
  return arrays;
}

Arrays read_arrays(const std::string& path, UnpackLimit max_unpacked) {
  if (is_zip(peek_bytes(path, 8))) return read_archive(path, max_unpacked);
  Arrays arrays;
  arrays.coef = read_matrix(read_bytes(path, max_unpacked).view(), path, 2, 2);
  return arrays;
}

// The label of every row of the model, as if they were rows of data.
RawDataset row_labels(Arrays& arrays, const std::string& path, const ClassList& classes) {
  RawDataset rows;
  rows.source = path;
  if (arrays.classes) {
    rows.label = std::move(arrays.classes->label);
    rows.spelling = std::move(arrays.classes->spelling);
    rows.label_type = arrays.classes->type;
  } else {
    rows.label.resize(classes.names.size());
    std::iota(rows.label.begin(), rows.label.end(), 0);
    rows.spelling = classes.names;
    rows.label_type = classes.type;
  }
  return rows;
}

void check_sizes(const Arrays& arrays, std::int64_t m, std::int64_t d, const std::string& path) {
  const auto& [coef, intercept, classes] = arrays;
  const bool rows_fit = coef.rows == m || (coef.rows == 1 && m == 2);
  const bool columns_fit = coef.cols == d || (!intercept && coef.cols == d + 1);
  if (!rows_fit || !columns_fit) {
    fail(ErrorKind::data, "{}: the matrix of weights is {} x {}, but {} classes and {} features need {} x {}{}", path,
         coef.rows, coef.cols, m, d, m, d,
         intercept ? "" : fmt::format(", or {} x {} with the intercepts in the last column", m, d + 1));
  }
  if (intercept && intercept->rows != coef.rows && intercept->rows != 1) {
    fail(ErrorKind::data, "{}: there are {} intercepts for {} rows of weights", path, intercept->rows, coef.rows);
  }
}

// One for every row of coef; empty where there are none, or all are 0, as scikit-learn writes when it fits none.
std::vector<double> intercepts_of(const Arrays& arrays, std::int64_t d) {
  const auto& [coef, intercept, classes] = arrays;
  std::vector<double> result(static_cast<std::size_t>(coef.rows), 0.0);
  for (std::int64_t r = 0; r < coef.rows; ++r) {
    if (intercept) result[static_cast<std::size_t>(r)] = intercept->at(intercept->rows == 1 ? 0 : r, 0);
    if (coef.cols > d) result[static_cast<std::size_t>(r)] = coef.at(r, d);
  }
  if (std::all_of(result.begin(), result.end(), [](double b) { return b == 0.0; })) result.clear();
  return result;
}

}  // namespace

bool is_coefficient_file(const std::string& path) {
  const std::string begin = peek_bytes(path, 8);
  return is_npy(begin) || is_zip(begin);
}

Model load_coefficients(const std::string& path, std::int64_t d, const ClassList& classes, UnpackLimit max_unpacked) {
  const IeeeArithmetic ieee;
  Arrays arrays = read_arrays(path, max_unpacked);
  const RawDataset rows = row_labels(arrays, path, classes);
  const auto m = static_cast<std::int64_t>(rows.label.size());
  Model model;
  model.d = d;
  model.precision = Precision::float64;
  model.classes = collect_classes(rows);
  if (model.m() != m) fail(ErrorKind::data, "{}: only {} of the {} classes are distinct labels", path, model.m(), m);
  check_sizes(arrays, m, d, path);
  const std::vector<double> intercepts = intercepts_of(arrays, d);
  if (!intercepts.empty()) model.bias = 1.0;

  // A single w stands for the shortest pair of rows whose scores differ by its score.
  const bool single = arrays.coef.rows < m;
  const std::vector<std::int32_t> number = map_labels(rows, model.classes);
  model.W.resize(static_cast<std::size_t>(m * model.D()));
  for (std::int64_t r = 0; r < m; ++r) {
    const std::int64_t from = single ? 0 : r;
    const double scale = !single ? 1.0 : r == 0 ? -0.5 : 0.5;
    double* const to = model.W.data() + number[static_cast<std::size_t>(r)] * model.D();
    for (std::int64_t f = 0; f < d; ++f) to[f] = scale * arrays.coef.at(from, f);
    if (!intercepts.empty()) to[d] = scale * intercepts[static_cast<std::size_t>(from)];
  }
  return model;
}

}  // namespace topwolf
