// An oracle on trial: random violations, among them ties, zeros and very small ones, and what L11 says must hold
// between its answers. That it passes proves nothing; most mistakes do not pass.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/fail.hpp"
#include "core/rng.hpp"
#include "loss/oracle.hpp"

namespace topwolf {
namespace {

constexpr int trials = 24;

using Vector = std::vector<double>;

double worth(const Vector& u, const Vector& z) {
  double sum = 0.0;
  for (std::size_t j = 0; j < z.size(); ++j) sum -= u[j] * z[j];
  return sum;
}

// What was asked for one class, and said.
struct Answer {
  Vector z, u;
  double value;
};

class Trial {
 public:
  Trial(const LossOracle& oracle, std::int64_t m) : m_(m), rng_(0x0ac1e) {
    // As row functions know it; it is not theirs to keep.
    loss_.oracle = std::shared_ptr<const LossOracle>(std::shared_ptr<const LossOracle>(), &oracle);
    loss_.rho = {oracle.reach()};
    loss_.classes = m;
  }

  void judge(std::int64_t y) {
    std::vector<Answer> answers;
    for (int trial = 0; trial < trials; ++trial) {
      answers.push_back(ask(random_violations(trial, y), y));
      for (const Answer& earlier : answers) {
        compare(earlier.u, answers.back(), y);
        compare(answers.back().u, earlier, y);
      }
      if (trial > 0) look_between(answers[answers.size() - 2], answers.back(), y);
    }
    // Of points that are not so far that rounding is all there is to see.
    for (int trial = 0; trial < trials / 4; ++trial) look_at_projection(random_violations(trial % 4, y), y);
  }

  // Examples of many labels at once, as passes ask, are answered as each by itself.
  void judge_panel() {
    std::vector<std::int64_t> y;
    Vector Z;
    for (int row = 0; row < trials; ++row) {
      y.push_back((7 * row + row / 3) % m_);
      const Vector z = random_violations(row, y.back());
      Z.insert(Z.end(), z.begin(), z.end());
    }
    Vector values(y.size(), 0.0), U(Z.size(), 0.0);
    loss_.oracle->values(Z, y, values);
    loss_.oracle->vertices(Z, y, U);
    for (std::size_t row = 0; row < y.size(); ++row) {
      const auto at = static_cast<std::ptrdiff_t>(row) * m_;
      at_.z.assign(Z.begin() + at, Z.begin() + at + m_);
      const double alone = ask_value(loss_, y[row], at_);
      const double achieved = worth({U.begin() + at, U.begin() + at + m_}, at_.z);
      const double close = 2.0 * rounding_at(loss_, at_.z);
      if (!(std::abs(values[row] - alone) <= close) || !(std::abs(achieved - alone) <= close)) {
        refuse(
            "asked for {} examples at once it says {:.9g} of one whose label is {}, with a vertex worth {:.9g}, but "
            "{:.9g} when asked for that one alone",
            y.size(), values[row], y[row], achieved, alone);
      }
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::option, "the oracle of the loss {} is wrong: {}", loss_.oracle->name(),
         fmt::format(format, std::forward<Args>(args)...));
  }
  // What sums of such violations may be off by.
  double allowed(const Vector& z) const { return honest_share * loss_.rho.front() * largest_size(z); }

  Vector random_violations(int trial, std::int64_t y) {
    Vector z(static_cast<std::size_t>(m_), 0.0);
    const int kind = trial % 6;
    const double scale = kind == 4 ? 1e-9 : kind == 5 ? 1e9 : 1.0;
    for (double& x : z) {
      x = scale * rng_.normal();
      if (kind == 1) x = static_cast<double>(rng_.below(3)) - 1.0;  // ties
      if (kind == 2) x -= 2.0;                                      // few above 0
      if (kind == 3 && rng_.uniform() < 0.7) x = 0.0;
    }
    if (trial == 6) std::fill(z.begin(), z.end(), 0.0);
    z[static_cast<std::size_t>(y)] = 0.0;
    return z;
  }

  Answer ask(Vector z, std::int64_t y) {
    at_.z = std::move(z);
    const double value = ask_value(loss_, y, at_);
    const double achieved = ask_vertex(loss_, y, at_);
    // No more than a certificate counts for it.
    if (!(std::abs(value - achieved) <= 2.0 * rounding_at(loss_, at_.z))) {
      refuse("its value is {:.9g} where the label is {}, but its vertex there is worth {:.9g}", value, y, achieved);
    }
    return {at_.z, at_.u, value};
  }

  // No direction is worth more anywhere than the value there.
  void compare(const Vector& u, const Answer& answer, std::int64_t y) const {
    const double other = worth(u, answer.z);
    if (!(other <= answer.value + allowed(answer.z))) {
      refuse("its value is {:.9g} where the label is {}, but a vertex that it named elsewhere is worth {:.9g} there",
             answer.value, y, other);
    }
  }

  void look_between(const Answer& a, const Answer& b, std::int64_t y) {
    const double part = rng_.uniform();
    at_.z.resize(a.z.size());
    for (std::size_t j = 0; j < a.z.size(); ++j) at_.z[j] = part * a.z[j] + (1.0 - part) * b.z[j];
    const double between = ask_value(loss_, y, at_), line = part * a.value + (1.0 - part) * b.value;
    if (!(between <= line + allowed(a.z) + allowed(b.z))) {
      refuse("it is not convex: {:.9g} between {:.9g} and {:.9g} where the label is {}", between, a.value, b.value, y);
    }
  }

  // p is the nearest point to a if it lies in the set and no direction leads on from it towards a.
  void look_at_projection(const Vector& a, std::int64_t y) {
    Vector p(a.size(), 0.0);
    if (!loss_.oracle->project(a, y, p)) return;
    for (const double x : p) {
      if (!std::isfinite(x)) refuse("its projection has {} where the label is {}", x, y);
    }
    const double reach = loss_.rho.front();
    at_.target = p;
    find_nearest(loss_, y, at_);
    const double apart = largest_size(at_.residual);
    if (!(apart <= 1e-7 * reach)) {
      refuse("its projection is outside of its set by {:.3g} where the label is {}", apart, y);
    }
    double size = 0.0, further = 0.0;
    at_.residual = a;
    for (std::size_t j = 0; j < a.size(); ++j) at_.residual[j] -= p[j];
    const double own = at_.residual[static_cast<std::size_t>(y)];
    at_.z.resize(a.size());
    for (std::size_t j = 0; j < a.size(); ++j) {
      at_.z[j] = own - at_.residual[j];
      size = std::max(size, std::abs(at_.z[j]));
    }
    ask_vertex(loss_, y, at_);
    for (std::size_t j = 0; j < a.size(); ++j) further += at_.residual[j] * (at_.u[j] - p[j]);
    if (!(further <= 1e-7 * reach * (size + reach))) {
      refuse("its projection is not the nearest point of its set where the label is {}", y);
    }
  }

  const std::int64_t m_;
  Rng rng_;
  Loss loss_;
  OracleScratch at_;
};

}  // namespace

void check_oracle(const LossOracle& oracle, std::int64_t m) {
  const double reach = oracle.reach();
  constexpr double least = 1e-100, most = 1e100;
  if (!(reach >= least && reach <= most)) {
    fail(ErrorKind::option, "the reach of the loss {} is {}, but it must be between {} and {}", oracle.name(), reach,
         least, most);
  }
  Trial trial(oracle, m);
  Rng rng(1);
  std::set<std::int64_t> labels{0, m - 1};
  for (int more = 0; more < 4; ++more)
    labels.insert(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(m))));
  for (const std::int64_t y : labels) trial.judge(y);
  trial.judge_panel();
}

}  // namespace topwolf
