#include "training.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace topwolf::python {
namespace {

template <class E>
E named(const char* what, const std::string& name) {
  const std::optional<E> value = parse_name<E>(name);
  if (!value) throw nb::value_error(("the " + std::string(what) + " is unknown: " + name).c_str());
  return *value;
}

// The dual as SciPy's (indptr, indices, data).
SparseRows rows_from(const nb::tuple& arrays) {
  const auto values_of = [&]<class T>(std::size_t at, T) {
    const auto array = nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(arrays[at]);
    return std::vector<T>(array.data(), array.data() + array.size());
  };
  return {values_of(0, std::int64_t{}), values_of(1, std::int32_t{}), values_of(2, double{})};
}

}  // namespace

nb::tuple to_tuple(SparseRows rows) {
  const std::size_t begins = rows.row_begin.size(), stored = rows.column.size();
  return nb::make_tuple(to_array(std::move(rows.row_begin), {begins}), to_array(std::move(rows.column), {stored}),
                        to_array(std::move(rows.values), {stored}));
}

TrainOptions options_from(const nb::dict& given) {
  TrainOptions options;
  options.loss = parse_loss(nb::cast<std::string>(given["loss"]));
  if (!given["k"].is_none()) options.loss.k = nb::cast<std::int64_t>(given["k"]);
  if (!given["rho"].is_none()) options.loss.rho = to_vector(nb::cast<DoubleArray>(given["rho"]));
  if (!given["cost_matrix"].is_none()) {
    options.loss.cost_matrix = to_vector(nb::cast<DoubleArray>(given["cost_matrix"]));
  }
  options.loss.smoothing = nb::cast<double>(given["smoothing"]);
  options.loss.temperature = nb::cast<std::optional<double>>(given["temperature"]);
  options.C = nb::cast<double>(given["C"]);
  options.tolerance = nb::cast<double>(given["tolerance"]);
  options.solver = named<SolverName>("solver", nb::cast<std::string>(given["solver"]));
  options.max_iterations = nb::cast<std::int64_t>(given["max_iterations"]);
  options.time_limit_s = nb::cast<std::optional<double>>(given["time_limit"]);
  options.bias = nb::cast<double>(given["bias"]);
  options.center = nb::cast<bool>(given["center"]);
  options.threads = nb::cast<int>(given["threads"]);
  options.seed = nb::cast<std::uint64_t>(given["seed"]);
  options.keep_dual = nb::cast<bool>(given["keep_dual"]);
  if (!given["start"].is_none()) options.start = rows_from(nb::cast<nb::tuple>(given["start"]));
  return options;
}

nb::dict trace_of(const std::vector<IterationRecord>& records) {
  nb::dict out;
  const auto column = [&](const char* name, auto field) {
    std::vector<std::decay_t<decltype(records.front().*field)>> values;
    for (const IterationRecord& record : records) values.push_back(record.*field);
    out[name] = to_array(std::move(values), {records.size()});
  };
  column("iteration", &IterationRecord::iteration);
  column("seconds", &IterationRecord::seconds);
  column("primal", &IterationRecord::primal);
  column("dual", &IterationRecord::dual);
  column("relative_gap", &IterationRecord::relative_gap);
  column("step", &IterationRecord::step);
  column("iterate_primal", &IterationRecord::iterate_primal);
  column("iterate_dual", &IterationRecord::iterate_dual);
  return out;
}

nb::object taken(nb::python_error& error) {
  error.restore();
#if PY_VERSION_HEX >= 0x030C0000
  return nb::steal(PyErr_GetRaisedException());
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return nb::steal(value);
#endif
}

nb::object PyRecord::weights() const {
  const std::shared_ptr<const Progress> now = progress.lock();
  if (!now) throw std::runtime_error("the weights of a pass are there only while the callback is called");
  std::vector<double> W = now->weights();
  const std::size_t size = W.size();
  return rows == 1 ? to_array(std::move(W), {size}) : to_array(std::move(W), {rows, size / rows});
}

bool Watch::operator()(const Progress& progress) {
  records_.push_back(progress);
  if (observer_.is_none()) return true;
  const Held held;
  try {
    const std::shared_ptr<const Progress> now(&progress, [](const Progress*) {});
    return !or_wait([&] { return nb::cast<bool>(observer_(PyRecord{progress, now, rows_})); });
  } catch (nb::python_error& error) {
    error_ = taken(error);
    return false;
  }
}

bool Watch::signalled() {
  constexpr double signal_interval_s = 0.05;
  const double now = clock_.seconds();
  if (now - last_look_s_ < signal_interval_s) return false;
  last_look_s_ = now;
  const Held held;
  if (or_wait(PyErr_CheckSignals) == 0) return false;
  nb::python_error error;
  error_ = taken(error);
  return true;
}

nb::dict result_dict(TrainResult result, const std::vector<IterationRecord>& records) {
  nb::dict out;
  out["K"] = result.loss.K();
  out["choice"] = result.choice;
  out["seconds"] = result.seconds;
  out["row_visits"] = result.row_visits;
  out["trace"] = trace_of(records);
  out["dual"] = to_tuple(std::move(result.dual));
  const nb::tuple model = to_dicts(std::move(result.model));
  out["classifier"] = model[0];
  out["provenance"] = model[1];
  return out;
}

}  // namespace topwolf::python
