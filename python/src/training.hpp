// What the functions that train share: options in, what is seen on the way, and a result out.
#pragma once

#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "module.hpp"

namespace topwolf::python {

// The dual as SciPy's (indptr, indices, data).
nb::tuple to_tuple(SparseRows rows);

// The same keys as a model's where the meaning is the same.
TrainOptions options_from(const nb::dict& given);

nb::dict trace_of(const std::vector<IterationRecord>& records);

// What Python raised, as an object that can be raised again.
nb::object taken(nb::python_error& error);

// An iteration as Python sees it, which may keep it for longer than there are weights to look at.
struct PyRecord : IterationRecord {
  std::weak_ptr<const Progress> progress;
  std::size_t rows;

  nb::object weights() const;
};

// Looks at every iteration; asks Python for signals and, if there is one, calls the observer.
class Watch {
 public:
  // The weights have so many rows: a vector where it is one.
  Watch(nb::object observer, std::int64_t rows)
      : observer_(std::move(observer)), rows_(static_cast<std::size_t>(rows)) {}

  bool operator()(const Progress& progress);
  // Within a pass, too. Waiting for the interpreter can take longer than an iteration.
  bool signalled();

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

// What users of either training function see of a result; the trace is empty where nobody looked.
nb::dict result_dict(TrainResult result, const std::vector<IterationRecord>& records);

}  // namespace topwolf::python
