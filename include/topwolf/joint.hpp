// Training with any joint feature map: s_ij = <psi(x_i, j), w> for a psi that the caller writes (structured.md).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topwolf/dataset.hpp"
#include "topwolf/options.hpp"
#include "topwolf/result.hpp"
#include "topwolf/train.hpp"

namespace topwolf {

// n examples, m classes, psi(x_i, j) in R^P, known by two verbs, which several threads call at once.
template <class Psi>
concept JointFeatureMap = requires(const Psi& psi, std::int64_t i, std::span<const double> w, std::span<double> s,
                                   std::span<const Entry> alpha, std::span<double> sum) {
  { psi.examples() } -> std::convertible_to<std::int64_t>;   // n
  { psi.classes() } -> std::convertible_to<std::int64_t>;    // m
  { psi.dimension() } -> std::convertible_to<std::int64_t>;  // P
  psi.scores(i, w, s);                                       // s_j = <psi(x_i, j), w> for all j
  psi.accumulate(i, alpha, sum);  // sum += sum_j alpha_j psi(x_i, j), a number of psi(x_i, j) in one addition
};

// It may also say how long its vectors are; else that is found out with the two verbs, n m times each.
template <class Psi>
concept KnowsLengths = requires(const Psi& psi, std::int64_t i) {
  { psi.squared_length(i) } -> std::convertible_to<double>;  // at least max_j ||psi(x_i, j)||^2
};

// The same as the solvers see it.
class JointMap {
 public:
  virtual ~JointMap() = default;
  // n
  virtual std::int64_t examples() const = 0;
  // m
  virtual std::int64_t classes() const = 0;
  // P
  virtual std::int64_t dimension() const = 0;
  // s_j = <psi(x_i, j), w> for all j.
  virtual void scores(std::int64_t i, std::span<const double> w, std::span<double> s) const = 0;
  // sum += sum_j alpha_j psi(x_i, j).
  virtual void accumulate(std::int64_t i, std::span<const Entry> alpha, std::span<double> sum) const = 0;
  // At least max_j ||psi(x_i, j)||^2; none: the solvers find out.
  virtual std::optional<double> squared_length(std::int64_t i) const = 0;
};

// What is not yet a JointMap.
template <class Psi>
concept BareJointFeatureMap = JointFeatureMap<Psi> && !std::derived_from<Psi, JointMap>;

// A psi, which must outlive this, as the solvers see it.
template <BareJointFeatureMap Psi>
class JointMapOf final : public JointMap {
 public:
  // Of a caller's psi.
  explicit JointMapOf(const Psi& psi) : psi_(psi) {}
  std::int64_t examples() const override { return psi_.examples(); }
  std::int64_t classes() const override { return psi_.classes(); }
  std::int64_t dimension() const override { return psi_.dimension(); }
  void scores(std::int64_t i, std::span<const double> w, std::span<double> s) const override { psi_.scores(i, w, s); }
  void accumulate(std::int64_t i, std::span<const Entry> alpha, std::span<double> sum) const override {
    psi_.accumulate(i, alpha, sum);
  }
  std::optional<double> squared_length(std::int64_t i) const override {
    if constexpr (KnowsLengths<Psi>) return psi_.squared_length(i);
    return std::nullopt;
  }

 private:
  const Psi& psi_;
};

// A psi that is given as numbers: row i m + j of a matrix (n m x P) is psi(x_i, j).
class JointTensor {
 public:
  // Throws Error{data} unless the rows are a multiple of m.
  JointTensor(Features rows, std::int64_t m);
  // n
  std::int64_t examples() const { return rows_.rows() / m_; }
  // m
  std::int64_t classes() const { return m_; }
  // P
  std::int64_t dimension() const { return rows_.cols(); }
  // As JointFeatureMap says.
  void scores(std::int64_t i, std::span<const double> w, std::span<double> s) const;
  // As JointFeatureMap says.
  void accumulate(std::int64_t i, std::span<const Entry> alpha, std::span<double> sum) const;
  // As KnowsLengths says.
  double squared_length(std::int64_t i) const;

 private:
  Features rows_;
  std::int64_t m_;
};

// What belongs to the examples besides psi.
struct JointLabels {
  std::vector<std::int32_t> y;  // n class numbers in 0 .. m-1
  std::vector<double> weights;  // omega, n; empty: every weight is 1
  Margins margins;              // where the loss has no cost matrix
};

// How training with a psi ended, and the weights that it is about.
struct JointResult : Outcome {
  std::vector<double> w;            // P
  std::vector<std::int32_t> ranks;  // at w, how many classes come before each example's own
  std::string choice;               // which solver, and why
  SparseRows dual;                  // A (n x m), with TrainOptions::keep_dual
};

// All solvers, all losses, the same certificate. The options for a bias, for where scores come from and for checkpoints
// are refused: psi has its own constant features, and nobody else knows it.
JointResult train_joint(const JointMap& psi, const JointLabels& labels, const TrainOptions& options = {},
                        const Observer& observer = {});

// The same for a psi that is no JointMap yet.
template <BareJointFeatureMap Psi>
JointResult train_joint(const Psi& psi, const JointLabels& labels, const TrainOptions& options = {},
                        const Observer& observer = {}) {
  const JointMapOf<Psi> map(psi);
  return train_joint(static_cast<const JointMap&>(map), labels, options, observer);
}

// S (n x m), row-major.
std::vector<double> joint_scores(const JointMap& psi, const std::vector<double>& w, int threads = 0);

// The same for a psi that is no JointMap yet.
template <BareJointFeatureMap Psi>
std::vector<double> joint_scores(const Psi& psi, const std::vector<double>& w, int threads = 0) {
  const JointMapOf<Psi> map(psi);
  return joint_scores(static_cast<const JointMap&>(map), w, threads);
}

}  // namespace topwolf
