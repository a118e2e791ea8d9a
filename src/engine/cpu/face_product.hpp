// W(U) and its scores for a U with a fixed set of entries: the two products of conjugate gradients, in the precision
// that is computed with. The sums do not depend on the number of threads. Rows are as they are given: of dense ones a
// mean may be taken off (DenseRows); where it was not it is the business of whoever asks.
#pragma once

#include <memory>
#include <vector>

#include "core/aligned.hpp"
#include "engine/cpu/dense_rows.hpp"
#include "engine/host/block_scores.hpp"

namespace topwolf {

template <class T>
class FaceProduct {
 public:
  virtual ~FaceProduct() = default;

  // The entries that U has from now on; they stay where they are.
  virtual void set_entries(const EntryList& entries) = 0;

  // W(U) = sum_i omega_i u_i x_i^T / (lambda N), D2.
  virtual void weigh(const std::vector<double>& U) = 0;
  // In the layout of the working weights: (m x feature_pitch(D)) for dense features, (D x class_pitch(m)) for CSR.
  virtual const AlignedVector<T>& weights() const = 0;

  // The scores of the entries under weights in that layout.
  virtual void score(const AlignedVector<T>& weights, std::vector<double>& S) const = 0;
};

template <class T>
std::unique_ptr<FaceProduct<T>> make_face_product(const Problem& problem, const DenseRows& X, int threads);
template <class T>
std::unique_ptr<FaceProduct<T>> make_face_product(const Problem& problem, const CsrView<T>& X, int threads);

}  // namespace topwolf
