// Training: options in, a model and its trace out; observers are called with the interpreter held.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "core/clock.hpp"
#include "module.hpp"
#include "report/progress.hpp"
#include "training.hpp"

namespace topwolf::python {
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
  return job.get();
}

nb::dict cross_validated(const PyFeatures& features, const LabelArray& y, std::int64_t m, const nb::dict& options,
                         const nb::object& weights, const DoubleArray& Cs, const nb::list& folds,
                         const std::string& metric, bool one_standard_error, const nb::object& judge, bool refit,
                         const nb::object& narrator) {
  CvOptions asked;
  asked.train = options_from(options);
  asked.losses = {asked.train.loss};
  asked.C = to_vector(Cs);
  asked.folds = folds_from(folds);
  asked.metric = parse_metric(metric);
  asked.one_standard_error = one_standard_error;
  asked.refit = refit;
  if (!judge.is_none()) {
    asked.judge = [&](std::size_t fold, const LossSpec&, const std::vector<double>& W) {
      const Held held;
      return or_wait([&] { return nb::cast<double>(judge(fold, to_array(std::vector<double>(W), {W.size()}))); });
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
  out["error"] = error;
  out["given_up"] = given_up || result.fits == 0;
  out["ended"] = result.ended ? nb::object(nb::str(to_string(*result.ended).data())) : nb::none();
  out["complete"] = result.complete;
  out["fits"] = result.fits;
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
      .def("weights", &PyRecord::weights,
           "The weights after this pass, a row for every class and, where there is an intercept, a last column for it; "
           "where coef_ will be sparse, of the features that occur. Computed when asked for, and only while the "
           "callback is called.");
  nb::class_<ProgressTable>(module, "ProgressTable", "The progress table of the command line.")
      .def(
          "__init__",
          [](ProgressTable* self, std::function<void(const std::string&)> sink) {
            new (self) ProgressTable(std::move(sink), ProgressStyle{});
          },
          nb::arg("sink"))
      .def("observe", [](ProgressTable& self, const PyRecord& record) { self.observe(record); })
      .def("finish", &ProgressTable::finish);
  module.def("train", &train_model, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("observer").none());
  module.def("train_tensor", &train_tensor, nb::arg("psi"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("observer").none());
  module.def("cross_validate", &cross_validated, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("Cs"), nb::arg("folds"), nb::arg("metric"),
             nb::arg("one_standard_error"), nb::arg("judge").none(), nb::arg("refit"), nb::arg("narrator").none());
  module.def(
      "metric_has_costs", [](const std::string& metric) { return parse_metric(metric).costs(); }, nb::arg("metric"));
  module.def("class_weighted", &class_weighted, nb::arg("y"), nb::arg("m"), nb::arg("weights"),
             nb::arg("factors").none());
  module.def("objective", &objective_of, nb::arg("X"), nb::arg("y"), nb::arg("m"), nb::arg("options"),
             nb::arg("weights").none(), nb::arg("W"));
}

}  // namespace topwolf::python
