// The .topwolf model file: a tensor file with `weights`, `columns` (where only some have weights),
// `normalization_scale` (maxabs), `mean` (where the rows were centred), `cost_matrix` and the class features (if any),
// and everything else as metadata (file_formats.md). Written whole or not at all, and refused when it does not add
// up.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/read_file.hpp"
#include "core/strict_json.hpp"
#include "core/tensor_file.hpp"
#include "core/threads.hpp"
#include "data/byte_source.hpp"
#include "data/check_dataset.hpp"
#include "engine/cpu/class_map.hpp"
#include "model/check_model.hpp"
#include "model/fields.hpp"
#include "model/liblinear_format.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

namespace {

using nlohmann::json;

constexpr const char* format_name = "topwolf-model";
constexpr std::int64_t format_version = 6;

// The oldest that can say it, for older programs' sake: 6 with a loss by its oracle, 5 with softmax or probabilities, 4
// with a mean, 3 with weights for some columns only, 2 with class features.
std::int64_t version_for(const Model& model) {
  if (model.provenance.loss.name == LossName::oracle) return 6;
  if (traits(model.provenance.loss.name).takes_temperature || model.temperature > 0.0) return 5;
  return !model.provenance.mean.empty() ? 4 : !model.columns.empty() ? 3 : model.class_features.rows() > 0 ? 2 : 1;
}

json make_metadata(const Model& model) {
  const Provenance& made = model.provenance;
  json metadata = {
      {"format", format_name},
      {"format_version", version_for(model)},
      {"version", made.version},
      {"d", model.d},
      {"bias", model.bias},
      {"classes", model.classes.names},
      {"label_type", to_string(model.classes.type)},
      {"normalization", to_string(model.normalization.kind)},
      {"precision", to_string(model.precision)},
      {"index_base", model.index_base},
      {"loss", {{"name", to_string(made.loss.name)}, {"rho", made.loss.rho}, {"smoothing", made.loss.smoothing}}},
      {"lambda", made.lambda},
      {"weight_sum", made.weight_sum},
      {"solver", made.solver},
      {"iterations", made.iterations},
      {"command", made.command},
      {"data_hash", made.data_hash},
  };
  if (made.loss.name == LossName::oracle) metadata["loss"]["title"] = made.loss.title;
  if (made.loss.k) metadata["loss"]["k"] = *made.loss.k;
  if (made.loss.temperature) metadata["loss"]["temperature"] = *made.loss.temperature;
  if (model.class_features.rows() > 0) {
    metadata["class_features"] = {{"columns", model.class_features.cols()}, {"sparse", model.class_features.sparse()}};
  }
  if (model.temperature > 0.0) metadata["probabilities"] = {{"temperature", model.temperature}};
  if (!model.label_column.empty()) metadata["label_column"] = model.label_column;
  if (!made.search.empty()) metadata["search"] = json::parse(made.search);
  if (made.claim) {
    metadata["status"] = to_string(made.claim->status);
    metadata["primal"] = made.claim->certificate.primal;
    metadata["dual"] = made.claim->certificate.dual;
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
  const auto known = parse_name<LossName>(name);
  if (!known) fail(ErrorKind::data, "{}: the model's loss '{}' is unknown", fields.path(), name);
  loss.name = *known;
  if (loss.name == LossName::oracle) loss.title = fields.text("title");
  if (fields.has("k")) loss.k = fields.integer("k");
  loss.rho = fields.list<double>("rho");
  loss.smoothing = fields.number("smoothing");
  if (fields.has("temperature")) loss.temperature = fields.number("temperature");
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

Provenance read_provenance(const Fields& fields) {
  Provenance made;
  made.loss = read_loss(fields.object("loss"));
  made.lambda = fields.number("lambda");
  made.weight_sum = fields.number("weight_sum");
  made.solver = fields.text("solver");
  made.iterations = fields.integer("iterations");
  made.command = fields.text("command");
  made.version = fields.text("version");
  made.data_hash = fields.text("data_hash");
  const auto is_object = [](const json& value) { return value.is_object(); };
  if (fields.has("search")) made.search = fields.at("search", is_object, "an object").dump();
  if (fields.has("status"))
    made.claim = {fields.name<Status>("status"), {fields.number("primal"), fields.number("dual")}};
  return made;
}

Model read_fields(const Fields& fields) {
  Model model;
  model.d = fields.integer<std::int32_t>("d");
  model.bias = fields.number("bias");
  model.precision = fields.name<Precision>("precision");
  model.classes = {fields.name<LabelType>("label_type"), fields.list<std::string>("classes")};
  model.normalization.kind = fields.name<NormalizeKind>("normalization");
  model.index_base = fields.integer<std::int32_t>("index_base");
  if (fields.has("probabilities")) model.temperature = fields.object("probabilities").number("temperature");
  if (fields.has("label_column")) model.label_column = fields.text("label_column");
  model.provenance = read_provenance(fields);
  return model;
}

CsrStore<double> read_csr(const TensorFile& file, std::int64_t m, std::int64_t p) {
  const auto copy = [](const auto& values) { return std::vector(values.begin(), values.end()); };
  CsrStore<double> phi;
  phi.rows = m;
  phi.cols = p;
  phi.row_begin = copy(file.get<std::int64_t>("class_features_begin"));
  phi.column = copy(file.get<std::int32_t>("class_features_column"));
  phi.values = copy(file.get<double>("class_features_value"));
  const auto stored = static_cast<std::int64_t>(phi.values.size());
  if (static_cast<std::int64_t>(phi.row_begin.size()) != m + 1 || phi.row_begin.front() != 0 ||
      phi.row_begin.back() != stored || static_cast<std::int64_t>(phi.column.size()) != stored ||
      !std::is_sorted(phi.row_begin.begin(), phi.row_begin.end())) {
    fail(ErrorKind::data, "{}: the model's class features do not add up", file.path());
  }
  return phi;
}

std::vector<std::int32_t> read_columns(const TensorFile& file) {
  const auto columns = file.get<std::int32_t>("columns");
  if (columns.empty()) fail(ErrorKind::data, "{}: the model's list of features with weights is empty", file.path());
  return {columns.begin(), columns.end()};
}

void read_class_features(const TensorFile& file, const Fields& fields, Classifier& model) {
  const std::int64_t m = model.m(), p = fields.integer<std::int32_t>("columns");
  if (m < 2 || p < 1) fail(ErrorKind::data, "{}: the model has {} features of {} classes", file.path(), p, m);
  if (fields.flag("sparse")) {
    model.class_features = Features(FeatureStore(read_csr(file, m, p)));
  } else {
    model.class_features =
        Features(FeatureStore(DenseStore<double>{read_tensor(file, "class_features", {m, p}), m, p}));
  }
  try {
    check_class_features(model.class_features, m);
  } catch (const Error& error) {
    fail(ErrorKind::data, "{}: {}", file.path(), error.what());
  }
  model.V = read_tensor(file, "weights", {p, model.D()}, model.precision);
  ClassMap(model.class_features.view()).lift(model.V, model.W, resolve_threads(0));
}

Model read_model(const TensorFile& file) {
  const json metadata = parse_strict_json(file.metadata(), file.path(), "the metadata");
  const Fields fields(metadata, file.path());
  check_format(fields);
  Model model = read_fields(fields);
  const std::int64_t m = model.m();
  if (file.has("columns")) model.columns = read_columns(file);
  if (fields.has("class_features")) {
    read_class_features(file, fields.object("class_features"), model);
  } else {
    model.W = read_tensor(file, "weights", {m, model.D()}, model.precision);
  }
  if (model.normalization.kind == NormalizeKind::maxabs) {
    model.normalization.scale = read_tensor(file, "normalization_scale", {model.d});
  }
  if (file.has("mean")) model.provenance.mean = read_tensor(file, "mean", {model.width()});
  if (file.has("cost_matrix")) model.provenance.loss.cost_matrix = read_tensor(file, "cost_matrix", {m, m});
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

// `gathered` keeps what is not in one piece.
void add_class_features(const Features& phi, std::vector<Tensor>& tensors, std::vector<double>& gathered) {
  if (const auto* dense = std::get_if<DenseView<double>>(&phi.view())) {
    for (std::int64_t j = 0; j < dense->rows; ++j) {
      gathered.insert(gathered.end(), dense->data + j * dense->stride, dense->data + j * dense->stride + dense->cols);
    }
    tensors.push_back({"class_features", "F64", {dense->rows, dense->cols}, gathered.data()});
    return;
  }
  const auto& sparse = std::get<CsrView<double>>(phi.view());
  const std::int64_t stored = sparse.row_begin[sparse.rows];
  tensors.push_back({"class_features_begin", "I64", {sparse.rows + 1}, sparse.row_begin});
  tensors.push_back({"class_features_column", "I32", {stored}, sparse.column});
  tensors.push_back({"class_features_value", "F64", {stored}, sparse.value});
}

}  // namespace

void save_model(const Model& model, const std::string& path) {
  const IeeeArithmetic ieee;
  check_model(model, path);
  const std::int64_t m = model.m();
  const bool single = model.precision == Precision::float32;
  const bool mapped = model.class_features.rows() > 0;
  const std::vector<double>& weights = mapped ? model.V : model.W;
  const std::int64_t rows = mapped ? model.class_features.cols() : m;
  const std::vector<float> narrowed = single ? narrow(weights, path) : std::vector<float>{};
  std::vector<Tensor> tensors;
  if (single) {
    tensors.push_back({"weights", "F32", {rows, model.D()}, narrowed.data()});
  } else {
    tensors.push_back({"weights", "F64", {rows, model.D()}, weights.data()});
  }
  if (!model.columns.empty()) tensors.push_back({"columns", "I32", {model.width()}, model.columns.data()});
  std::vector<double> gathered;
  if (mapped) add_class_features(model.class_features, tensors, gathered);
  if (model.normalization.kind == NormalizeKind::maxabs) {
    tensors.push_back({"normalization_scale", "F64", {model.d}, model.normalization.scale.data()});
  }
  const std::vector<double>& mean = model.provenance.mean;
  if (!mean.empty()) tensors.push_back({"mean", "F64", {model.width()}, mean.data()});
  const std::vector<double>& costs = model.provenance.loss.cost_matrix;
  if (!costs.empty()) tensors.push_back({"cost_matrix", "F64", {m, m}, costs.data()});
  write_tensor_file(path, tensors, dump_metadata(model, path));
}

bool is_model_file(const std::string& path) {
  if (path.ends_with(".twd")) return false;  // the data cache is a container too
  const std::string begin = peek_bytes(path, 9);
  // A .topwolf file is a safetensors container: 8 bytes of length, then a JSON object.
  const bool container = begin.size() == 9 && begin[8] == '{' && begin.substr(4, 4) == std::string(4, '\0');
  return container || begin == std::string_view("solver_type").substr(0, 9);
}

Model load_model(const std::string& path) {
  const IeeeArithmetic ieee;
  std::vector<char> bytes = read_file(path, [&](std::string_view begin) {
    if (looks_like_liblinear(begin)) return;
    if (begin.size() < 9 || begin[8] != '{')
      fail(ErrorKind::data, "{}: is not a model, neither topwolf's nor LIBLINEAR's", path);
    TensorFile::check_beginning(begin, path);
  });
  const std::string_view text(bytes.data(), bytes.size());
  if (looks_like_liblinear(text)) return parse_liblinear(text, path);
  return read_model(TensorFile::parse(std::move(bytes), path));
}

}  // namespace topwolf
