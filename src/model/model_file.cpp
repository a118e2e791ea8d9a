// The .topwolf model file: a tensor file with `weights`, `normalization_scale` (maxabs) and `cost_matrix` (if any), and
// everything else as metadata (docs/file_formats.md). Written whole or not at all, and refused when it does not add up.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/names.hpp"
#include "core/read_file.hpp"
#include "core/strict_json.hpp"
#include "core/tensor_file.hpp"
#include "core/utf8.hpp"
#include "model/check_model.hpp"
#include "model/fields.hpp"
#include "model/liblinear_format.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

namespace {

using nlohmann::json;

constexpr const char* format_name = "topwolf-model";
constexpr std::int64_t format_version = 1;

json make_metadata(const Model& model) {
  json metadata = {
      {"format", format_name},
      {"format_version", format_version},
      {"version", model.version},
      {"d", model.d},
      {"bias", model.bias},
      {"classes", model.classes.names},
      {"label_type", name_of(model.classes.type)},
      {"normalization", name_of(model.normalization.kind)},
      {"precision", name_of(model.precision)},
      {"index_base", model.index_base},
      {"loss", {{"name", to_string(model.loss.name)}, {"rho", model.loss.rho}, {"smoothing", model.loss.smoothing}}},
      {"lambda", model.lambda},
      {"weight_sum", model.weight_sum},
      {"solver", model.solver},
      {"iterations", model.iterations},
      {"command", model.command},
      {"data_hash", model.data_hash},
  };
  if (model.loss.k) metadata["loss"]["k"] = *model.loss.k;
  if (!model.label_column.empty()) metadata["label_column"] = model.label_column;
  if (!model.search.empty()) metadata["search"] = json::parse(model.search);
  if (model.certified) {
    metadata["status"] = to_string(model.status);
    metadata["primal"] = model.certificate.primal;
    metadata["dual"] = model.certificate.dual;
  }
  return metadata;
}

// A class name must come back as it was; other texts only inform, so there a byte that is not UTF-8 is replaced.
std::string dump_metadata(const Model& model, const std::string& path) {
  for (const std::string& name : model.classes.names) {
    if (!is_utf8(name)) fail(ErrorKind::data, "{}: a class name is not UTF-8, as class names must be", path);
  }
  return make_metadata(model).dump(-1, ' ', false, json::error_handler_t::replace);
}

void check_format(const Fields& fields) {
  if (fields.text("format") != format_name) {
    fail(ErrorKind::data, "{}: holds a '{}', not a '{}'", fields.path(), fields.text("format"), format_name);
  }
  const std::int64_t given = fields.integer("format_version");
  if (given < 1 || given > format_version) {
    fail(ErrorKind::data,
         "{}: the model has format version {}, but this topwolf reads versions 1 to {}; use a newer one", fields.path(),
         given, format_version);
  }
}

LossSpec read_loss(const Fields& fields) {
  LossSpec loss;
  const std::string name = fields.text("name");
  try {
    loss.name = parse_loss(name).name;
  } catch (const Error&) {
    fail(ErrorKind::data, "{}: the model's loss '{}' is unknown", fields.path(), name);
  }
  if (fields.has("k")) loss.k = fields.integer("k");
  loss.rho = fields.list<double>("rho");
  loss.smoothing = fields.number("smoothing");
  return loss;
}

std::vector<double> read_tensor(const TensorFile& file, const char* name, const std::vector<std::int64_t>& shape,
                                Precision precision = Precision::float64) {
  if (file.shape(name) != shape) {
    fail(ErrorKind::data, "{}: the shape of '{}' is ({}), where the model needs ({})", file.path(), name,
         fmt::join(file.shape(name), ", "), fmt::join(shape, ", "));
  }
  const auto widen = [](const auto& values) { return std::vector<double>(values.begin(), values.end()); };
  return precision == Precision::float32 ? widen(file.get<float>(name)) : widen(file.get<double>(name));
}

Model read_fields(const Fields& fields) {
  Model model;
  model.d = fields.integer<std::int32_t>("d");
  model.bias = fields.number("bias");
  model.precision = fields.name<Precision>("precision");
  model.classes = {fields.name<LabelType>("label_type"), fields.list<std::string>("classes")};
  model.normalization.kind = fields.name<NormalizeKind>("normalization");
  model.index_base = fields.integer<std::int32_t>("index_base");
  if (fields.has("label_column")) model.label_column = fields.text("label_column");
  model.loss = read_loss(fields.object("loss"));
  model.lambda = fields.number("lambda");
  model.weight_sum = fields.number("weight_sum");
  model.solver = fields.text("solver");
  model.iterations = fields.integer("iterations");
  model.command = fields.text("command");
  model.version = fields.text("version");
  model.data_hash = fields.text("data_hash");
  const auto is_object = [](const json& value) { return value.is_object(); };
  if (fields.has("search")) model.search = fields.at("search", is_object, "an object").dump();
  model.certified = fields.has("status");
  if (model.certified) {
    model.status = fields.name<Status>("status");
    model.certificate = {fields.number("primal"), fields.number("dual")};
  }
  return model;
}

Model read_model(const TensorFile& file) {
  const json metadata = parse_strict_json(file.metadata(), file.path(), "the metadata");
  const Fields fields(metadata, file.path());
  check_format(fields);
  Model model = read_fields(fields);
  const std::int64_t m = model.m();
  model.W = read_tensor(file, "weights", {m, model.D()}, model.precision);
  if (model.normalization.kind == NormalizeKind::maxabs) {
    model.normalization.scale = read_tensor(file, "normalization_scale", {model.d});
  }
  if (file.has("cost_matrix")) model.loss.cost_matrix = read_tensor(file, "cost_matrix", {m, m});
  check_model(model, file.path());
  return model;
}

// What a float32 file can hold without changing the model.
std::vector<float> narrow(const std::vector<double>& values, const std::string& path) {
  std::vector<float> result(values.begin(), values.end());
  if (!std::equal(values.begin(), values.end(), result.begin())) {
    fail(ErrorKind::internal, "{}: the model's precision is float32, but not all of its weights are float32 values",
         path);
  }
  return result;
}

}  // namespace

void save_model(const Model& model, const std::string& path) {
  check_model(model, path);
  const std::int64_t m = model.m();
  const bool single = model.precision == Precision::float32;
  const std::vector<float> narrowed = single ? narrow(model.W, path) : std::vector<float>{};
  std::vector<Tensor> tensors;
  if (single) {
    tensors.push_back({"weights", "F32", {m, model.D()}, narrowed.data()});
  } else {
    tensors.push_back({"weights", "F64", {m, model.D()}, model.W.data()});
  }
  if (model.normalization.kind == NormalizeKind::maxabs) {
    tensors.push_back({"normalization_scale", "F64", {model.d}, model.normalization.scale.data()});
  }
  if (!model.loss.cost_matrix.empty()) {
    tensors.push_back({"cost_matrix", "F64", {m, m}, model.loss.cost_matrix.data()});
  }
  write_tensor_file(path, tensors, dump_metadata(model, path));
}

Model load_model(const std::string& path) {
  std::vector<char> bytes = read_file(path);
  const std::string_view text(bytes.data(), bytes.size());
  if (looks_like_liblinear(text)) return parse_liblinear(text, path);
  if (text.size() < 9 || text[8] != '{')
    fail(ErrorKind::data, "{}: is not a model, neither topwolf's nor LIBLINEAR's", path);
  return read_model(TensorFile::parse(std::move(bytes), path));
}

}  // namespace topwolf
