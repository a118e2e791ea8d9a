// Training: options in, a model and its trace out; observers are called with the interpreter held.
#include <nanobind/stl/function.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "core/clock.hpp"
#include "module.hpp"
#include "oracle.hpp"
#include "report/progress.hpp"
#include "report/selection_report.hpp"
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

// (training, held out) row numbers.
std::vector<Fold> folds_from(const nb::list& folds) {
  using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  std::vector<Fold> out;
  for (const nb::handle pair : folds) {
    const auto training = nb::cast<Rows>(pair[0]), held_out = nb::cast<Rows>(pair[1]);
    out.push_back(
        {{training.data(), training.data() + training.size()}, {held_out.data(), held_out.data() + held_out.size()}});
  }
  return out;
}

// What one field of the points says about the folds, (points x folds).
template <class T>
nb::object by_point(const CvResult& result, std::vector<T> CvPoint::*field) {
  std::vector<T> values;
  for (const CvPoint& point : result.points) {
    values.insert(values.end(), (point.*field).begin(), (point.*field).end());
  }
  const std::size_t points = result.points.size(), folds = points == 0 ? 0 : (result.points[0].*field).size();
  return to_array(std::move(values), {points, folds});
}

// The losses to try, with the costs that they are given: the one that is named, or all.
std::vector<LossSpec> losses_from(const nb::dict& options, const LossSpec& named, const Metric& metric,
                                  std::int64_t m) {
  if (!nb::cast<bool>(options["any_loss"])) return {named};
  std::vector<LossSpec> losses;
  for (LossCandidate& one : loss_candidates(metric, m)) {
    losses.push_back(std::move(one.loss));
    losses.back().cost_matrix = named.cost_matrix;
  }
  return losses;
}

// "top_k".
std::string parameter_name(LossName loss) {
  std::string name(to_string(loss));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// What tells the points apart: a list each of losses, of their k (None: they take none) and of C.
void add_points(nb::dict& out, const CvResult& result) {
  nb::list losses, k;
  std::vector<double> C, means;
  nb::list competes;
  for (const CvPoint& point : result.points) {
    losses.append(parameter_name(point.loss.name));
    k.append(point.loss.k);
    C.push_back(point.C);
    means.push_back(point.mean);
    competes.append(point.competes);
  }
  const std::size_t points = C.size();
  out["losses"] = losses;
  out["k"] = k;
  out["C"] = to_array(std::move(C), {points});
  out["means"] = to_array(std::move(means), {points});
  out["competes"] = competes;
}

// The search runs in threads of its own, while this one, which Python tells about signals, looks after it. The first
// Ctrl-C ends the search, which leaves its best point to be fitted to all rows, or that fit; a second one, or any other
// error, ends all.
CvResult search(const Dataset& data, CvOptions options, const nb::object& narrator, nb::object& error, bool& given_up) {
  std::atomic<bool> stop{false}, abandoned{false};
  options.train.should_stop = [&] { return stop.load(); };
  std::mutex guard;
  CvProgress latest;
  auto job = std::async(std::launch::async, [&] {
    return cross_validate(data, options, [&](const CvProgress& progress) {
      const std::lock_guard lock(guard);
      latest = progress;
      return !abandoned && (!stop || progress.ended == Status::interrupted);
    });
  });
  std::int64_t told = 0;
  while (job.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    const Held held;
    try {
      if (or_wait(PyErr_CheckSignals) != 0) throw nb::python_error();
      CvProgress seen;
      {
        const std::lock_guard lock(guard);
        seen = latest;
      }
      if (!narrator.is_none() && seen.finished > told) {
        told = seen.finished;
        or_wait([&] { narrator(seen.finished, seen.total, seen.seconds, seen.seconds_left); });
      }
    } catch (nb::python_error& thrown) {
      const bool first = !stop && thrown.matches(PyExc_KeyboardInterrupt);
      error = taken(thrown);
      stop = true;
      if (!first) abandoned = true;
    }
  }
  given_up = abandoned;
  CvResult result = job.get();
  // What was finished since this thread last looked, and the fit to all rows.
  const std::int64_t finished = result.complete && result.refitted ? latest.total : latest.finished;
  if (!narrator.is_none() && finished > told) {
    const Held held;
    or_wait([&] { narrator(finished, latest.total, result.seconds, std::optional<double>()); });
  }
  return result;
}

// A page where `command`, what it is to say that made it, is not empty.
nb::dict cross_validated(const PyFeatures& features, const LabelArray& y, std::int64_t m, const nb::dict& options,
                         const nb::object& weights, const DoubleArray& Cs, const nb::list& folds,
                         const std::string& metric, bool one_standard_error, const nb::object& judge, bool refit,
                         const nb::object& narrator, const std::string& command) {
  CvOptions asked;
  asked.train = options_from(options);
  asked.C = to_vector(Cs);
  asked.folds = folds_from(folds);
  asked.metric = parse_metric(metric);
  asked.losses = losses_from(options, asked.train.loss, asked.metric, m);
  asked.race = nb::cast<bool>(options["any_loss"]);
  asked.one_standard_error = one_standard_error;
  asked.refit = refit;
  if (!judge.is_none()) {
    asked.judge = [&](std::size_t fold, const LossSpec& loss, const std::vector<double>& W) {
      const double temperature = traits(loss.name).takes_temperature ? loss.temperature.value_or(1.0) : 0.0;
      const Held held;
      return or_wait(
          [&] { return nb::cast<double>(judge(fold, to_array(std::vector<double>(W), {W.size()}), temperature)); });
    };
  }
  const Dataset data = dataset_from(features, y, m, weights, options);
  nb::object error = nb::none();
  bool given_up = false;
  CvResult result;
  {
    const Released released;
    result = search(data, asked, narrator, error, given_up);
  }
  nb::dict out;
  if (!command.empty() && result.fits > 0) {
    const SelectionContext context{data, command, asked.train.seed, std::to_string(asked.folds.size()) + " folds"};
    out["page"] = cv_report(context, result, asked.metric, one_standard_error ? "one standard error" : "best",
                            result.refitted ? gap_sentence(result.refitted->certificate) : "");
  }
  out["error"] = error;
  out["given_up"] = given_up || result.fits == 0;
  out["ended"] = result.ended ? nb::object(nb::str(to_string(*result.ended).data())) : nb::none();
  out["complete"] = result.complete;
  out["seconds_in_all"] = result.seconds;
  out["fits"] = result.fits;
  out["wanted"] = result.wanted;
  add_points(out, result);
  out["errors"] = by_point(result, &CvPoint::errors);
  out["relative_gaps"] = by_point(result, &CvPoint::relative_gaps);
  out["iterations"] = by_point(result, &CvPoint::iterations);
  out["seconds"] = by_point(result, &CvPoint::seconds);
  out["best"] = result.best;
  out["chosen"] = result.chosen;
  out["at_edge"] = result.at_edge;
  out["refitted"] = result.refitted ? nb::object(result_dict(std::move(*result.refitted), {})) : nb::none();
  return out;
}

// The rows of a data set that are held out; class numbers, -1 for a label that is none of the classes.
Dataset held_out_from(const PyFeatures& features, const LabelArray& y, const Dataset& training) {
  Dataset out;
  out.X = features.X;
  out.y = to_vector(y);
  out.classes = training.classes;
  return out;
}

nb::dict path_dict(const ProbeResult& result) {
  const std::vector<SweepPoint>& points = result.path.points;
  nb::dict out;
  const auto column = [&](const char* name, auto value_of) {
    std::vector<decltype(value_of(points.front()))> values;
    for (const SweepPoint& point : points) values.push_back(value_of(point));
    out[name] = to_array(std::move(values), {points.size()});
  };
  column("C", [](const SweepPoint& point) { return point.C; });
  out["error"] = to_array(std::vector<double>(result.errors), {points.size()});
  for (std::size_t a = 0; a < result.path.places.size(); ++a) {
    column(("top_" + std::to_string(result.path.places[a]) + "_error").c_str(),
           [&](const SweepPoint& point) { return point.held_out_errors[a]; });
  }
  column("primal", [](const SweepPoint& point) { return point.certificate.primal; });
  column("dual", [](const SweepPoint& point) { return point.certificate.dual; });
  column("relative_gap", [](const SweepPoint& point) { return point.certificate.relative_gap(); });
  column("n_iter", [](const SweepPoint& point) { return point.iterations; });
  column("seconds", [](const SweepPoint& point) { return point.seconds; });
  nb::list status;
  for (const SweepPoint& point : points) status.append(to_string(point.status).data());
  out["status"] = status;
  return out;
}

// A page where `command`, what it is to say that made it, is not empty.
nb::dict probed(const PyFeatures& features, const LabelArray& y, std::int64_t m, const nb::dict& options,
                const nb::object& weights, const PyFeatures& held_out_features, const LabelArray& held_out_y,
                const DoubleArray& Cs, const std::string& metric, bool refit, const std::string& command) {
  ProbeOptions asked;
  asked.train = options_from(options);
  asked.C = to_vector(Cs);
  asked.metric = parse_metric(metric);
  asked.refit = refit;
  const Dataset data = dataset_from(features, y, m, weights, options);
  const Dataset held_out = held_out_from(held_out_features, held_out_y, data);
  asked.held_out = &held_out;
  Watch watch(nb::none(), m);
  asked.train.should_stop = [&] { return watch.signalled(); };
  ProbeResult result;
  std::string page;
  {
    const Released released;
    result = probe(data, asked);
    if (!command.empty()) {
      const SelectionContext context{data, command, asked.train.seed, std::to_string(held_out.y.size()) + " rows"};
      page = probe_report(context, result, asked.metric, to_string(asked.train.loss));
    }
  }
  nb::dict out;
  out["path"] = path_dict(result);
  out["not_tried"] = result.path.not_tried;
  out["best"] = result.best;
  out["at_edge"] = result.at_edge;
  out["refitted"] = result.refitted;
  out["seconds"] = result.seconds;
  out["ended"] = result.path.ended ? nb::object(nb::str(to_string(*result.path.ended).data())) : nb::none();
  out["page"] = page;
  out["result"] = result_dict(std::move(result.fit), {});
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
  module.def("cross_validate", &cross_validated, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("Cs"), nb::arg("folds"), nb::arg("metric"),
             nb::arg("one_standard_error"), nb::arg("judge").none(), nb::arg("refit"), nb::arg("narrator").none(),
             nb::arg("command"));
  module.def("probe", &probed, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"), nb::arg("weights").none(),
             nb::arg("held_out_X"), nb::arg("held_out_y"), nb::arg("Cs"), nb::arg("metric"), nb::arg("refit"),
             nb::arg("command"));
  module.def(
      "loss_candidates",
      [](const std::string& metric, std::int64_t m) {
        nb::list out;
        for (const LossCandidate& one : loss_candidates(parse_metric(metric), m)) {
          out.append(nb::make_tuple(parameter_name(one.loss.name), one.loss.k));
        }
        return out;
      },
      nb::arg("metric"), nb::arg("m"), "Of loss='auto': each loss with its k.");
  module.def(
      "metric_has_costs", [](const std::string& metric) { return parse_metric(metric).costs(); }, nb::arg("metric"));
  module.def("class_weighted", &class_weighted, nb::arg("y"), nb::arg("m"), nb::arg("weights"),
             nb::arg("factors").none());
  module.def("verify", &verified, nb::arg("X"), nb::arg("y"), nb::arg("options"), nb::arg("weights").none(),
             nb::arg("classifier"), nb::arg("provenance"), nb::arg("dual"));
  module.def("objective", &objective_of, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("W"));
}

}  // namespace topwolf::python
