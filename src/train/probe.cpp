// One path over C, judged on rows that are held out: the best model is kept as the path goes by, and where it is asked
// for, trained again on all rows together.

#include <algorithm>
#include <optional>
#include <utility>

#include "core/fail.hpp"
#include "report/assessment.hpp"
#include "topwolf/evaluate.hpp"
#include "topwolf/select.hpp"
#include "train/fold_fits.hpp"

namespace topwolf {
namespace {

template <class T>
void append(DenseStore<T>& out, const DenseView<T>& X) {
  for (std::int64_t i = 0; i < X.rows; ++i) {
    out.values.insert(out.values.end(), X.data + i * X.stride, X.data + i * X.stride + X.cols);
  }
  out.rows += X.rows;
}

template <class T>
void append(CsrStore<T>& out, const CsrView<T>& X) {
  const std::int64_t before = out.row_begin.back();
  out.column.insert(out.column.end(), X.column + X.row_begin[0], X.column + X.row_begin[X.rows]);
  out.values.insert(out.values.end(), X.value + X.row_begin[0], X.value + X.row_begin[X.rows]);
  for (std::int64_t i = 1; i <= X.rows; ++i) out.row_begin.push_back(before + X.row_begin[i] - X.row_begin[0]);
  out.rows += X.rows;
}

template <class T>
DenseStore<T> empty_like(const DenseView<T>& X) {
  return {{}, 0, X.cols};
}

template <class T>
CsrStore<T> empty_like(const CsrView<T>& X) {
  return {{0}, {}, {}, 0, X.cols};
}

Features stacked(const Features& first, const Features& second) {
  return std::visit(
      [&]<class View>(const View& X) {
        auto out = empty_like(X);
        const auto* other = std::get_if<View>(&second.view());
        if (other == nullptr) {
          fail(ErrorKind::data, "the rows held out are {} {}, those to train on {} {}; {} needs both alike",
               second.sparse() ? "sparse" : "dense", to_string(second.precision()), first.sparse() ? "sparse" : "dense",
               to_string(first.precision()), Field{"refit"});
        }
        append(out, X);
        append(out, *other);
        return Features(FeatureStore(std::move(out)));
      },
      first.view());
}

// Held-out rows of other classes are left out.
Dataset both(const Dataset& data, const Dataset& held_out) {
  std::vector<std::int64_t> known;
  for (std::size_t i = 0; i < held_out.y.size(); ++i) {
    if (held_out.y[i] >= 0) known.push_back(static_cast<std::int64_t>(i));
  }
  const Dataset more = subset(held_out, known);
  Dataset out = data;
  out.X = stacked(data.X, more.X);
  out.y.insert(out.y.end(), more.y.begin(), more.y.end());
  if (data.weights.empty() && more.weights.empty()) return out;
  out.weights.resize(data.y.size(), 1.0);
  out.weights.insert(out.weights.end(), more.weights.begin(), more.weights.end());
  out.weights.resize(out.y.size(), 1.0);
  return out;
}

void check_probe(const Dataset& data, const ProbeOptions& options) {
  if (options.held_out == nullptr)
    fail(ErrorKind::option, "a probe needs rows that are held out; cross_validate does without");
  check_metric(options.metric, data);
  if (options.metric.costs()) fail(ErrorKind::option, "{} is a cost, but a probe counts top-k errors", Field{"metric"});
  const Checkpoints& checkpoints = options.train.checkpoints;
  if (!checkpoints.path.empty() || !checkpoints.resume.empty())
    fail(ErrorKind::option, "a probe writes no checkpoints, and resumes from none");
  if (options.refit && data.margins.given())
    fail(ErrorKind::option, "{} needs margins of the rows held out, which there are not", Field{"refit"});
  if (options.refit) stacked(subset(data, {}).X, subset(*options.held_out, {}).X);
}

}  // namespace

ProbeResult probe(const Dataset& data, const ProbeOptions& options, const SweepObserver& observer) {
  check_probe(data, options);
  const Dataset& rows = *options.held_out;
  SweepOptions path{options.train, options.C, nullptr};
  constexpr double for_refit = 0.5;  // of the time
  if (path.train.time_limit_s && options.refit) *path.train.time_limit_s *= 1.0 - for_refit;
  const std::vector<std::int64_t> places = usual_places(data.classes.size());
  std::vector<std::int64_t> ks = places;
  for (const MetricTerm& term : options.metric.terms) ks.push_back(term.k);
  ProbeResult out;
  std::vector<std::vector<double>> held_out;
  SweepObserver watching = observer;
  watching.finished = [&](const SweepPoint& trained, const TrainResult& result) {
    const Predictor predictor(result.model, Rows::normalized, options.train.threads);
    std::vector<double> errors = top_k_errors(predictor, rows.X, rows.y, ks, options.train.threads, rows.weights);
    double error = 0.0;
    for (std::size_t t = 0; t < options.metric.terms.size(); ++t) {
      error += options.metric.terms[t].weight * errors[places.size() + t];
    }
    errors.resize(places.size());
    constexpr double rounding = 1e-12;  // equal errors may add up to different numbers
    if (out.errors.empty() || error < out.errors[out.best] - rounding) {
      out.best = out.errors.size();
      out.fit = result;
    }
    out.errors.push_back(error);
    held_out.push_back(errors);
    SweepPoint point = trained;
    point.held_out_errors = errors;
    if (observer.finished) observer.finished(point, result);
  };
  out.path = sweep(data, path, watching);
  for (std::size_t p = 0; p < held_out.size(); ++p) out.path.points[p].held_out_errors = held_out[p];
  const bool end = out.best == 0 || out.best + 1 == out.path.points.size();
  out.at_edge = !out.path.ended && out.path.points.size() > 1 && end;
  out.seconds = out.path.seconds;
  if (!options.refit || out.path.ended == Status::interrupted) return out;
  TrainOptions chosen = options.train;
  chosen.C = out.path.points[out.best].C;
  chosen.lambda.reset();
  if (chosen.time_limit_s)
    *chosen.time_limit_s = std::max(for_refit * *chosen.time_limit_s, *chosen.time_limit_s - out.seconds);
  out.fit = train(both(data, rows), chosen,
                  [&](const Progress& progress) { return !observer.pass || observer.pass(chosen.C, progress); });
  out.refitted = true;
  out.seconds += out.fit.seconds;
  return out;
}

}  // namespace topwolf
