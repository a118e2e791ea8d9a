// A psi given as numbers, dense or sparse, float32 or float64.
#include <algorithm>
#include <utility>

#include "core/fail.hpp"
#include "data/check_dataset.hpp"
#include "data/rows.hpp"
#include "topwolf/joint.hpp"

namespace topwolf {

JointTensor::JointTensor(Features rows, std::int64_t m) : rows_(std::move(rows)), m_(m) {
  if (m < 2) fail(ErrorKind::data, "there are {} classes, but a classifier needs at least two", m);
  if (rows_.rows() % m != 0) {
    fail(ErrorKind::data,
         "psi has {} rows, which is not a multiple of the {} classes: each example needs a row per class", rows_.rows(),
         m);
  }
  // Once, here: the verbs are called by many threads and check nothing.
  check_features(rows_, 0);
}

void JointTensor::scores(std::int64_t i, std::span<const double> w, std::span<double> s) const {
  std::visit(
      [&](const auto& X) {
        for (std::int64_t j = 0; j < m_; ++j) {
          double sum = 0.0;
          for_row(X, i * m_ + j, [&](std::int64_t c, double value) { sum += value * w[static_cast<std::size_t>(c)]; });
          s[static_cast<std::size_t>(j)] = sum;
        }
      },
      rows_.view());
}

void JointTensor::accumulate(std::int64_t i, std::span<const Entry> alpha, std::span<double> sum) const {
  std::visit(
      [&](const auto& X) {
        for (const auto& [j, a] : alpha) {
          for_row(X, i * m_ + j,
                  [&, a = a](std::int64_t c, double value) { sum[static_cast<std::size_t>(c)] += a * value; });
        }
      },
      rows_.view());
}

// Known without the two verbs: the engine would otherwise build each psi to measure it.
double JointTensor::squared_length(std::int64_t i) const {
  return std::visit(
      [&](const auto& X) {
        double longest = 0.0;
        for (std::int64_t j = 0; j < m_; ++j) {
          double sum = 0.0;
          for_row(X, i * m_ + j, [&](std::int64_t, double value) { sum += value * value; });
          longest = std::max(longest, sum);
        }
        return longest;
      },
      rows_.view());
}

}  // namespace topwolf
