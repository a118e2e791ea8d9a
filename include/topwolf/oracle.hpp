// A loss of one's own, given by its oracle (ledger, L11; adding_a_loss.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace topwolf {

// A loss is a function of the violations z (m) of an example of class y: z_j = delta_j + s_j - s_y with the margins
// delta and the scores s, so that z_y = 0. It must be the largest of -<z, u> over a set of directions u (m) that has 0
// in it, where no direction is above 0 but at y, and each sums to 0: u_y is how much it pulls, -u_j how much of that on
// class j. Several threads ask at once. What it throws ends what was going on, and is thrown there.
//
// An oracle that is wrong makes a certificate that is wrong. It is tried on random violations before anything is done
// with it, and what it says is looked at all the time; neither proves it right.
class LossOracle {
 public:
  virtual ~LossOracle() = default;
  // What the loss is called in files and reports.
  virtual std::string name() const = 0;
  // No direction's u_y is above this.
  virtual double reach() const { return 1.0; }
  // The loss at z. Certificates rest on this.
  virtual double value(std::span<const double> z, std::int64_t y) const = 0;
  // A direction where -<z, u> is so large. All of u is 0 before.
  virtual void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const = 0;
  // The values of many examples, Z (rows x m), at once: whole passes ask so, which some answer more cheaply.
  virtual void values(std::span<const double> Z, std::span<const std::int64_t> y, std::span<double> out) const {
    const std::size_t m = Z.size() / y.size();
    for (std::size_t row = 0; row < y.size(); ++row) out[row] = value(Z.subspan(row * m, m), y[row]);
  }
  // Directions of many examples, into U (rows x m), all of which is 0 before.
  virtual void vertices(std::span<const double> Z, std::span<const std::int64_t> y, std::span<double> U) const {
    const std::size_t m = Z.size() / y.size();
    for (std::size_t row = 0; row < y.size(); ++row) vertex(Z.subspan(row * m, m), y[row], U.subspan(row * m, m));
  }
  // The point of the directions' convex hull that is nearest to a (m), into alpha (m), all of which is 0 before. False
  // where nobody knows how: it is then found from vertices, as exactly, in more time.
  virtual bool project(std::span<const double> /*a*/, std::int64_t /*y*/, std::span<double> /*alpha*/) const {
    return false;
  }
};

}  // namespace topwolf
