// RapidCheck generators of one example: a loss, scores, margins and a label, with ties and zeros on purpose.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <functional>

#include "support/plain.hpp"

namespace topwolf::testing {

struct RowCase {
  Loss loss;
  std::vector<double> s;
  std::vector<double> delta;
  std::size_t y = 0;
  std::size_t m() const { return s.size(); }
};

// Multiples of 1/4 now and then, so that ties happen.
inline rc::Gen<double> number(double size) {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(-1000000, 1000000), rc::gen::inRange(0, 3)), [size](auto p) {
    const double x = p.first * 1e-6 * size;
    return p.second == 0 ? std::round(4.0 * x / size) * size / 4.0 : x;
  });
}

inline Loss random_loss(std::size_t m) {
  Loss loss;
  loss.family = *rc::gen::element(Family::usunier, Family::top_k);
  const auto K = *rc::gen::inRange<std::size_t>(1, m);
  loss.rho.assign(K, 1.0 / static_cast<double>(K));
  if (*rc::gen::arbitrary<bool>()) {
    for (double& weight : loss.rho) weight = 0.01 + std::abs(*number(1.0));
    std::sort(loss.rho.begin(), loss.rho.end(), std::greater<>());
  }
  return loss;
}

inline std::vector<double> numbers(std::size_t count, double size) {
  return *rc::gen::container<std::vector<double>>(count, number(size));
}

inline RowCase random_row(double size = 2.0) {
  RowCase row;
  const auto m = *rc::gen::inRange<std::size_t>(2, 12);
  row.loss = random_loss(m);
  row.y = *rc::gen::inRange<std::size_t>(0, m);
  row.s = numbers(m, size);
  row.delta = plain::unit_margins(m, row.y);
  if (*rc::gen::arbitrary<bool>()) {
    for (double& margin : row.delta) margin = std::abs(*number(2.0));
    row.delta[row.y] = 0.0;
  }
  return row;
}

}  // namespace topwolf::testing
