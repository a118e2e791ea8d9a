// Rows that training does not see (--validation, and of probe an argument): read once, looked at after every pass and
// in the report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "report/progress.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {

// The file, "" for none.
std::string validation_of(const Arguments& arguments);

class HeldOut {
 public:
  // Prepared as the training data was. Labels that are no class of it are wrong at every k, with one warning.
  HeldOut(const Arguments& arguments, const Dataset& training, Warnings& warnings);

  const std::string& source() const { return source_; }
  const Features& X() const { return X_; }
  const std::vector<std::int32_t>& y() const { return y_; }
  const std::vector<double>& weights() const { return weights_; }  // with --label-weights; else empty

  // All of it, with the classes of the training data.
  Dataset dataset() const;

  // At W (m x D), which need not be certified.
  HeldOutErrors errors_at(std::vector<double> W, double bias, int threads);

 private:
  std::string source_;
  Classifier classifier_;  // its weights are those of the last pass that was looked at
  Features X_;
  std::vector<std::int32_t> y_;
  std::vector<double> weights_;
};

// Where some of the rows have a label that is no class of the model: -1 in y, where all have a label, or so many.
void warn_of_unseen(const std::vector<std::int32_t>& y, const std::string& path, Warnings& warnings);
void warn_of_unseen(std::int64_t unseen, std::int64_t rows, const std::string& path, Warnings& warnings);

}  // namespace topwolf::cli
