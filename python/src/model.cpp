// Models: to and from dictionaries and files, and the predictor.
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

// A copy: an array, or what SciPy makes a CSR matrix of; None where there are no rows.
nb::object arrays_of(const Features& phi) {
  if (phi.rows() == 0) return nb::none();
  const auto m = static_cast<std::size_t>(phi.rows()), p = static_cast<std::size_t>(phi.cols());
  if (const auto* dense = std::get_if<DenseView<double>>(&phi.view())) {
    std::vector<double> values;
    for (std::int64_t j = 0; j < dense->rows; ++j) {
      const double* row = dense->data + j * dense->stride;
      values.insert(values.end(), row, row + dense->cols);
    }
    return to_array(std::move(values), {m, p});
  }
  const auto& X = std::get<CsrView<double>>(phi.view());
  const auto copy = [](const auto* from, std::size_t count) {
    return to_array(std::vector(from, from + count), {count});
  };
  const auto stored = static_cast<std::size_t>(X.row_begin[X.rows]);
  return nb::make_tuple(copy(X.value, stored), copy(X.column, stored), copy(X.row_begin, m + 1), nb::make_tuple(m, p));
}

nb::dict classifier_dict(Classifier classifier) {
  const auto m = static_cast<std::size_t>(classifier.m()), D = static_cast<std::size_t>(classifier.D());
  nb::dict out;
  out["weights"] = to_array(std::move(classifier.W), {m, D});
  out["class_features"] = arrays_of(classifier.class_features);
  const std::size_t p = D > 0 ? classifier.V.size() / D : 0;
  out["class_weights"] = numbers_or_none(std::move(classifier.V), {p, D});
  out["d"] = classifier.d;
  const std::size_t kept = classifier.columns.size();
  out["columns"] = kept > 0 ? to_array(std::move(classifier.columns), {kept}) : nb::none();
  out["bias"] = classifier.bias;
  out["precision"] = to_string(classifier.precision).data();
  out["class_names"] = classifier.classes.names;
  out["label_type"] = to_string(classifier.classes.type).data();
  out["normalization"] = to_string(classifier.normalization.kind).data();
  const std::size_t scales = classifier.normalization.scale.size();
  out["normalization_scale"] = numbers_or_none(std::move(classifier.normalization.scale), {scales});
  out["index_base"] = classifier.index_base;
  out["label_column"] = classifier.label_column;
  out["temperature"] = classifier.temperature;
  return out;
}

// "primal", "dual" and "status" are there where there is a certificate.
nb::dict provenance_dict(Provenance made, std::size_t m) {
  nb::dict out;
  out["loss"] = to_string(made.loss.name).data();
  out["title"] = made.loss.title;
  out["k"] = made.loss.k ? nb::cast(*made.loss.k) : nb::none();
  const std::size_t K = made.loss.rho.size();
  out["rho"] = numbers_or_none(std::move(made.loss.rho), {K});
  out["smoothing"] = made.loss.smoothing;
  out["temperature"] = made.loss.temperature;
  out["cost_matrix"] = numbers_or_none(std::move(made.loss.cost_matrix), {m, m});
  out["lambda"] = made.lambda;
  out["weight_sum"] = made.weight_sum;
  const std::size_t width = made.mean.size();
  out["mean"] = numbers_or_none(std::move(made.mean), {width});
  out["solver"] = made.solver;
  out["iterations"] = made.iterations;
  out["command"] = made.command;
  out["version"] = made.version;
  out["data_hash"] = made.data_hash;
  out["search"] = made.search;
  if (!made.claim) return out;
  out["status"] = to_string(made.claim->status).data();
  out["primal"] = made.claim->certificate.primal;
  out["dual"] = made.claim->certificate.dual;
  return out;
}

// What a dictionary leaves out of these is as a Classifier has it.
Classifier to_classifier(const nb::dict& fields) {
  Classifier out;
  out.W = to_vector(nb::cast<DoubleArray>(fields["weights"]));
  out.d = nb::cast<std::int64_t>(fields["d"]);
  out.bias = nb::cast<double>(fields["bias"]);
  if (!fields["columns"].is_none()) out.columns = to_vector(nb::cast<LabelArray>(fields["columns"]));
  out.classes.names = nb::cast<std::vector<std::string>>(fields["class_names"]);
  if (fields.contains("label_type")) out.classes.type = enum_from<LabelType>(fields, "label_type");
  if (fields.contains("normalization")) {
    out.normalization = {enum_from<NormalizeKind>(fields, "normalization"),
                         numbers_from(fields, "normalization_scale")};
  }
  if (fields.contains("class_features") && !fields["class_features"].is_none()) {
    out.class_features = nb::cast<const PyFeatures&>(fields["class_features"]).X;
    out.V = numbers_from(fields, "class_weights");
  }
  if (fields.contains("precision")) out.precision = enum_from<Precision>(fields, "precision");
  if (fields.contains("index_base")) out.index_base = nb::cast<int>(fields["index_base"]);
  if (fields.contains("temperature")) out.temperature = nb::cast<double>(fields["temperature"]);
  if (fields.contains("label_column")) out.label_column = nb::cast<std::string>(fields["label_column"]);
  if (static_cast<std::int64_t>(out.W.size()) != out.m() * out.D()) {
    throw nb::value_error("coef_ and intercept_ do not fit the classes and the features");
  }
  return out;
}

Provenance to_provenance(const nb::dict& fields) {
  Provenance made;
  made.loss.name = enum_from<LossName>(fields, "loss");
  if (fields.contains("title")) made.loss.title = nb::cast<std::string>(fields["title"]);
  if (!fields["k"].is_none()) made.loss.k = nb::cast<std::int64_t>(fields["k"]);
  made.loss.rho = numbers_from(fields, "rho");
  made.loss.smoothing = nb::cast<double>(fields["smoothing"]);
  if (fields.contains("temperature")) made.loss.temperature = nb::cast<std::optional<double>>(fields["temperature"]);
  made.loss.cost_matrix = numbers_from(fields, "cost_matrix");
  made.lambda = nb::cast<double>(fields["lambda"]);
  made.weight_sum = nb::cast<double>(fields["weight_sum"]);
  if (fields.contains("mean")) made.mean = numbers_from(fields, "mean");  // not in what an older version pickled
  made.solver = nb::cast<std::string>(fields["solver"]);
  made.iterations = nb::cast<std::int64_t>(fields["iterations"]);
  made.command = nb::cast<std::string>(fields["command"]);
  made.version = nb::cast<std::string>(fields["version"]);
  made.data_hash = nb::cast<std::string>(fields["data_hash"]);
  made.search = nb::cast<std::string>(fields["search"]);
  if (fields.contains("status")) {
    made.claim = {enum_from<Status>(fields, "status"),
                  {nb::cast<double>(fields["primal"]), nb::cast<double>(fields["dual"])}};
  }
  return made;
}

using MatrixOf = void (Predictor::*)(const Features&, double*, int) const;

template <MatrixOf matrix>
nb::object matrix_of(const Predictor& predictor, const PyFeatures& features, int threads) {
  const auto n = static_cast<std::size_t>(features.X.rows()), m = static_cast<std::size_t>(predictor.m());
  std::unique_ptr<double[]> S(new double[n * m]);  // not cleared: that would take a good part of the time
  {
    const Released released;
    (predictor.*matrix)(features.X, S.get(), threads);
  }
  nb::capsule owner(S.get(), [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double>(S.release(), {n, m}, owner));
}

nb::tuple top_k_of(const Predictor& predictor, const PyFeatures& features, std::int64_t k, int threads) {
  TopK best;
  {
    const Released released;
    best = predictor.top_k(features.X, k, threads);
  }
  const auto rows = static_cast<std::size_t>(features.X.rows()), wide = static_cast<std::size_t>(k);
  return nb::make_tuple(to_array(std::move(best.classes), {rows, wide}),
                        to_array(std::move(best.scores), {rows, wide}));
}

std::vector<double> top_k_errors_of(const Predictor& predictor, const PyFeatures& features, const LabelArray& y,
                                    const std::vector<std::int64_t>& ks, int threads) {
  const std::vector<std::int32_t> labels = to_vector(y);
  const Released released;
  return top_k_errors(predictor, features.X, labels, ks, threads);
}

void bind_predictor(nb::module_& module) {
  nb::class_<Predictor>(module, "Predictor", "A classifier made ready: its weights are laid out once.")
      .def(
          "__init__",
          [](Predictor* self, const nb::dict& fields, int threads) {
            const Classifier classifier = to_classifier(fields);
            const Released released;
            new (self) Predictor(classifier, Rows::raw, threads);
          },
          nb::arg("classifier"), nb::arg("threads"))
      .def("scores", &matrix_of<&Predictor::scores_into>, nb::arg("X"), nb::arg("threads"),
           "Scores (n x m) of every class.")
      .def("probabilities", &matrix_of<&Predictor::probabilities_into>, nb::arg("X"), nb::arg("threads"),
           "Probabilities (n x m) of every class.")
      .def(
          "calibrate",
          [](const Predictor& predictor, const PyFeatures& features, const LabelArray& y, const nb::object& weights,
             int threads) {
            const std::vector<std::int32_t> labels = to_vector(y);
            const std::vector<double> omega =
                weights.is_none() ? std::vector<double>() : to_vector(nb::cast<DoubleArray>(weights));
            const Released released;
            return calibrate(predictor, features.X, labels, threads, omega);
          },
          nb::arg("X"), nb::arg("y"), nb::arg("weights").none(), nb::arg("threads"),
          "The temperature that fits the labels best.")
      .def("top_k", &top_k_of, nb::arg("X"), nb::arg("k"), nb::arg("threads"),
           "Class numbers and scores (n x k), best first.")
      .def("top_k_errors", &top_k_errors_of, nb::arg("X"), nb::arg("y"), nb::arg("ks"), nb::arg("threads"),
           "The share of rows whose class is not among the k best, for each k.");
}

ClassList classes_from(const std::string& label_type, const std::vector<std::string>& names) {
  const std::optional<LabelType> type = parse_name<LabelType>(label_type);
  if (!type) throw nb::value_error(("label_type is unknown: " + label_type).c_str());
  return {*type, names};
}

// (phi, cost matrix) of a tree over m classes, in their order.
nb::tuple taxonomy_arrays(Taxonomy tree) {
  const auto m = static_cast<std::size_t>(tree.class_features.rows());
  return nb::make_tuple(arrays_of(tree.class_features), to_array(std::move(tree.cost_matrix), {m, m}));
}

// As open() would be refused; the files themselves are replaced, not opened.
const std::string& writable(const std::string& path) {
  if (is_read_only(path)) fail(ErrorKind::io, "{}: cannot be written: it is read-only", path);
  return path;
}

}  // namespace

Model to_model(const nb::dict& classifier, const nb::dict& provenance) {
  return {to_classifier(classifier), to_provenance(provenance)};
}

nb::tuple to_dicts(Model model) {
  const auto m = static_cast<std::size_t>(model.m());
  nb::dict made = provenance_dict(std::move(model.provenance), m);
  return nb::make_tuple(classifier_dict(std::move(model)), made);
}

void bind_model(nb::module_& module) {
  bind_predictor(module);
  module.def(
      "load_taxonomy",
      [](const std::string& path, const std::string& label_type, const std::vector<std::string>& names) {
        return taxonomy_arrays(load_taxonomy(path, classes_from(label_type, names)));
      },
      nb::arg("path"), nb::arg("label_type"), nb::arg("names"));
  module.def(
      "make_taxonomy",
      [](const std::vector<std::pair<std::string, std::string>>& edges, const std::string& label_type,
         const std::vector<std::string>& names) {
        std::vector<TaxonomyEdge> tree;
        for (const auto& [child, parent] : edges) tree.push_back({child, parent});
        return taxonomy_arrays(make_taxonomy(tree, classes_from(label_type, names)));
      },
      nb::arg("edges"), nb::arg("label_type"), nb::arg("names"), "From (child, parent) pairs.");
  const auto def_save = [&](const char* name, auto save) {
    module.def(
        name,
        [save](const nb::dict& classifier, const nb::dict& provenance, const std::string& path) {
          save(to_model(classifier, provenance), writable(path));
        },
        nb::arg("classifier"), nb::arg("provenance"), nb::arg("path"));
  };
  def_save("save_model", &save_model);
  def_save("save_liblinear", &save_liblinear);
  module.def(
      "load_model", [](const std::string& path) { return to_dicts(load_model(path)); }, nb::arg("path"),
      "The classifier and its provenance, as dictionaries.");
}

}  // namespace topwolf::python
