// Choosing by rows that are held out: cross-validation, and the path of a probe.
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>

#include "core/clock.hpp"
#include "module.hpp"
#include "report/selection_report.hpp"
#include "watch.hpp"

namespace topwolf::python {
namespace {

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

}  // namespace

void bind_search(nb::module_& module) {
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
}

}  // namespace topwolf::python
