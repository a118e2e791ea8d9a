// What the parts of the extension share. It converts, releases the interpreter while it works, and does nothing else.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "topwolf/topwolf.hpp"

namespace topwolf::python {

namespace nb = nanobind;

// X as it lies in NumPy's or SciPy's memory, which is kept alive.
struct PyFeatures {
  Features X;
  std::vector<nb::object> owners;
  std::vector<std::int64_t> row_begin;  // where SciPy's index type is not ours
  std::vector<std::int32_t> column;
};

// The array takes the vector over without a copy.
template <class T>
nb::object to_array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape, owner));
}

using DoubleArray = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using LabelArray = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::vector<double> to_vector(const DoubleArray& array) {
  return {array.data(), array.data() + array.size()};
}

inline std::vector<std::int32_t> to_vector(const LabelArray& array) {
  return {array.data(), array.data() + array.size()};
}

// A model as two dictionaries of plain values and arrays: the classifier, and its provenance.
nb::tuple to_dicts(Model model);

void bind_features(nb::module_& module);
void bind_model(nb::module_& module);
void bind_train(nb::module_& module);

}  // namespace topwolf::python
