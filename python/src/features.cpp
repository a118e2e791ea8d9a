// NumPy arrays and SciPy's CSR matrices as Features, without a copy of the values; rows that stay in files.
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>

#include "module.hpp"

namespace topwolf::python {
namespace {

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// T: what the array's numbers are; Stored: what NumPy takes them for.
template <class T, class Stored = T>
std::unique_ptr<PyFeatures> dense(Matrix<Stored> array) {
  const std::int64_t rows = static_cast<std::int64_t>(array.shape(0)), cols = static_cast<std::int64_t>(array.shape(1));
  if ((cols > 1 && array.stride(1) != 1) || (rows > 1 && array.stride(0) < cols)) {
    throw nb::value_error("every row must lie in one piece, apart from the others");
  }
  auto out = std::make_unique<PyFeatures>();
  out->X = Features::dense(reinterpret_cast<const T*>(array.data()), rows, cols, rows > 1 ? array.stride(0) : cols);
  out->owners.push_back(nb::cast(array));
  return out;
}

// SciPy's indices are 32 or 64 bits wide; ours are 64 bits for rows and 32 for columns. What differs is converted.
template <class T, class Index>
std::unique_ptr<PyFeatures> csr(Vector<T> values, Vector<Index> indices, Vector<Index> indptr, std::int64_t cols) {
  auto out = std::make_unique<PyFeatures>();
  CsrView<T> view;
  view.rows = static_cast<std::int64_t>(indptr.size()) - 1;
  view.cols = cols;
  view.value = values.data();
  if constexpr (sizeof(Index) == 8) {
    view.row_begin = indptr.data();
    out->column.assign(indices.data(), indices.data() + indices.size());
    view.column = out->column.data();
  } else {
    out->row_begin.assign(indptr.data(), indptr.data() + indptr.size());
    view.row_begin = out->row_begin.data();
    view.column = indices.data();
  }
  out->X = Features(FeatureView(view));
  for (nb::object owner : {nb::cast(values), nb::cast(indices), nb::cast(indptr)}) out->owners.push_back(owner);
  return out;
}

std::uintptr_t address(const PyFeatures& features) {
  return std::visit(
      [](const auto& view) {
        if constexpr (requires { view.value; }) {
          return reinterpret_cast<std::uintptr_t>(view.value);
        } else {
          return reinterpret_cast<std::uintptr_t>(view.data);
        }
      },
      features.X.view());
}

// Of dense rows.
bool all_finite(const PyFeatures& features) {
  return std::visit(
      []<class View>(const View& X) {
        if constexpr (requires { X.stride; }) {
          for (std::int64_t i = 0; i < X.rows; ++i) {
            const auto* const row = X.data + i * X.stride;
            if (!std::all_of(row, row + X.cols, [](auto x) { return std::isfinite(x); })) return false;
          }
        }
        return true;
      },
      features.X.view());
}

Precision precision_from(const std::string& name) {
  const auto known = parse_name<Precision>(name);
  if (!known) throw nb::value_error("the precision is unknown");
  return *known;
}

std::unique_ptr<PyFeatures> as_features(Features X) {
  auto out = std::make_unique<PyFeatures>();
  out->X = std::move(X);
  return out;
}

std::unique_ptr<PyFeatures> in_file(const std::string& path, std::uint64_t offset, std::int64_t rows, std::int64_t cols,
                                    const std::string& precision) {
  return as_features(rows_in_file({path, offset, rows, cols, precision_from(precision)}));
}

std::unique_ptr<PyFeatures> in_files(const std::string& row_begin, const std::string& column, const std::string& value,
                                     std::int64_t rows, std::int64_t cols, const std::string& precision) {
  return as_features(rows_in_files({row_begin, column, value, rows, cols, precision_from(precision)}));
}

// (rows, class numbers, the type of the labels, the classes); None in the place of the last three where there are none.
nb::tuple of_files(const std::vector<std::string>& paths, const std::vector<std::string>& labels,
                   const std::optional<std::string>& precision) {
  LoadOptions options;
  if (precision) options.precision = precision_from(*precision);
  RawDataset raw;
  ClassList classes;
  std::vector<std::int32_t> y;
  {
    const Released released;
    raw = open_files(paths, labels, options);
    classes = collect_classes(raw);
    y = map_labels(raw, classes);
  }
  const auto rows = nb::cast(as_features(Features(std::move(raw.rows))));
  if (classes.names.empty()) return nb::make_tuple(rows, nb::none(), nb::none(), nb::none());
  const std::size_t n = y.size();
  return nb::make_tuple(rows, to_array(std::move(y), {n}), to_string(classes.type).data(), classes.names);
}

// Rows in random order to a .twd file, without labels; returns which row is where.
nb::object shuffled(const PyFeatures& features, const std::string& path, std::uint64_t seed, std::int64_t memory,
                    int threads) {
  RawDataset raw;
  raw.rows = features.X.source();
  raw.label.assign(static_cast<std::size_t>(features.X.rows()), -1);
  std::vector<std::int64_t> order;
  CacheOptions options{.shuffle = true, .seed = seed, .memory = memory, .threads = threads, .order = &order};
  options.progress = [](double) {
    const Held held;
    if (or_wait(PyErr_CheckSignals) != 0) throw nb::python_error();
  };
  {
    const Released released;
    write_cache(std::move(raw), path, options);
  }
  const std::size_t n = order.size();
  return to_array(std::move(order), {n});
}

}  // namespace

void bind_features(nb::module_& module) {
  nb::class_<PyFeatures>(module, "Features")
      .def_prop_ro("rows", [](const PyFeatures& f) { return f.X.rows(); })
      .def_prop_ro("cols", [](const PyFeatures& f) { return f.X.cols(); })
      .def_prop_ro("finite", &all_finite, "Whether all values of dense rows are.")
      .def_prop_ro("sparse", [](const PyFeatures& f) { return f.X.sparse(); })
      .def_prop_ro("precision", [](const PyFeatures& f) { return to_string(f.X.precision()).data(); })
      .def_prop_ro("address", &address, "Where the values lie.");
  module.def(
      "kept_columns",
      [](const PyFeatures& features, std::int64_t m) {
        std::vector<std::int32_t> columns = kept_columns(features.X, m);
        const std::size_t count = columns.size();
        return count > 0 ? to_array(std::move(columns), {count}) : nb::none();
      },
      nb::arg("X"), nb::arg("m"), "The columns that training keeps weights for; None: all.");
  module.def("in_file", &in_file, nb::arg("path"), nb::arg("offset"), nb::arg("rows"), nb::arg("cols"),
             nb::arg("precision"), "Dense rows that lie in a file as they would in memory.");
  module.def("in_files", &in_files, nb::arg("row_begin"), nb::arg("column"), nb::arg("value"), nb::arg("rows"),
             nb::arg("cols"), nb::arg("precision"), "Sparse rows whose three arrays are files.");
  module.def("of_files", &of_files, nb::arg("paths"), nb::arg("labels"), nb::arg("precision").none(),
             "Rows of .npy and .twd files, their class numbers, the type of their labels, and the classes.");
  module.def("shuffled", &shuffled, nb::arg("X"), nb::arg("path"), nb::arg("seed"), nb::arg("memory"),
             nb::arg("threads"), "Writes rows that are in files in random order to another; returns their numbers.");
  // The caller sees to the type of the values; nothing is converted behind its back.
  module.def("dense", &dense<float>, nb::arg("array").noconvert());
  module.def("dense", &dense<double>, nb::arg("array").noconvert());
  module.def("float16", &dense<Float16, std::uint16_t>, nb::arg("bits").noconvert());
  module.def("bfloat16", &dense<BFloat16, std::uint16_t>, nb::arg("bits").noconvert());
  const auto def_csr = [&](auto function) {
    module.def("csr", function, nb::arg("values").noconvert(), nb::arg("indices").noconvert(),
               nb::arg("indptr").noconvert(), nb::arg("cols"));
  };
  def_csr(&csr<float, std::int32_t>);
  def_csr(&csr<double, std::int32_t>);
  def_csr(&csr<float, std::int64_t>);
  def_csr(&csr<double, std::int64_t>);
}

}  // namespace topwolf::python
