#include "module.hpp"

#include "topwolf/version.hpp"

namespace topwolf::python {
namespace {

PyObject* exception_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::option:
    case ErrorKind::data:
      return PyExc_ValueError;
    case ErrorKind::io:
      return PyExc_OSError;
    case ErrorKind::memory:
      return PyExc_MemoryError;
    case ErrorKind::internal:
      break;
  }
  return PyExc_RuntimeError;
}

}  // namespace
}  // namespace topwolf::python

NB_MODULE(_core, module) {
  using namespace topwolf;
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(python::exception_for(error.kind()), error.what());
    }
  });
  module.attr("__version__") = TOPWOLF_VERSION;
  python::bind_features(module);
  python::bind_model(module);
  python::bind_train(module);
}
