// The invariants of a model, in one place. Whether it is a good model is not asked.
#include "model/check_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>

#include "core/fail.hpp"
#include "data/features.hpp"

namespace topwolf {

namespace {

class Checker {
 public:
  explicit Checker(const std::string& path) : path_(path) {}

  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) const {
    if (!holds) fail(ErrorKind::data, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  void size(const std::vector<double>& values, std::int64_t expected, std::string_view what) const {
    require(static_cast<std::int64_t>(values.size()) == expected, "the model has {} {}, where {} are needed",
            values.size(), what, expected);
  }

  void all_within(const std::vector<double>& values, double least, std::string_view what) const {
    const auto bad = std::find_if(values.begin(), values.end(), [&](double value) { return !within(value, least); });
    require(bad == values.end(), "number {} of the model's {} is {}, where {} numbers are allowed",
            bad - values.begin() + 1, what, bad == values.end() ? 0.0 : *bad, allowed(least));
  }

  void one_within(double value, double least, std::string_view what) const {
    require(within(value, least), "the model's {} is {}, where {} numbers are allowed", what, value, allowed(least));
  }

 private:
  static bool within(double value, double least) { return std::isfinite(value) && value >= least; }
  static std::string_view allowed(double least) { return least < 0.0 ? "finite" : "finite non-negative"; }

  const std::string& path_;
};

constexpr double any = std::numeric_limits<double>::lowest();

void check_classes(const ClassList& classes, const Checker& check) {
  check.require(classes.size() >= 2, "the model has {} classes, where at least 2 are needed", classes.size());
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : classes.names) {
    check.require(seen.insert(name).second, "the model has the class '{}' twice", name);
  }
}

void check_loss(const LossSpec& loss, std::int64_t m, const Checker& check) {
  check.require(!loss.k || (1 <= *loss.k && *loss.k <= m), "the model's k is {}, where 1 to {} are possible",
                loss.k.value_or(0), m);
  check.require(static_cast<std::int64_t>(loss.rho.size()) <= m, "the model has {} weights rho for {} classes",
                loss.rho.size(), m);
  check.all_within(loss.rho, 0.0, "rho");
  check.one_within(loss.smoothing, 0.0, "smoothing");
  check.require(!loss.temperature || (*loss.temperature > 0.0 && std::isfinite(*loss.temperature)),
                "the model's temperature is {}, where a finite number above 0 is needed", loss.temperature.value_or(0));
  if (!loss.cost_matrix.empty()) check.size(loss.cost_matrix, m * m, "costs");
  check.all_within(loss.cost_matrix, any, "cost matrix");
}

void check_columns(const Classifier& model, const Checker& check) {
  std::int64_t before = -1;
  for (const std::int32_t c : model.columns) {
    check.require(before < c && c < model.d, "the model has weights of feature {} after feature {}; they ascend to {}",
                  c + 1, before + 1, model.d);
    before = c;
  }
}

void check_class_weights(const Classifier& model, const Checker& check) {
  const Features& phi = model.class_features;
  check.require(phi.rows() == 0 || phi.rows() == model.m(), "the model has features of {} classes, but {} classes",
                phi.rows(), model.m());
  check.require(phi.rows() == 0 || phi.precision() == Precision::float64, "the model's class features are not float64");
  check.size(model.V, phi.rows() > 0 ? phi.cols() * model.D() : 0, "weights of class features");
  check.all_within(model.V, any, "weights of class features");
}

}  // namespace

void check_classifier(const Classifier& model, const std::string& path) {
  const Checker check(path);
  check_classes(model.classes, check);
  check.require(0 <= model.d && model.d <= most_columns, "the model has {} features, where 0 to {} are possible",
                model.d, most_columns);
  check.require(!is_half(model.precision), "the model's precision is {}, where float32 and float64 are possible",
                to_string(model.precision));
  check_columns(model, check);
  check.one_within(model.bias, any, "bias");
  check.size(model.W, model.m() * model.D(), "weights");
  check_class_weights(model, check);
  check.all_within(model.W, any, "weights");
  check.size(model.normalization.scale, model.normalization.kind == NormalizeKind::maxabs ? model.d : 0,
             "normalization scales");
  check.all_within(model.normalization.scale, 0.0, "normalization scales");
  check.one_within(model.temperature, 0.0, "temperature of probabilities");
  check.require(model.index_base == 0 || model.index_base == 1,
                "the model's index_base is {}, where 0 and 1 are possible", model.index_base);
}

void check_model(const Model& model, const std::string& path) {
  check_classifier(model, path);
  const Checker check(path);
  const Provenance& made = model.provenance;
  check_loss(made.loss, model.m(), check);
  check.one_within(made.lambda, 0.0, "lambda");
  check.one_within(made.weight_sum, 0.0, "weight_sum");
  check.all_within(made.mean, any, "mean");
  if (!made.mean.empty()) {
    check.size(made.mean, model.width(), "numbers of the mean");
    check.require(model.bias != 0.0, "the model has a mean of its rows, but no constant feature");
  }
  check.require(made.iterations >= 0, "the model's iterations are {}, where 0 or more are possible", made.iterations);
  if (!made.claim) return;
  check.require(made.lambda > 0.0, "the model has a certificate, but its lambda is 0");
  const auto [primal, dual] = made.claim->certificate;
  check.one_within(primal, any, "primal");
  check.one_within(dual, any, "dual");
  constexpr double rounding = 1e-9;
  check.require(dual <= primal + rounding * std::max(std::abs(primal), std::abs(dual)),
                "the model's certificate is false: its dual {} is above its primal {}", dual, primal);
}

}  // namespace topwolf
