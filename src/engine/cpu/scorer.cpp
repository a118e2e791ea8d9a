// Dense panels are one product. A sparse row is a sum of rows of W^T, which is why the weights lie feature by
// feature there: all classes of a feature are neighbours.
#include "engine/cpu/scorer.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "engine/cpu/dense_rows.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

template <class R>
void panel_scores(const DenseRows& X, std::int64_t begin, std::int64_t end, const AlignedVector<R>& W, std::int64_t m,
                  std::int64_t pitch, R* S, AlignedVector<R>& scratch) {
  if (X.in_place<R>()) {
    return products(X.stored<R>() + begin * X.stride(), X.stride(), end - begin, W.data(), pitch, m, X.cols(), S, m);
  }
  // A few rows at a time, converted and at cache lines: both pay for the copy where there are some classes.
  constexpr std::int64_t step = 64;
  scratch.resize(static_cast<std::size_t>(std::min(step, end - begin) * pitch));
  for (std::int64_t from = begin; from < end; from += step) {
    const std::int64_t to = std::min(end, from + step);
    X.copy_rows(from, to, pitch, scratch.data());
    products(scratch.data(), pitch, to - from, W.data(), pitch, m, X.cols(), S + (from - begin) * m, m);
  }
}

template <class T, class R>
void panel_scores(const CsrView<T>& X, std::int64_t begin, std::int64_t end, const AlignedVector<R>& W, std::int64_t m,
                  std::int64_t pitch, R* S, AlignedVector<R>&) {
  for (std::int64_t i = begin; i < end; ++i) {
    const auto x = row_of(X, i);
    if constexpr (sizeof(T) > sizeof(R)) {
      fail(ErrorKind::internal, "scores of float64 sparse features were asked for in float32");
    } else {
      sparse_scores(x.value, x.columns, x.count, W.data(), pitch, m, S + (i - begin) * m);
    }
  }
}

}  // namespace

std::int64_t panel_rows(std::int64_t m) {
  return std::clamp<std::int64_t>((1 << 18) / m, 32, 512);
}

template <class R>
Scorer<R>::Scorer(const FeatureView& X, std::int64_t m, const Bias& bias, const double* mean)
    : X_(X), m_(m), bias_(bias), mean_(mean) {
  d_ = std::visit([](const auto& view) { return view.cols; }, X_);
  pitch_ = is_sparse(X_) ? class_pitch(m) : feature_pitch<R>(d_);
}

template <class R>
void Scorer<R>::set_weights(const double* W, int threads) {
  const std::int64_t D = d_ + bias_.columns();
  const bool sparse = is_sparse(X_);
  weights_.resize(static_cast<std::size_t>((sparse ? d_ : m_) * pitch_));
  constexpr std::int64_t strip = 1024;  // features per task
  parallel_for((d_ + strip - 1) / strip, threads, [&](std::int64_t task) {
    const std::int64_t from = task * strip, to = std::min(d_, from + strip);
    for (std::int64_t j = 0; j < m_; ++j) {
      const double* row = W + j * D;
      for (std::int64_t f = from; f < to; ++f) {
        weights_[static_cast<std::size_t>(sparse ? f * pitch_ + j : j * pitch_ + f)] = static_cast<R>(row[f]);
      }
    }
  });
  bias_scores_.assign(static_cast<std::size_t>(m_), R{0});
  bias_.add_scores(W + d_, D, m_, bias_scores_.data());
  if (!sparse || !mean_) return;
  parallel_for(m_, threads, [&](std::int64_t j) {
    const double* const w = W + j * D;
    bias_scores_[static_cast<std::size_t>(j)] -= static_cast<R>(std::inner_product(w, w + d_, mean_, 0.0));
  });
}

template <class R>
void Scorer<R>::scores(std::int64_t begin, std::int64_t end, R* S, AlignedVector<R>& scratch) const {
  std::visit(
      [&](const auto& X) {
        if constexpr (requires { X.row_begin; }) {
          panel_scores(X, begin, end, weights_, m_, pitch_, S, scratch);
        } else {
          panel_scores(DenseRows(X, mean_), begin, end, weights_, m_, pitch_, S, scratch);
        }
      },
      X_);
  // The constant feature is stored nowhere, and so is no part of the product.
  if (!bias_.given()) return;
  for (std::int64_t i = 0; i < end - begin; ++i) {
    for (std::int64_t j = 0; j < m_; ++j) S[i * m_ + j] += bias_scores_[static_cast<std::size_t>(j)];
  }
}

template class Scorer<float>;
template class Scorer<double>;

}  // namespace topwolf
