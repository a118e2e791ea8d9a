// Shards and training on them: questions and answers are bytes that Python carries.
#include <nanobind/stl/string.h>

#include <algorithm>

#include "module.hpp"
#include "topwolf/shard.hpp"
#include "training.hpp"

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
  std::vector<nb::object> owners;  // of the rows
};

// Classes that occur among these rows, as their numbers.
PyShard* shard_of_rows(const nb::object& rows, const LabelArray& y, const nb::object& weights, std::int64_t number,
                       int threads) {
  Dataset data;
  data.X = nb::cast<const PyFeatures&>(rows).X;
  std::vector<std::int32_t> labels = to_vector(y);
  std::vector<std::int32_t> own = labels;
  std::sort(own.begin(), own.end());
  own.erase(std::unique(own.begin(), own.end()), own.end());
  for (std::int32_t& label : labels) {
    label = static_cast<std::int32_t>(std::lower_bound(own.begin(), own.end(), label) - own.begin());
  }
  for (const std::int32_t label : own) data.classes.names.push_back(std::to_string(label));
  data.y = std::move(labels);
  if (!weights.is_none()) data.weights = to_vector(nb::cast<DoubleArray>(weights));
  return new PyShard{Shard(std::move(data), number, threads), {rows}};
}

PyShard* shard_of_file(const std::string& path, const std::string& labels, std::int64_t number, int threads) {
  LoadOptions options;
  options.path = path;
  options.labels_path = labels;
  options.threads = threads;
  return new PyShard{Shard(load_shard(options), number, threads), {}};
}

// What is thrown where Python carries is thrown again when training has ended.
class CarriedByPython final : public Shards {
 public:
  explicit CarriedByPython(nb::object carry) : carry_(std::move(carry)) {}

  std::string ask(const std::string& question) override {
    const Held held;
    try {
      const nb::bytes answer = or_wait([&] { return nb::cast<nb::bytes>(carry_(to_bytes(question))); });
      return std::string(view_of(answer));
    } catch (nb::python_error& error) {
      error_ = taken(error);
      throw Error(ErrorKind::io, std::string("a question to the shards has failed"));
    }
  }
  const nb::object& error() const { return error_; }

 private:
  nb::object carry_;
  nb::object error_ = nb::none();
};

nb::dict train_on_shards(const nb::object& carry, std::int64_t m, const nb::dict& options, const nb::object& observer) {
  TrainOptions asked = options_from(options);
  CarriedByPython shards(carry);
  Watch watch(observer, m);
  asked.should_stop = [&] { return watch.signalled(); };
  TrainResult result;
  try {
    const Released released;
    result = train(shards, asked, std::ref(watch));
  } catch (const Error&) {
    if (shards.error().is_none()) throw;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(shards.error().ptr())), shards.error().ptr());
    throw nb::python_error();
  }
  nb::dict out = result_dict(std::move(result), watch.records());
  out["error"] = watch.error();
  return out;
}

}  // namespace

void bind_shards(nb::module_& module) {
  nb::class_<PyShard>(module, "Shard", "Some of the rows of a fit, and their part of the dual.")
      .def_static("of_rows", &shard_of_rows, nb::arg("X"), nb::arg("y"), nb::arg("weights").none(), nb::arg("number"),
                  nb::arg("threads"), nb::rv_policy::take_ownership)
      .def_static("of_file", &shard_of_file, nb::arg("path"), nb::arg("labels"), nb::arg("number"), nb::arg("threads"),
                  nb::rv_policy::take_ownership)
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
          nb::arg("question"))
      .def_static(
          "add",
          [](const nb::bytes& left, const nb::bytes& right) {
            return to_bytes(Shard::add(view_of(left), view_of(right)));
          },
          nb::arg("left"), nb::arg("right"), "The answers of neighbours as the answer of both.")
      .def_static("lost", [] { return to_bytes(Shard::lost()); })
      .def_static("prepares", [](const nb::bytes& question) { return Shard::prepares(view_of(question)); })
      .def_static("revives", [](const nb::bytes& question) { return Shard::revives(view_of(question)); });
  module.def("train_on_shards", &train_on_shards, nb::arg("carry"), nb::arg("m"), nb::arg("options"),
             nb::arg("observer").none());
}

}  // namespace topwolf::python
