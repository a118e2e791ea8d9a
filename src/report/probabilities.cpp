#include "topwolf/probabilities.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "data/rows.hpp"
#include "data/window.hpp"
#include "model/soften.hpp"

namespace topwolf {
namespace {

// Rows with a class of the model, and their scores: of so many at a time, since there are n m of them.
class KnownRows {
 public:
  KnownRows(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y,
            const std::vector<double>& weights, int threads, std::int64_t at_a_time)
      : predictor_(predictor),
        X_(X),
        y_(y),
        weights_(weights),
        threads_(threads),
        n_(X.rows()),
        m_(predictor.m()),
        at_a_time_(at_a_time) {
    if (y.size() != static_cast<std::size_t>(n_) || (!weights.empty() && weights.size() != y.size())) {
      fail(ErrorKind::data, "there are {} labels and {} weights for {} rows", y.size(), weights.size(), n_);
    }
    for (std::int64_t i = 0; i < n_; ++i) {
      if (known(i)) total_ += weight(i);
    }
    if (!(total_ > 0.0)) fail(ErrorKind::data, "none of the {} rows has a class of the model", n_);
  }

  std::int64_t m() const { return m_; }
  double total() const { return total_; }

  // The mean of value(s, y, weight) over them.
  template <class Value>
  double mean(const Value& value) {
    long double sum = 0.0L;
    for_windows(X_, threads_, [&](std::int64_t begin, const FeatureView& window) {
      const std::int64_t rows = std::visit([](const auto& view) { return view.rows; }, window);
      for (std::int64_t from = 0; from < rows; from += at_a_time_) {
        const std::int64_t to = std::min(rows, from + at_a_time_), first = begin + from;
        if (first_ != first) S_ = predictor_.scores(Features(rows_between(window, from, to)), threads_);
        first_ = first;
        for (std::int64_t i = first; i < begin + to; ++i) {
          const double* const s = S_.data() + (i - first) * m_;
          if (known(i) && weight(i) > 0.0) sum += weight(i) * value(s, static_cast<std::size_t>(at(y_, i)), weight(i));
        }
      }
    });
    return static_cast<double>(sum / total_);
  }

 private:
  template <class T>
  static T at(const std::vector<T>& values, std::int64_t i) {
    return values[static_cast<std::size_t>(i)];
  }
  bool known(std::int64_t i) const { return at(y_, i) >= 0 && at(y_, i) < m_; }
  double weight(std::int64_t i) const { return weights_.empty() ? 1.0 : at(weights_, i); }

  const Predictor& predictor_;
  const Features& X_;
  const std::vector<std::int32_t>& y_;
  const std::vector<double>& weights_;
  const int threads_;
  const std::int64_t n_, m_, at_a_time_;
  std::vector<double> S_;    // of the rows from ...
  std::int64_t first_ = -1;  // ... here on
  double total_ = 0.0;
};

}  // namespace

ProbabilityErrors probability_errors(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y,
                                     double temperature, int threads, const std::vector<double>& weights) {
  const IeeeArithmetic ieee;
  constexpr std::int64_t numbers = 1 << 22;
  KnownRows rows(predictor, X, y, weights, threads, std::max<std::int64_t>(1, numbers / predictor.m()));
  constexpr std::size_t bins = 15;
  struct Bin {
    double sure = 0.0, right = 0.0;
  };
  std::array<Bin, bins> of{};
  const std::int64_t m = rows.m();
  std::vector<double> p(static_cast<std::size_t>(m));
  ProbabilityErrors out;
  out.log_loss = rows.mean([&](const double* s, std::size_t label, double weight) {
    std::copy_n(s, m, p.begin());
    make_exponents(p.data(), m, temperature);
    const double exponent = p[label], log_sum = soften(p.data(), m);
    const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    Bin& bin = of[std::min(bins - 1, static_cast<std::size_t>(p[best] * static_cast<double>(bins)))];
    bin.sure += weight * p[best];
    bin.right += best == label ? weight : 0.0;
    double brier = 0.0;
    for (std::size_t j = 0; j < p.size(); ++j) brier += (p[j] - (j == label)) * (p[j] - (j == label));
    out.brier += weight / rows.total() * brier;
    return log_sum - exponent;
  });
  for (const Bin& bin : of) out.calibration += std::abs(bin.sure - bin.right) / rows.total();
  return out;
}

// The log loss is convex in b = 1 / T: its slope is bisected. Scores are measured by the largest difference of two, so
// that their scale cannot overflow.
double calibrate(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y, int threads,
                 const std::vector<double>& weights) {
  const IeeeArithmetic ieee;
  KnownRows rows(predictor, X, y, weights, threads, X.rows());  // whose scores are looked at again and again
  const std::int64_t m = rows.m();
  double largest = 0.0;
  bool finite = true;
  rows.mean([&](const double* s, std::size_t label, double) {
    for (std::int64_t j = 0; j < m; ++j) {
      const double lead = std::abs(s[j] - s[label]);
      finite = finite && std::isfinite(lead);
      largest = std::max(largest, lead);
    }
    return 0.0;
  });
  if (!finite || !(largest >= std::numeric_limits<double>::min())) {
    fail(ErrorKind::data, "the model's scores say nothing about these rows: they are {}",
         finite ? "the same for all classes" : "too large");
  }
  const double other = 1.0 / (rows.total() + 2.0);  // that an example has another class
  std::vector<double> p(static_cast<std::size_t>(m));
  const auto slope = [&](double b) {
    return rows.mean([&](const double* s, std::size_t label, double) {
      std::copy_n(s, m, p.begin());
      make_exponents(p.data(), m, largest / b);
      soften(p.data(), m);
      double expected = 0.0, others = 0.0;
      for (std::size_t j = 0; j < p.size(); ++j) {
        const double lead = (s[j] - s[label]) / largest;
        expected += p[j] * lead;
        others += lead;
      }
      return expected - other * others / static_cast<double>(m - 1);
    });
  };
  double low = 1e-6, high = 1e6;
  if (!(slope(low) < 0.0)) {
    fail(ErrorKind::data,
         "the model's scores are no higher for the true classes of these rows than for others: no "
         "temperature makes probabilities of them");
  }
  for (int t = 0; t < 100 && high / low > 1.0 + 1e-12; ++t) {
    const double middle = std::sqrt(low * high);
    (slope(middle) < 0.0 ? low : high) = middle;
  }
  return std::clamp(largest / std::sqrt(low * high), std::numeric_limits<double>::min(),
                    std::numeric_limits<double>::max());
}

}  // namespace topwolf
