// Training: options in, a model and its trace out; observers are called with the interpreter held.
#include <nanobind/stl/function.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "module.hpp"
#include "oracle.hpp"
#include "report/progress.hpp"
#include "watch.hpp"

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

nb::tuple to_tuple(SparseRows rows) {
  const std::size_t begins = rows.row_begin.size(), stored = rows.column.size();
  return nb::make_tuple(to_array(std::move(rows.row_begin), {begins}), to_array(std::move(rows.column), {stored}),
                        to_array(std::move(rows.values), {stored}));
}

}  // namespace

// The same keys as a model's where the meaning is the same.
TrainOptions options_from(const nb::dict& given) {
  TrainOptions options;
  options.loss = nb::isinstance<nb::str>(given["loss"]) ? parse_loss(nb::cast<std::string>(given["loss"]))
                                                        : loss_by_oracle(oracle_from(nb::object(given["loss"])));
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
  options.memory = nb::cast<std::optional<std::int64_t>>(given["memory"]);
  options.program_bytes = nb::cast<std::int64_t>(given["program_bytes"]);
  options.device = nb::cast<std::string>(given["device"]);
  options.threads = nb::cast<int>(given["threads"]);
  options.seed = nb::cast<std::uint64_t>(given["seed"]);
  options.keep_dual = nb::cast<bool>(given["keep_dual"]);
  if (!given["start"].is_none()) options.start = rows_from(nb::cast<nb::tuple>(given["start"]));
  return options;
}

namespace {

Margins margins_from(const nb::dict& options) {
  if (options["margins"].is_none()) return {};
  return {nb::cast<const PyFeatures&>(options["margins"]).X, nb::cast<double>(options["margin_default"])};
}

}  // namespace

// Weights, margins and class features are the caller's to keep alive, as the rows are.
Dataset dataset_from(const PyFeatures& features, const LabelArray& y, std::int64_t m, const nb::object& weights,
                     const nb::dict& options) {
  Dataset data;
  data.X = features.X;
  data.y = to_vector(y);
  for (std::int64_t j = 0; j < m; ++j) data.classes.names.push_back(std::to_string(j));
  if (!weights.is_none()) data.weights = to_vector(nb::cast<DoubleArray>(weights));
  data.margins = margins_from(options);
  if (!options["class_features"].is_none()) {
    data.class_features = nb::cast<const PyFeatures&>(options["class_features"]).X;
  }
  return data;
}

namespace {

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

}  // namespace

// What Python raised, as an object that can be raised again.
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

// What users of either training function see of a result; the trace is empty where nobody looked.
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

namespace {

// `error` is what ended training from outside, such as KeyboardInterrupt: the model is there all the same.
nb::dict train_model(const PyFeatures& features, const LabelArray& y, std::int64_t m, const nb::dict& options,
                     const nb::object& weights, const nb::object& observer) {
  TrainOptions asked = options_from(options);
  const Dataset data = dataset_from(features, y, m, weights, options);
  Watch watch(observer, m);
  asked.should_stop = [&] { return watch.signalled(); };
  TrainResult result;
  {
    const Released released;
    result = train(data, asked, std::ref(watch));
  }
  nb::dict out = result_dict(std::move(result), watch.records());
  out["error"] = watch.error();
  return out;
}

// psi as numbers: a row for every example and class.
nb::dict train_tensor(const PyFeatures& psi, const LabelArray& y, std::int64_t m, const nb::dict& options,
                      const nb::object& weights, const nb::object& observer) {
  TrainOptions asked = options_from(options);
  JointLabels labels;
  labels.y = to_vector(y);
  if (!weights.is_none()) labels.weights = to_vector(nb::cast<DoubleArray>(weights));
  labels.margins = margins_from(options);
  Watch watch(observer, 1);
  asked.should_stop = [&] { return watch.signalled(); };
  JointResult result;
  {
    const Released released;
    result = train_joint(JointTensor(psi.X, m), labels, asked, std::ref(watch));
  }
  nb::dict out;
  const std::size_t P = result.w.size();
  out["weights"] = to_array(std::move(result.w), {P});
  out["K"] = result.loss.K();
  out["primal"] = result.certificate.primal;
  out["dual_value"] = result.certificate.dual;
  out["status"] = to_string(result.status).data();
  out["iterations"] = result.iterations;
  out["choice"] = result.choice;
  out["seconds"] = result.seconds;
  out["trace"] = trace_of(watch.records());
  out["dual"] = to_tuple(std::move(result.dual));
  out["error"] = watch.error();
  return out;
}

// Weights of the rows times those of their classes; without `factors`, by the weight of each class.
nb::object class_weighted(const LabelArray& y, std::int64_t m, const DoubleArray& weights,
                          const std::optional<DoubleArray>& factors) {
  Dataset data;
  data.y = to_vector(y);
  data.classes.names.resize(static_cast<std::size_t>(m));
  data.weights = to_vector(weights);
  weigh_classes(data, factors ? to_vector(*factors) : balanced_class_weights(data));
  return to_array(std::move(data.weights), {data.y.size()});
}

// The claim of a model against its rows and the dual that came with it.
nb::dict verified(const PyFeatures& features, const LabelArray& y, const nb::dict& options, const nb::object& weights,
                  const nb::dict& classifier, const nb::dict& provenance, const nb::tuple& dual) {
  Model model = to_model(classifier, provenance);
  if (model.provenance.loss.name == LossName::oracle && !nb::isinstance<nb::str>(options["loss"])) {
    model.provenance.loss.oracle = oracle_from(nb::object(options["loss"]));
  }
  const Dataset data = dataset_from(features, y, model.m(), weights, options);
  const SparseRows A = rows_from(dual);
  Verification found;
  {
    const Released released;
    found = verify(data, model, A);
  }
  nb::dict out;
  out["holds"] = found.holds;
  out["finding"] = found.finding;
  out["primal"] = found.primal;
  out["dual"] = found.dual;
  out["gap"] = found.gap;
  out["relative_gap"] = found.relative_gap;
  out["infeasibility"] = found.infeasibility;
  return out;
}

double objective_of(const PyFeatures& features, const LabelArray& y, std::int64_t m, const nb::dict& options,
                    const nb::object& weights, const DoubleArray& W) {
  const TrainOptions asked = options_from(options);
  const Dataset data = dataset_from(features, y, m, weights, options);
  const std::vector<double> at = to_vector(W);
  const Released released;
  return objective(data, asked, at);
}

}  // namespace

void bind_train(nb::module_& module) {
  nb::class_<PyRecord>(module, "IterationRecord", "What one pass over the data saw.")
      .def_ro("iteration", &PyRecord::iteration)
      .def_ro("seconds", &PyRecord::seconds)
      .def_ro("primal", &PyRecord::primal, "The lowest so far.")
      .def_ro("dual", &PyRecord::dual, "The highest so far.")
      .def_ro("relative_gap", &PyRecord::relative_gap, "(primal - dual) / primal.")
      .def_ro("step", &PyRecord::step)
      .def_ro("iterate_primal", &PyRecord::iterate_primal,
              "Of the point that the pass looked at: for lsfw, stdfw and pg where the one before it ended, for apg "
              "where it took off from; for block, which moves all the time, an estimate.")
      .def_ro("iterate_dual", &PyRecord::iterate_dual,
              "For lsfw, stdfw and pg of the same point, for apg and block of the point where the pass ended.")
      .def("weights", &PyRecord::weights, nb::sig("def weights(self) -> numpy.ndarray"),
           "The weights after this pass, a row for every class and, where there is an intercept, a last column for it; "
           "where coef_ will be sparse, of the features that occur. Computed when asked for, and only while the "
           "callback is called.");
  nb::class_<ProgressTable>(module, "ProgressTable", "The progress table of the command line.")
      .def(
          "__init__",
          [](ProgressTable* self, std::function<void(const std::string&)> sink, double tolerance) {
            new (self) ProgressTable(std::move(sink), ProgressStyle{}, tolerance);
          },
          nb::arg("sink"), nb::arg("tolerance"))
      .def("observe", [](ProgressTable& self, const PyRecord& record) { self.observe(record); })
      .def("finish", &ProgressTable::finish);
  module.def("train", &train_model, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("observer").none());
  module.def("train_tensor", &train_tensor, nb::arg("psi"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("observer").none());
  module.def("class_weighted", &class_weighted, nb::arg("y"), nb::arg("m"), nb::arg("weights"),
             nb::arg("factors").none());
  module.def("verify", &verified, nb::arg("X"), nb::arg("y"), nb::arg("options"), nb::arg("weights").none(),
             nb::arg("classifier"), nb::arg("provenance"), nb::arg("dual"));
  module.def("objective", &objective_of, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("W"));
}

}  // namespace topwolf::python
