// What the parts of the extension share. It converts, releases the interpreter while it works, and does nothing else.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
// In every file the same, or one would convert what another takes for a class of its own.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "topwolf/topwolf.hpp"

namespace topwolf::python {

namespace nb = nanobind;

// Whoever wants the interpreter while it ends never comes back: up to Python 3.13 it is told to leave its thread, which
// would unwind frames that may not be unwound, the library's and nanobind's. A daemon thread then waits for the end of
// the process instead, as it does from 3.14 on.
template <class Call>
decltype(auto) or_wait(const Call& call) {
#if defined(__GLIBCXX__)
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    for (;;) ::pause();
  }
#else
  return call();
#endif
}

// Without the interpreter while the library works, and with it where the library calls Python.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    or_wait([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

class Held {
 public:
  Held() : state_(or_wait([] { return PyGILState_Ensure(); })) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

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
// And back; an oracle is not among them.
Model to_model(const nb::dict& classifier, const nb::dict& provenance);

void bind_features(nb::module_& module);
void bind_model(nb::module_& module);
void bind_train(nb::module_& module);
void bind_search(nb::module_& module);
void bind_report(nb::module_& module);
void bind_shards(nb::module_& module);

}  // namespace topwolf::python
