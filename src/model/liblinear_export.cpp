// LIBLINEAR's text format for models, written: always MCSVM_CS, so that liblinear-predict agrees with topwolf on raw
// rows. Refuses what the format cannot say: labels that are no C ints, features counted from 0, a bias together with
// rows scaled to unit length.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "model/check_model.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

namespace {

// Integer spellings such as "+1" included.
std::optional<int> to_c_int(std::string_view spelling) {
  if (spelling.starts_with('+') && !spelling.starts_with("+-")) spelling.remove_prefix(1);
  int value = 0;
  const auto [stop, error] = std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
  if (error != std::errc() || stop != spelling.data() + spelling.size()) return std::nullopt;
  return value;
}

std::vector<int> exported_labels(const Classifier& model, const std::string& path) {
  std::vector<int> labels;
  for (const std::string& name : model.classes.names) {
    const std::optional<int> label = model.classes.type == LabelType::integer ? to_c_int(name) : std::nullopt;
    if (!label) {
      fail(ErrorKind::data, "{}: the class '{}' cannot be written, for LIBLINEAR's labels are integers from {} to {}",
           path, name, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
    }
    labels.push_back(*label);
  }
  return labels;
}

void check_exportable(const Classifier& model, const std::string& path) {
  if (model.index_base != 1) {
    fail(ErrorKind::data,
         "{}: the model's data counts features from 0, but LIBLINEAR counts from 1; it needs data that counts from 1",
         path);
  }
  if (model.normalization.kind == NormalizeKind::unit && model.bias != 0.0) {
    fail(ErrorKind::data,
         "{}: the model has a bias and scales rows to unit length, which LIBLINEAR's format cannot say; train without "
         "one of the two",
         path);
  }
  // Two bytes for every 0 at least.
  const double bytes = 2.0 * static_cast<double>(model.m()) * static_cast<double>(model.d);
  constexpr double most_bytes = 1024.0 * 1024 * 1024;
  if (!model.columns.empty() && bytes > most_bytes) {
    fail(ErrorKind::data,
         "{}: the model has weights for {} of {} features, but LIBLINEAR's format would write all {} x {} of them, "
         "{:.1f} "
         "GB at least; keep the .topwolf model, or number the features that occur from 1",
         path, model.columns.size(), model.d, model.d, model.m(), bytes / 1e9);
  }
}

// The weight of feature f for class j on raw rows: a maxabs scale is folded in; so is a negative bias value, which
// LIBLINEAR would take for none.
double raw_weight(const Classifier& model, std::int64_t j, std::int64_t f) {
  if (f == model.d) {
    const double weight = model.W[j * model.D() + model.width()];
    return model.bias < 0.0 ? -weight : weight;
  }
  std::int64_t at = f;
  if (!model.columns.empty()) {
    const auto found = std::lower_bound(model.columns.begin(), model.columns.end(), f);
    if (found == model.columns.end() || *found != f) return 0.0;
    at = found - model.columns.begin();
  }
  const double weight = model.W[j * model.D() + at];
  const double scale = model.normalization.kind == NormalizeKind::maxabs ? model.normalization.scale[f] : 0.0;
  return scale == 0.0 ? weight : weight / scale;
}

}  // namespace

void save_liblinear(const Model& model, const std::string& path) {
  const IeeeArithmetic ieee;
  check_model(model, path);
  check_exportable(model, path);
  std::vector<int> labels = exported_labels(model, path);
  const std::int64_t m = model.m();
  // With two classes liblinear-predict takes the first label if the first score is positive, else the second. So the
  // classes are written in reverse, each with half the difference: a tie then goes to the lower class, as ours does.
  const bool binary = m == 2;
  if (binary) std::reverse(labels.begin(), labels.end());

  AtomicFile file(path);
  file.write(fmt::format("solver_type MCSVM_CS\nnr_class {}\nlabel {}\nnr_feature {}\nbias {:.17g}\nw\n", m,
                         fmt::join(labels, " "), model.d, model.bias == 0.0 ? -1.0 : std::abs(model.bias)));
  std::vector<double> line(static_cast<std::size_t>(m));
  for (std::int64_t f = 0; f < model.d + (model.bias != 0.0 ? 1 : 0); ++f) {
    for (std::int64_t j = 0; j < m; ++j) line[j] = raw_weight(model, j, f);
    if (binary) line[0] = -(line[1] = line[0] / 2.0 - line[1] / 2.0);
    for (const double weight : line) {
      if (!std::isfinite(weight)) fail(ErrorKind::data, "{}: feature {} is too small to unscale", path, f + 1);
      file.write(fmt::format("{:.17g} ", weight));
    }
    file.write("\n");
  }
  file.commit();
}

}  // namespace topwolf
