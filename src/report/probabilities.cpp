#include "topwolf/probabilities.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/fail.hpp"
#include "core/ieee.hpp"

namespace topwolf {
namespace {

// Rows with a class of the model, and their scores.
class KnownRows {
 public:
  KnownRows(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y,
            const std::vector<double>& weights, int threads)
      : m_(predictor.m()), y_(y), weights_(weights) {
    if (y.size() != static_cast<std::size_t>(X.rows()) || (!weights.empty() && weights.size() != y.size())) {
      fail(ErrorKind::data, "there are {} labels and {} weights for {} rows", y.size(), weights.size(), X.rows());
    }
    S_ = predictor.scores(X, threads);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y[i] >= 0 && y[i] < m_) total_ += weight(i);
    }
    if (!(total_ > 0.0)) fail(ErrorKind::data, "none of the {} rows has a class of the model", y.size());
  }

  std::int64_t m() const { return m_; }
  double total() const { return total_; }

  // The mean of value(s, y) over them.
  template <class Value>
  double mean(const Value& value) const {
    long double sum = 0.0L;
    for (std::size_t i = 0; i < y_.size(); ++i) {
      if (y_[i] < 0 || y_[i] >= m_ || !(weight(i) > 0.0)) continue;
      sum +=
          weight(i) * value(S_.data() + i * static_cast<std::size_t>(m_), static_cast<std::size_t>(y_[i]), weight(i));
    }
    return static_cast<double>(sum / total_);
  }

 private:
  double weight(std::size_t i) const { return weights_.empty() ? 1.0 : weights_[i]; }

  const std::int64_t m_;
  const std::vector<std::int32_t>& y_;
  const std::vector<double>& weights_;
  std::vector<double> S_;
  double total_ = 0.0;
};

// p (m) from scores over T; returns T log sum e^(s / T) over T.
double soften(const double* s, double temperature, std::vector<double>& p) {
  const double top = *std::max_element(s, s + p.size());
  double sum = 0.0;
  for (std::size_t j = 0; j < p.size(); ++j) sum += p[j] = std::exp((s[j] - top) / temperature);
  for (double& value : p) value /= sum;
  return top / temperature + std::log(sum);
}

}  // namespace

ProbabilityErrors probability_errors(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y,
                                     double temperature, int threads, const std::vector<double>& weights) {
  const IeeeArithmetic ieee;
  const KnownRows rows(predictor, X, y, weights, threads);
  constexpr std::size_t bins = 15;
  struct Bin {
    double sure = 0.0, right = 0.0;
  };
  std::array<Bin, bins> of{};
  std::vector<double> p(static_cast<std::size_t>(rows.m()));
  ProbabilityErrors out;
  out.log_loss = rows.mean([&](const double* s, std::size_t label, double weight) {
    const double log_sum = soften(s, temperature, p);
    const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    Bin& bin = of[std::min(bins - 1, static_cast<std::size_t>(p[best] * static_cast<double>(bins)))];
    bin.sure += weight * p[best];
    bin.right += best == label ? weight : 0.0;
    return log_sum - s[label] / temperature;
  });
  out.brier = rows.mean([&](const double* s, std::size_t label, double) {
    soften(s, temperature, p);
    double sum = 0.0;
    for (std::size_t j = 0; j < p.size(); ++j) sum += (p[j] - (j == label)) * (p[j] - (j == label));
    return sum;
  });
  for (const Bin& bin : of) out.calibration += std::abs(bin.sure - bin.right) / rows.total();
  return out;
}

// The log loss is convex in b = 1 / T: its slope is bisected.
double calibrate(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y, int threads,
                 const std::vector<double>& weights) {
  const IeeeArithmetic ieee;
  const KnownRows rows(predictor, X, y, weights, threads);
  const auto m = static_cast<double>(rows.m());
  const double other = 1.0 / (rows.total() + 2.0);  // that an example has another class
  std::vector<double> p(static_cast<std::size_t>(rows.m()));
  double largest = 0.0;
  const auto slope = [&](double b) {
    return rows.mean([&](const double* s, std::size_t label, double) {
      soften(s, 1.0 / b, p);
      double expected = 0.0, others = 0.0;
      for (std::size_t j = 0; j < p.size(); ++j) {
        const double lead = s[j] - s[label];
        expected += p[j] * lead;
        others += lead;
        largest = std::max(largest, std::abs(lead));
      }
      return expected - other * others / (m - 1.0);
    });
  };
  slope(1.0);  // to know the scores
  if (!(largest > 0.0) || !std::isfinite(largest)) {
    fail(ErrorKind::data, "the model's scores say nothing about these rows: they are {}",
         largest > 0.0 ? "too large" : "the same for all classes");
  }
  double low = 1e-6 / largest, high = 1e6 / largest;
  if (!(slope(low) < 0.0)) {
    fail(ErrorKind::data,
         "the model's scores are no higher for the true classes of these rows than for others: no "
         "temperature makes probabilities of them");
  }
  for (int t = 0; t < 100 && high / low > 1.0 + 1e-12; ++t) {
    const double middle = std::sqrt(low * high);
    (slope(middle) < 0.0 ? low : high) = middle;
  }
  return 1.0 / std::sqrt(low * high);
}

}  // namespace topwolf
