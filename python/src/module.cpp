#include "module.hpp"

#include <exception>
#include <optional>

#include "core/ieee.hpp"
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

// What the estimators call a field of the library's options.
std::string parameter_for(std::string_view field, std::string_view value) {
  constexpr std::pair<std::string_view, std::string_view> renamed[]{
      {"bias", "intercept_scaling"}, {"max_iterations", "max_iter"}, {"metric", "scoring"}, {"seed", "random_state"},
      {"threads", "n_jobs"},         {"time_limit_s", "time_limit"}, {"tolerance", "tol"}};
  std::string name(field);
  if (field == "precision") return "X as " + std::string(value);
  for (const auto& [from, to] : renamed) {
    if (from == field) name = to;
  }
  if (value.empty()) return name;
  const bool number = value.find_first_not_of("0123456789") == value.npos;
  return name + "=" + (number ? std::string(value) : "'" + std::string(value) + "'");
}

// NumPy's arithmetic, too: `with _core.IeeeArithmetic(): ...`
struct PyIeee {
  std::optional<IeeeArithmetic> held;
};

// What or_wait cannot see: nanobind calls Python too, from functions that nothing may leave by an exception, and a
// thread that is told to leave there would end the process. With no exception, and the interpreter ending, it is that.
void wait_instead_of_ending_all() {
  static std::terminate_handler before = nullptr;
  before = std::set_terminate([] {
#if PY_VERSION_HEX >= 0x030D0000
    const bool ending = Py_IsFinalizing() != 0;
#else
    const bool ending = _Py_IsFinalizing() != 0;
#endif
    while (ending && !std::current_exception()) ::pause();
    before();
  });
}

void bind_ieee(nb::module_& module) {
  nb::class_<PyIeee>(module, "IeeeArithmetic", "This thread computes with subnormal numbers, and rounds to nearest.")
      .def(nb::init<>())
      .def("__enter__", [](PyIeee& self) { self.held.emplace(); })
      .def(
          "__exit__", [](PyIeee& self, const nb::object&, const nb::object&, const nb::object&) { self.held.reset(); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none());
}

// As Python spells them.
template <std::size_t size>
std::vector<std::string> spelled(const std::array<std::string_view, size>& names) {
  std::vector<std::string> out(names.begin(), names.end());
  for (std::string& name : out) std::replace(name.begin(), name.end(), '-', '_');
  return out;
}

std::vector<std::string> solvers_that_start() {
  std::vector<std::string> out;
  for (const SolverTraits& solver : solver_table) {
    if (solver.starts) out.emplace_back(solver.name);
  }
  return out;
}

}  // namespace
}  // namespace topwolf::python

NB_MODULE(_core, module) {
  using namespace topwolf;
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(python::exception_for(error.kind()), error.sentence().with(python::parameter_for).c_str());
    }
  });
  // A daemon thread that is in here when Python ends keeps what it has: that is no leak to speak of.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = TOPWOLF_VERSION;
  module.attr("LOSSES") = python::spelled(loss_names);
  module.attr("SOLVERS") = python::spelled(Names<SolverName>::all);
  module.attr("SOLVERS_THAT_START") = python::solvers_that_start();
  python::wait_instead_of_ending_all();
  python::bind_ieee(module);
  python::bind_features(module);
  python::bind_model(module);
  python::bind_train(module);
  python::bind_search(module);
  python::bind_report(module);
  python::bind_shards(module);
}
