// NumPy arrays and SciPy's CSR matrices as Features, without a copy of the values.
#include <nanobind/stl/string.h>
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

// Numbers in a file, of which only windows come to memory.
std::unique_ptr<PyFeatures> in_file(const std::string& path, std::uint64_t offset, std::int64_t rows, std::int64_t cols,
                                    const std::string& precision) {
  const auto known = parse_name<Precision>(precision);
  if (!known) throw nb::value_error("the precision is unknown");
  auto out = std::make_unique<PyFeatures>();
  out->X = rows_in_file({path, offset, rows, cols, *known});
  return out;
}

}  // namespace

void bind_features(nb::module_& module) {
  nb::class_<PyFeatures>(module, "Features")
      .def_prop_ro("rows", [](const PyFeatures& f) { return f.X.rows(); })
      .def_prop_ro("cols", [](const PyFeatures& f) { return f.X.cols(); })
      .def_prop_ro("finite", &all_finite, "Whether all values of dense rows are.")
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
             nb::arg("precision"), "Rows that lie in a file as they would in memory.");
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
