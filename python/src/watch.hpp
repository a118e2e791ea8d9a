// What the functions that train share: options in, who looks on, and a result out (train.cpp).
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "module.hpp"

namespace topwolf::python {

TrainOptions options_from(const nb::dict& given);
Dataset dataset_from(const PyFeatures& features, const LabelArray& y, std::int64_t m, const nb::object& weights,
                     const nb::dict& options);
nb::dict result_dict(TrainResult result, const std::vector<IterationRecord>& records);
nb::object taken(nb::python_error& error);

// An iteration as Python sees it, which may keep it for longer than there are weights to look at.
struct PyRecord : IterationRecord {
  std::weak_ptr<const Progress> progress;
  std::size_t rows;

  nb::object weights() const {
    const std::shared_ptr<const Progress> now = progress.lock();
    if (!now) throw std::runtime_error("the weights of a pass are there only while the callback is called");
    std::vector<double> W = now->weights();
    const std::size_t size = W.size();
    return rows == 1 ? to_array(std::move(W), {size}) : to_array(std::move(W), {rows, size / rows});
  }
};

// Looks at every iteration; asks Python for signals and, if there is one, calls the observer.
class Watch {
 public:
  // The weights have so many rows: a vector where it is one.
  Watch(nb::object observer, std::int64_t rows)
      : observer_(std::move(observer)), rows_(static_cast<std::size_t>(rows)) {}

  bool operator()(const Progress& progress) {
    records_.push_back(progress);
    if (observer_.is_none()) return true;
    const Held held;
    try {
      const std::shared_ptr<const Progress> now(&progress, [](const Progress*) {});
      return !or_wait([&] { return nb::cast<bool>(observer_(PyRecord{progress, now, rows_})); });
    } catch (nb::python_error& error) {
      error_ = taken(error);
      return false;
    }
  }

  // Within a pass, too. Waiting for the interpreter can take longer than an iteration.
  bool signalled() {
    constexpr double signal_interval_s = 0.05;
    const double now = clock_.seconds();
    if (now - last_look_s_ < signal_interval_s) return false;
    last_look_s_ = now;
    const Held held;
    if (or_wait(PyErr_CheckSignals) == 0) return false;
    nb::python_error error;
    error_ = taken(error);
    return true;
  }

  const std::vector<IterationRecord>& records() const { return records_; }
  const nb::object& error() const { return error_; }

 private:
  const Stopwatch clock_;
  nb::object observer_;
  std::size_t rows_;
  std::vector<IterationRecord> records_;
  double last_look_s_ = 0.0;
  nb::object error_ = nb::none();
};

}  // namespace topwolf::python
