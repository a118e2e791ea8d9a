// Models: to and from dictionaries, files and predictions.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "module.hpp"

namespace topwolf::python {
namespace {

template <class E>
E enum_from(const nb::dict& fields, const char* key) {
  const auto text = nb::cast<std::string>(fields[key]);
  const std::optional<E> value = parse_name<E>(text);
  if (!value) throw nb::value_error((std::string(key) + " is unknown: " + text).c_str());
  return *value;
}

std::vector<double> numbers_from(const nb::dict& fields, const char* key) {
  return fields[key].is_none() ? std::vector<double>{} : to_vector(nb::cast<DoubleArray>(fields[key]));
}

nb::object numbers_or_none(std::vector<double> values, std::initializer_list<std::size_t> shape) {
  return values.empty() ? nb::none() : to_array(std::move(values), shape);
}

template <class T>
FeatureStore copy_of(const DenseView<T>& X) {
  DenseStore<T> store{std::vector<T>(static_cast<std::size_t>(X.rows * X.cols)), X.rows, X.cols};
  for (std::int64_t i = 0; i < X.rows; ++i) {
    std::copy_n(X.data + i * X.stride, X.cols, store.values.begin() + i * X.cols);
  }
  return store;
}

template <class T>
FeatureStore copy_of(const CsrView<T>& X) {
  const std::int64_t stored = X.row_begin[X.rows];
  return CsrStore<T>{{X.row_begin, X.row_begin + X.rows + 1},
                     {X.column, X.column + stored},
                     {X.value, X.value + stored},
                     X.rows,
                     X.cols};
}

// A copy: an array, or what SciPy makes a CSR matrix of; None where there are no rows.
nb::object arrays_of(const Features& phi) {
  if (phi.rows() == 0) return nb::none();
  const auto m = static_cast<std::size_t>(phi.rows()), p = static_cast<std::size_t>(phi.cols());
  if (const auto* dense = std::get_if<DenseView<double>>(&phi.view())) {
    return to_array(std::get<DenseStore<double>>(copy_of(*dense)).values, {m, p});
  }
  auto store = std::get<CsrStore<double>>(copy_of(std::get<CsrView<double>>(phi.view())));
  const std::size_t stored = store.values.size();
  return nb::make_tuple(to_array(std::move(store.values), {stored}), to_array(std::move(store.column), {stored}),
                        to_array(std::move(store.row_begin), {m + 1}), nb::make_tuple(m, p));
}

// Features prepared as the model asks for: as they are, or a normalised copy.
Features prepared(const Model& model, const Features& X) {
  if (model.normalization.kind == NormalizeKind::none) return X;
  FeatureStore store = std::visit([](const auto& view) { return copy_of(view); }, X.view());
  apply_normalization(model.normalization, store);
  return Features(std::move(store));
}

nb::object decision_scores_of(const nb::dict& fields, const PyFeatures& features, int threads) {
  const Model model = to_model(fields);
  std::vector<double> S;
  {
    nb::gil_scoped_release release;
    S = decision_scores(model, prepared(model, features.X), threads);
  }
  return to_array(std::move(S), {static_cast<std::size_t>(features.X.rows()), static_cast<std::size_t>(model.m())});
}

nb::tuple predict_top_k_of(const nb::dict& fields, const PyFeatures& features, std::int64_t k, int threads) {
  const Model model = to_model(fields);
  TopK best;
  {
    nb::gil_scoped_release release;
    best = predict_top_k(model, prepared(model, features.X), k, threads);
  }
  const auto rows = static_cast<std::size_t>(features.X.rows()), wide = static_cast<std::size_t>(k);
  return nb::make_tuple(to_array(std::move(best.classes), {rows, wide}),
                        to_array(std::move(best.scores), {rows, wide}));
}

std::vector<double> top_k_errors_of(const nb::dict& fields, const PyFeatures& features, const LabelArray& y,
                                    const std::vector<std::int64_t>& ks, int threads) {
  const Model model = to_model(fields);
  const std::vector<std::int32_t> labels = to_vector(y);
  nb::gil_scoped_release release;
  return top_k_errors(model, prepared(model, features.X), labels, ks, threads);
}

// (phi, cost matrix) of a tree over the classes, in the order of their names.
nb::tuple taxonomy_of(const std::string& path, const std::string& label_type, const std::vector<std::string>& names) {
  const std::optional<LabelType> type = parse_name<LabelType>(label_type);
  if (!type) throw nb::value_error(("label_type is unknown: " + label_type).c_str());
  Taxonomy tree = load_taxonomy(path, {*type, names});
  return nb::make_tuple(arrays_of(tree.class_features),
                        to_array(std::move(tree.cost_matrix), {names.size(), names.size()}));
}

// As open() would be refused; the files themselves are replaced, not opened.
const std::string& writable(const std::string& path) {
  if (is_read_only(path)) fail(ErrorKind::io, "{}: cannot be written: it is read-only", path);
  return path;
}

}  // namespace

nb::dict to_dict(Model model) {
  const auto m = static_cast<std::size_t>(model.m()), D = static_cast<std::size_t>(model.D());
  nb::dict out;
  out["weights"] = to_array(std::move(model.W), {m, D});
  out["class_features"] = arrays_of(model.class_features);
  const std::size_t p = D > 0 ? model.V.size() / D : 0;
  out["class_weights"] = numbers_or_none(std::move(model.V), {p, D});
  out["d"] = model.d;
  const std::size_t kept = model.columns.size();
  out["columns"] = kept > 0 ? to_array(std::move(model.columns), {kept}) : nb::none();
  out["bias"] = model.bias;
  out["precision"] = to_string(model.precision).data();
  out["class_names"] = model.classes.names;
  out["label_type"] = to_string(model.classes.type).data();
  out["normalization"] = to_string(model.normalization.kind).data();
  const std::size_t scales = model.normalization.scale.size();
  out["normalization_scale"] = numbers_or_none(std::move(model.normalization.scale), {scales});
  out["index_base"] = model.index_base;
  out["label_column"] = model.label_column;
  out["loss"] = to_string(model.loss.name).data();
  out["k"] = model.loss.k ? nb::cast(*model.loss.k) : nb::none();
  const std::size_t K = model.loss.rho.size();
  out["rho"] = numbers_or_none(std::move(model.loss.rho), {K});
  out["smoothing"] = model.loss.smoothing;
  out["cost_matrix"] = numbers_or_none(std::move(model.loss.cost_matrix), {m, m});
  out["lambda"] = model.lambda;
  out["weight_sum"] = model.weight_sum;
  out["solver"] = model.solver;
  out["certified"] = model.certified;
  out["status"] = to_string(model.status).data();
  out["primal"] = model.certificate.primal;
  out["dual"] = model.certificate.dual;
  out["iterations"] = model.iterations;
  out["command"] = model.command;
  out["version"] = model.version;
  out["data_hash"] = model.data_hash;
  out["search"] = model.search;
  return out;
}

Model to_model(const nb::dict& fields) {
  Model model;
  model.W = to_vector(nb::cast<DoubleArray>(fields["weights"]));
  if (!fields["class_features"].is_none()) {
    model.class_features = nb::cast<const PyFeatures&>(fields["class_features"]).X;
    model.V = numbers_from(fields, "class_weights");
  }
  model.d = nb::cast<std::int64_t>(fields["d"]);
  if (!fields["columns"].is_none()) model.columns = to_vector(nb::cast<LabelArray>(fields["columns"]));
  model.bias = nb::cast<double>(fields["bias"]);
  model.precision = enum_from<Precision>(fields, "precision");
  model.classes = {enum_from<LabelType>(fields, "label_type"),
                   nb::cast<std::vector<std::string>>(fields["class_names"])};
  model.normalization = {enum_from<NormalizeKind>(fields, "normalization"),
                         numbers_from(fields, "normalization_scale")};
  model.index_base = nb::cast<int>(fields["index_base"]);
  model.label_column = nb::cast<std::string>(fields["label_column"]);
  model.loss = parse_loss(nb::cast<std::string>(fields["loss"]));
  if (!fields["k"].is_none()) model.loss.k = nb::cast<std::int64_t>(fields["k"]);
  model.loss.rho = numbers_from(fields, "rho");
  model.loss.smoothing = nb::cast<double>(fields["smoothing"]);
  model.loss.cost_matrix = numbers_from(fields, "cost_matrix");
  model.lambda = nb::cast<double>(fields["lambda"]);
  model.weight_sum = nb::cast<double>(fields["weight_sum"]);
  model.solver = nb::cast<std::string>(fields["solver"]);
  model.certified = nb::cast<bool>(fields["certified"]);
  model.status = enum_from<Status>(fields, "status");
  model.certificate = {nb::cast<double>(fields["primal"]), nb::cast<double>(fields["dual"])};
  model.iterations = nb::cast<std::int64_t>(fields["iterations"]);
  model.command = nb::cast<std::string>(fields["command"]);
  model.version = nb::cast<std::string>(fields["version"]);
  model.data_hash = nb::cast<std::string>(fields["data_hash"]);
  model.search = nb::cast<std::string>(fields["search"]);
  // What follows reads W by its shape.
  const bool scaled = model.normalization.kind == NormalizeKind::maxabs;
  if (static_cast<std::int64_t>(model.W.size()) != model.m() * model.D() ||
      static_cast<std::int64_t>(model.normalization.scale.size()) != (scaled ? model.d : 0)) {
    throw nb::value_error("coef_ and intercept_ do not fit the classes and the features");
  }
  return model;
}

void bind_model(nb::module_& module) {
  module.def("decision_scores", &decision_scores_of, nb::arg("model"), nb::arg("X"), nb::arg("threads"),
             "Scores (n x m) of every class.");
  module.def("predict_top_k", &predict_top_k_of, nb::arg("model"), nb::arg("X"), nb::arg("k"), nb::arg("threads"),
             "Class numbers and scores (n x k), best first.");
  module.def("top_k_errors", &top_k_errors_of, nb::arg("model"), nb::arg("X"), nb::arg("y"), nb::arg("ks"),
             nb::arg("threads"), "The share of rows whose class is not among the k best, for each k.");
  module.def("load_taxonomy", &taxonomy_of, nb::arg("path"), nb::arg("label_type"), nb::arg("names"));
  module.def(
      "save_model", [](const nb::dict& model, const std::string& path) { save_model(to_model(model), writable(path)); },
      nb::arg("model"), nb::arg("path"));
  module.def(
      "save_liblinear",
      [](const nb::dict& model, const std::string& path) { save_liblinear(to_model(model), writable(path)); },
      nb::arg("model"), nb::arg("path"));
  module.def(
      "load_model", [](const std::string& path) { return to_dict(load_model(path)); }, nb::arg("path"));
}

}  // namespace topwolf::python
