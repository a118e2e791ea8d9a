// Losses by their oracles: members of the families, which are known besides, and a hinge over groups of classes, which
// is none.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "loss/row.hpp"

namespace topwolf::testing {

// L1 and L2 in the words of an oracle; with a projection, or without.
class KnownOracle final : public LossOracle {
 public:
  using Project = std::vector<double> (*)(const Loss&, const std::vector<double>&, std::size_t);
  explicit KnownOracle(Loss known, Project projection = nullptr) : known_(std::move(known)), projection_(projection) {
    known_.smoothing = 0.0;
  }
  std::string name() const override { return "known"; }
  double reach() const override { return known_.rho_sum(); }
  double value(std::span<const double> z, std::int64_t) const override {
    std::vector<double> sorted(z.begin(), z.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    double sum = 0.0;
    for (std::size_t r = 0; r < known_.rho.size(); ++r) {
      sum += known_.rho[r] * (known_.family == Family::usunier ? std::max(0.0, sorted[r]) : sorted[r]);
    }
    return std::max(0.0, sum);
  }
  void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const override {
    if (!(value(z, y) > 0.0)) return;
    std::vector<std::size_t> order(z.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return z[a] > z[b]; });
    for (std::size_t r = 0; r < known_.rho.size(); ++r) {
      if (known_.family == Family::usunier && !(z[order[r]] > 0.0)) break;
      u[order[r]] -= known_.rho[r];
      u[static_cast<std::size_t>(y)] += known_.rho[r];
    }
  }
  bool project(std::span<const double> a, std::int64_t y, std::span<double> alpha) const override {
    if (!projection_) return false;
    const auto found = projection_(known_, {a.begin(), a.end()}, static_cast<std::size_t>(y));
    std::copy(found.begin(), found.end(), alpha.begin());
    return true;
  }
  const Loss& known() const { return known_; }

 private:
  Loss known_;
  Project projection_;
};

// What the library knows, as somebody's own projection.
inline std::vector<double> known_projection(const Loss& known, const std::vector<double>& a, std::size_t y) {
  RowScratch scratch;
  SparseRow alpha;
  project(known, a.data(), static_cast<std::int64_t>(a.size()), static_cast<std::int64_t>(y), alpha, scratch);
  std::vector<double> out(a.size(), 0.0);
  for (const auto& [j, value] : alpha) out[static_cast<std::size_t>(j)] = value;
  return out;
}

// Each group of classes has a hinge of its own, of its largest violation: sum_g w_g max(0, max of z_j over group g).
class GroupHinge final : public LossOracle {
 public:
  GroupHinge(std::vector<std::size_t> group, std::vector<double> weight)
      : group_(std::move(group)), weight_(std::move(weight)) {}
  std::string name() const override { return "group hinge"; }
  double reach() const override { return std::accumulate(weight_.begin(), weight_.end(), 0.0); }
  double value(std::span<const double> z, std::int64_t) const override {
    std::vector<double> worst(weight_.size(), 0.0);
    for (std::size_t j = 0; j < z.size(); ++j) worst[group_[j]] = std::max(worst[group_[j]], z[j]);
    return std::inner_product(worst.begin(), worst.end(), weight_.begin(), 0.0);
  }
  void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const override {
    std::vector<std::size_t> worst(weight_.size(), static_cast<std::size_t>(y));  // z_y is 0
    for (std::size_t j = 0; j < z.size(); ++j) {
      if (z[j] > z[worst[group_[j]]]) worst[group_[j]] = j;
    }
    for (std::size_t g = 0; g < worst.size(); ++g) {
      u[worst[g]] -= weight_[g];
      u[static_cast<std::size_t>(y)] += weight_[g];
    }
  }
  const std::vector<std::size_t>& group() const { return group_; }
  const std::vector<double>& weight() const { return weight_; }

 private:
  std::vector<std::size_t> group_;  // m
  std::vector<double> weight_;
};

// Where <beta, z> - sigma/2 (|beta|^2 + T^2), T = sum(beta), is largest over the group hinge's set, which beta does not
// leave: beta_j = z_j / sigma - T - the price of its group. z (m) and beta (m) are 0 at y.
inline std::vector<long double> group_maximiser(const GroupHinge& groups, const std::vector<long double>& z,
                                                std::size_t y, long double sigma) {
  using Real = long double;
  std::vector<Real> beta(z.size(), 0.0L);
  const auto in_group = [&](std::size_t j, std::size_t g) { return j != y && groups.group()[j] == g; };
  const auto fill = [&](Real T) {
    Real all = 0.0L;
    for (std::size_t g = 0; g < groups.weight().size(); ++g) {
      // The largest of a group gets `most`, the others less by as much as they are smaller: large parts never meet.
      Real top = -std::numeric_limits<Real>::infinity();
      for (std::size_t j = 0; j < z.size(); ++j) top = in_group(j, g) ? std::max(top, z[j]) : top;
      const auto filled = [&](Real most) {
        Real sum = 0.0L;
        for (std::size_t j = 0; j < z.size(); ++j) {
          if (in_group(j, g)) sum += beta[j] = std::max(0.0L, most + (z[j] - top) / sigma);
        }
        return sum;
      };
      const Real weight = groups.weight()[g];
      Real low = 0.0L, high = std::min(weight, top / sigma - T);
      Real sum = filled(high);
      for (int halving = 0; sum > weight && halving < 300; ++halving) {
        const Real middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        (filled(middle) > weight ? high : low) = middle;
      }
      all += sum > weight ? filled(low) : sum;  // within the weight, so that it is a point of the set
    }
    return all;
  };
  Real low = 0.0L, high = groups.reach() + 1.0L;
  for (int halving = 0; halving < 300; ++halving) {
    const Real middle = low + (high - low) / 2;
    (fill(middle) > middle ? low : high) = middle;
  }
  fill(high);
  return beta;
}

// What that is worth.
inline long double group_envelope(const GroupHinge& groups, const std::vector<long double>& z, std::size_t y,
                                  long double sigma) {
  const std::vector<long double> beta = group_maximiser(groups, z, y, sigma);
  long double linear = 0.0L, norm2 = 0.0L, sum = 0.0L;
  for (std::size_t j = 0; j < z.size(); ++j) {
    linear += beta[j] * z[j];
    norm2 += beta[j] * beta[j];
    sum += beta[j];
  }
  return linear - 0.5L * sigma * (norm2 + sum * sum);
}

// m classes in three groups, one of which has one class alone: the classes are not alike.
inline std::shared_ptr<const GroupHinge> three_groups(std::int64_t m) {
  std::vector<std::size_t> group;
  for (std::int64_t j = 0; j < m; ++j) group.push_back(j == 0 ? 0 : static_cast<std::size_t>(1 + j % 2));
  return std::make_shared<const GroupHinge>(std::move(group), std::vector<double>{0.5, 0.2, 0.3});
}

inline Loss loss_of_oracle(std::shared_ptr<const LossOracle> oracle, std::int64_t m, double smoothing = 0.0) {
  Loss loss;
  loss.rho = {oracle->reach()};
  loss.smoothing = smoothing;
  loss.oracle = std::move(oracle);
  loss.classes = m;
  return loss;
}

// The member of a family that it is, where it is one.
inline Loss known_as(const Loss& loss) {
  const auto* const known = dynamic_cast<const KnownOracle*>(loss.oracle.get());
  if (!known) return loss;
  Loss out = known->known();
  out.smoothing = loss.smoothing;
  return out;
}

// Null where it is none.
inline const GroupHinge* groups_of(const Loss& loss) {
  return dynamic_cast<const GroupHinge*>(loss.oracle.get());
}

}  // namespace topwolf::testing
