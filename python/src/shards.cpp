// Shards, and training on them: questions and answers are bytes, which Python carries.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "module.hpp"
#include "topwolf/names.hpp"
#include "topwolf/shard.hpp"
#include "watch.hpp"

namespace topwolf::python {
namespace {

std::string_view view_of(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}
nb::bytes to_bytes(const std::string& text) {
  return nb::bytes(text.data(), text.size());
}

struct PyShard {
  Shard shard;
  nb::object rows;  // kept alive
};

// Classes are their numbers; those that do not occur in these rows are not named.
std::unique_ptr<PyShard> make_shard(const nb::object& rows, const LabelArray& y, const nb::object& weights,
                                    std::int64_t number, int threads) {
  Dataset data;
  data.X = nb::cast<const PyFeatures&>(rows).X;
  data.y = to_vector(y);
  std::vector<std::int32_t> own = data.y;
  std::sort(own.begin(), own.end());
  own.erase(std::unique(own.begin(), own.end()), own.end());
  for (std::int32_t& label : data.y) {
    label = static_cast<std::int32_t>(std::lower_bound(own.begin(), own.end(), label) - own.begin());
  }
  for (const std::int32_t label : own) data.classes.names.push_back(std::to_string(label));
  if (!weights.is_none()) data.weights = to_vector(nb::cast<DoubleArray>(weights));
  const Released released;
  return std::unique_ptr<PyShard>(new PyShard{Shard(std::move(data), number, threads), rows});
}

// Answers add up on whoever carries them. What Python raises meanwhile is raised again when training has ended.
class CarriedByPython final : public Shards {
 public:
  explicit CarriedByPython(nb::object carry) : carry_(std::move(carry)) {}

  std::string ask(const std::string& question) override {
    const Held held;
    try {
      return or_wait([&] {
        const auto answer = nb::cast<nb::bytes>(carry_(to_bytes(question)));
        return std::string(view_of(answer));
      });
    } catch (nb::python_error& error) {
      error_ = taken(error);
      throw Error(ErrorKind::io, std::string("a question to the shards has failed"));
    }
  }

  // Calls, without the interpreter.
  template <class Call>
  auto run(const Call& call) {
    try {
      const Released released;
      return call();
    } catch (const Error&) {
      if (error_.is_none()) throw;
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error_.ptr())), error_.ptr());
    throw nb::python_error();
  }

 private:
  nb::object carry_;
  nb::object error_ = nb::none();
};

nb::dict train_on_shards(const nb::object& carry, std::int64_t m, const nb::dict& options, const nb::object& observer) {
  TrainOptions asked = options_from(options);
  CarriedByPython shards(carry);
  Watch watch(observer, m);
  asked.should_stop = [&] { return watch.signalled(); };
  TrainResult result = shards.run([&] { return train(shards, asked, std::ref(watch)); });
  nb::dict out = result_dict(std::move(result), watch.records());
  out["error"] = watch.error();
  return out;
}

double objective_on_shards(const nb::object& carry, const nb::dict& options, const DoubleArray& W) {
  const TrainOptions asked = options_from(options);
  const std::vector<double> at = to_vector(W);
  CarriedByPython shards(carry);
  return shards.run([&] { return objective(shards, asked, at); });
}

// Any file of rows with labels: dense values, or those of CSR with their columns and bounds; labels as numbers of the
// classes of the file, which are spelled as there.
nb::dict read_rows(const std::string& path, const std::string& labels, int threads) {
  LoadOptions options;
  options.path = path;
  options.labels_path = labels;
  options.threads = threads;
  auto* const data = new Dataset;
  const nb::capsule owner(data, [](void* p) noexcept { delete static_cast<Dataset*>(p); });
  {
    const Released released;
    *data = load_shard(options);
  }
  const auto array_of = [&]<class T>(const T* values, std::initializer_list<std::size_t> shape) {
    return nb::cast(nb::ndarray<nb::numpy, const T>(values, shape, owner));
  };
  const auto values_of = [&]<class T>(const T* values, std::initializer_list<std::size_t> shape) {
    if constexpr (sizeof(T) == 2)
      return array_of(reinterpret_cast<const std::uint16_t*>(values), shape);
    else
      return array_of(values, shape);
  };
  nb::dict out;
  const auto n = static_cast<std::size_t>(data->X.rows()), d = static_cast<std::size_t>(data->X.cols());
  std::visit(
      [&](const auto& X) {
        if constexpr (requires { X.row_begin; }) {
          const auto stored = static_cast<std::size_t>(X.row_begin[n]);
          out["values"] = values_of(X.value, {stored});
          out["columns"] = array_of(X.column, {stored});
          out["row_begin"] = array_of(X.row_begin, {n + 1});
        } else {
          out["values"] = values_of(X.data, {n, d});
        }
      },
      data->X.view());
  out["precision"] = to_string(data->X.precision()).data();
  out["d"] = d;
  out["y"] = array_of(data->y.data(), {data->y.size()});
  out["class_names"] = data->classes.names;
  out["label_type"] = to_string(data->classes.type).data();
  return out;
}

}  // namespace

void bind_shards(nb::module_& module) {
  nb::class_<PyShard>(module, "Shard", "Some of the rows of a fit, and their part of the dual.")
      .def(nb::new_(&make_shard), nb::arg("X"), nb::arg("y"), nb::arg("weights").none(), nb::arg("number"),
           nb::arg("threads"))
      .def(
          "answer",
          [](PyShard& self, const nb::bytes& question) {
            std::string answer;
            {
              const Released released;
              answer = self.shard.answer(view_of(question));
            }
            return to_bytes(answer);
          },
          nb::arg("question"), "Not from two threads at once.")
      .def_static(
          "add",
          [](const nb::bytes& left, const nb::bytes& right) {
            return to_bytes(Shard::add(view_of(left), view_of(right)));
          },
          nb::arg("left"), nb::arg("right"), "The answers of neighbours as the answer of both.")
      .def_static("lost", [] { return to_bytes(Shard::lost()); })
      .def_static(
          "prepares", [](const nb::bytes& question) { return Shard::prepares(view_of(question)); }, nb::arg("question"))
      .def_static(
          "revives", [](const nb::bytes& question) { return Shard::revives(view_of(question)); }, nb::arg("question"));
  module.def("train_on_shards", &train_on_shards, nb::arg("carry"), nb::arg("m"), nb::arg("options"),
             nb::arg("observer").none());
  module.def("objective_on_shards", &objective_on_shards, nb::arg("carry"), nb::arg("options"), nb::arg("W"));
  module.def("read_rows", &read_rows, nb::arg("path"), nb::arg("labels"), nb::arg("threads"));
}

}  // namespace topwolf::python
