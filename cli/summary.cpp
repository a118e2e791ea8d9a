// Never optimistic: percentages are rounded upwards, and relate to the lower bound of the optimum.
#include "summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/counted.hpp"
#include "topwolf/version.hpp"

namespace topwolf::cli {
namespace {

// Two significant digits, upwards.
std::string rounded_up(double value) {
  if (!(value > 0.0)) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1.0);
  return fmt::format("{:g}", std::ceil(value / unit * (1.0 - 1e-12)) * unit);
}

}  // namespace

std::string describe_loss(const LossSpec& loss) {
  const bool by_oracle = loss.name == LossName::oracle;
  std::string text(by_oracle ? loss.title + ", known by its oracle" : to_string(loss.name));
  if (loss.k) text += fmt::format(", k = {}", *loss.k);
  if (!loss.rho.empty() && !by_oracle) text += fmt::format(", rho = {:.4g}", fmt::join(loss.rho, ","));
  if (loss.smoothing > 0.0) text += fmt::format(", smoothing {:g}", loss.smoothing);
  if (loss.temperature) text += fmt::format(", temperature {:g}", *loss.temperature);
  if (!loss.cost_matrix.empty()) text += ", with a cost matrix";
  return text;
}

std::string describe_centring(bool center) {
  return center ? ", regularised at the mean of the rows" : "";
}

std::string describe_problem(const Provenance& made) {
  return describe_loss(made.loss) + describe_centring(!made.mean.empty());
}

std::string certificate_sentence(const Certificate& certificate) {
  const double gap = std::max(certificate.gap(), 0.0);
  // The optimum is at least the dual, so gap / dual bounds the relative excess.
  if (certificate.dual > 0.0)
    return fmt::format("at most {} % above the optimum", rounded_up(100.0 * gap / certificate.dual));
  return fmt::format("at most {} above the optimum", rounded_up(gap));
}

std::string excess_sentence(double least, double most) {
  if (!(least > 0.0) && std::isfinite(most))
    return fmt::format("at most {} % above the optimum", rounded_up(100.0 * most));
  if (!std::isfinite(most)) return "above the optimum by a share that has no bound yet";
  // Two digits of the difference tell the two apart.
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(100.0 * (most - least), 1e-9))) - 1.0);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(unit) + 0.5)));
  return fmt::format("at least {:.{}f} % and at most {:.{}f} % above the optimum",
                     std::floor(100.0 * least / unit) * unit, decimals, std::ceil(100.0 * most / unit) * unit,
                     decimals);
}

std::string status_sentence(Status status, std::int64_t iterations) {
  const std::string passes = counted(iterations, "pass");
  switch (status) {
    case Status::converged:
      return "converged after " + passes;
    case Status::iteration_limit:
      return "stopped at the limit of " + passes;
    case Status::time_limit:
      return "stopped at the time limit after " + passes;
    case Status::stalled:
      return fmt::format("came no closer after {}, for rounding allows no more (stalled)", passes);
    case Status::interrupted:
      break;
  }
  return "interrupted after " + passes;
}

std::string stalled_advice(Precision rows) {
  return working_precision(rows) == Precision::float32 ? "float32 cannot come closer; --precision float64 can\n"
                                                       : "double cannot come closer either: what is certified above "
                                                         "holds; --normalize, or a smaller C, may help\n";
}

void add_loss(Json& document, const LossSpec& loss) {
  document["loss"] = loss.name == LossName::oracle ? loss.title : to_string(loss.name);
  document["k"] = loss.k ? Json(*loss.k) : Json(nullptr);
  document[loss.name == LossName::oracle ? "reach" : "rho"] = loss.rho.empty() ? Json(nullptr) : Json(loss.rho);
  document["smoothing"] = loss.smoothing;
  document["temperature"] = loss.temperature ? Json(*loss.temperature) : Json(nullptr);
}

void add_certificate(Json& document, const Certificate& certificate) {
  document["primal"] = certificate.primal;
  document["dual"] = certificate.dual;
  document["gap"] = certificate.gap();
  document["relative_gap"] = certificate.relative_gap();
}

void add_outcome(Json& document, const TrainResult& result, double load_seconds, double train_seconds) {
  document["status"] = to_string(result.status);
  add_certificate(document, result.certificate);
  document["iterations"] = result.iterations;
  document["load_seconds"] = load_seconds;
  document["train_seconds"] = train_seconds;
}

void add_method(Json& document, const TrainOptions& options, const TrainResult& result) {
  const Model& model = result.model;
  add_loss(document, model.provenance.loss);
  if (model.class_features.rows() > 0) document["class_features"] = model.class_features.cols();
  document["lambda"] = result.lambda;
  document["C"] = result.C;
  document["solver"] = model.provenance.solver;
  document["choice"] = result.choice;
  document["row_visits"] = result.row_visits;
  document["bias"] = model.bias;
  document["center"] = options.center;
  document["threads"] = result.threads;
  document["seed"] = options.seed;
}

void add_ending(Json& document, const std::string& path, const std::vector<std::string>& warnings) {
  document["model"] = path.empty() ? Json(nullptr) : Json(path);
  document["version"] = TOPWOLF_VERSION;
  document["warnings"] = warnings;
}

void add_probability_errors(Json& document, const ProbabilityErrors& errors) {
  document["log_loss"] = errors.log_loss;
  document["brier_score"] = errors.brier;
  document["calibration_error"] = errors.calibration;
}

std::string dump(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace topwolf::cli
