// Class features: psi(x, j) = phi_j (x) x with phi (m x p), so that the weights are V (p x D) and the scores those of
// W = phi V (m x D). Everything for W is there already; phi stands before and behind it (ledger, M1).
#pragma once

#include <cstdint>
#include <vector>

#include "loss/row.hpp"

namespace topwolf {

class ClassMap {
 public:
  // phi in float64, dense or sparse; copied.
  explicit ClassMap(const FeatureView& phi);

  std::int64_t m() const { return m_; }
  std::int64_t p() const { return p_; }
  double longest2() const;  // max_j ||phi_j||^2
  double coupling() const;  // the norm of phi phi^T is at most this times longest2()

  // W = phi V: (m x D) from (p x D).
  void lift(const std::vector<double>& V, std::vector<double>& W, int threads) const;
  // V = phi^T W: (p x D) from (m x D).
  void reduce(const std::vector<double>& W, std::vector<double>& V, int threads) const;
  // Makes couple() and spread() fast, which block ascent asks for all the time.
  void prepare_products();
  // Rows of m numbers, each multiplied with phi phi^T in place. `scratch` is the caller's.
  void couple(std::vector<double>& rows, std::vector<double>& scratch) const;
  // scores (m) = phi phi^T change.
  void spread(RowView change, std::vector<double>& scores, std::vector<double>& scratch) const;

 private:
  // Calls body(j, c, phi_jc) for the non-zeros, row by row.
  template <class Body>
  void for_stored(const Body& body) const {
    for (std::int64_t j = 0; j < m_; ++j) {
      for (std::int64_t e = begin_[static_cast<std::size_t>(j)]; e < begin_[static_cast<std::size_t>(j) + 1]; ++e) {
        body(j, std::int64_t{column_[static_cast<std::size_t>(e)]}, value_[static_cast<std::size_t>(e)]);
      }
    }
  }

  std::int64_t m_, p_;
  std::vector<std::int64_t> begin_;  // m + 1: the non-zeros of phi_j are [begin_[j], begin_[j + 1])
  std::vector<std::int32_t> column_;
  std::vector<double> value_;
  std::vector<double> dense_, transposed_;  // (m x p) and (p x m), where there are few zeros; else empty
  std::vector<double> G_;                   // phi phi^T (m x m), where that is less work than phi and phi^T; else empty
};

// Whether phi is the identity, which is the plain problem.
bool is_identity(const FeatureView& phi);

}  // namespace topwolf
