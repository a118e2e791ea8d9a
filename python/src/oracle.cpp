// A loss that Python knows: the library asks, with the interpreter held, about one row or many.
#include "oracle.hpp"

namespace topwolf::python {
namespace {

using Answers = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// `asked` is a topwolf._oracle.Asked, which has made sure of shapes and types.
class PyOracle final : public LossOracle {
 public:
  explicit PyOracle(nb::object asked)
      : asked_(std::move(asked)),
        name_(nb::cast<std::string>(asked_.attr("name"))),
        reach_(nb::cast<double>(asked_.attr("reach"))),
        projects_(nb::cast<bool>(asked_.attr("projects"))) {}
  PyOracle(const PyOracle&) = delete;
  PyOracle& operator=(const PyOracle&) = delete;
  ~PyOracle() override {
    const Held held;
    asked_.reset();
  }

  std::string name() const override { return name_; }
  double reach() const override { return reach_; }
  double value(std::span<const double> z, std::int64_t y) const override {
    double out = 0.0;
    values(z, {&y, 1}, {&out, 1});
    return out;
  }
  void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const override {
    vertices(z, {&y, 1}, u);
  }
  void values(std::span<const double> Z, std::span<const std::int64_t> y, std::span<double> out) const override {
    const Held held;
    copy(ask("value", Z, y), out);
  }
  void vertices(std::span<const double> Z, std::span<const std::int64_t> y, std::span<double> U) const override {
    const Held held;
    copy(ask("vertex", Z, y), U);
  }
  bool project(std::span<const double> a, std::int64_t y, std::span<double> alpha) const override {
    if (!projects_) return false;
    const Held held;
    copy(ask("project", a, {&y, 1}), alpha);
    return true;
  }

 private:
  // Arrays of their own: whoever is asked may keep them.
  nb::object ask(const char* what, std::span<const double> Z, std::span<const std::int64_t> y) const {
    return or_wait([&] {
      const nb::object rows = to_array(std::vector<double>(Z.begin(), Z.end()), {y.size(), Z.size() / y.size()});
      const nb::object labels = to_array(std::vector<std::int64_t>(y.begin(), y.end()), {y.size()});
      return nb::object(asked_.attr(what)(rows, labels));
    });
  }
  static void copy(const nb::object& answer, std::span<double> to) {
    const auto rows = nb::cast<Answers>(answer);
    std::copy_n(rows.data(), to.size(), to.data());
  }

  nb::object asked_;
  std::string name_;
  double reach_;
  bool projects_;
};

}  // namespace

std::shared_ptr<const LossOracle> oracle_from(nb::object asked) {
  return std::make_shared<const PyOracle>(std::move(asked));
}

}  // namespace topwolf::python
