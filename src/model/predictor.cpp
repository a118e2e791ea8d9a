// Scores and the best classes of rows. Weights lie in tiles of up to 32 classes, feature by feature, so that a dense
// row reads them in one stream and a sparse one finds those of a feature side by side. Every score is one sum in double
// over the features in their order (kernels/tile_scores, kernels/sparse_scores), so that rows and classes may be shared
// out among threads in any way without a change of a bit. No BLAS, which would pack the weights at every call.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <variant>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "data/columns.hpp"
#include "data/rows.hpp"
#include "data/window.hpp"
#include "kernels/typed.hpp"
#include "model/check_model.hpp"
#include "model/soften.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

// W in tiles: that of classes [j, j + w) begins at j * features, and feature f is its w numbers from f * w on. w is
// tile_width, in the last tile what is left, rounded up to whole vectors.
template <class T>
class Tiles {
 public:
  Tiles(std::int64_t pitch, std::int64_t features)
      : pitch_(pitch), features_(features), data_(allocate(pitch * features)) {}

  std::int64_t width(std::int64_t j) const { return std::min(tile_width, pitch_ - j); }
  T* tile(std::int64_t j) { return data_.get() + j * features_; }
  const T* tile(std::int64_t j) const { return data_.get() + j * features_; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };
  // Whole cache lines: a vector that straddles two of them costs two loads.
  static constexpr std::align_val_t alignment{64};
  static T* allocate(std::int64_t count) {
    return static_cast<T*>(
        ::operator new(static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(T), alignment));
  }

  std::int64_t pitch_, features_;
  std::unique_ptr<T, Free> data_;
};

namespace {

// W: (m x D). The constant feature, where there is one, is left out.
template <class T>
Tiles<T> tiles_of(const Classifier& classifier, int threads) {
  const std::int64_t m = classifier.m(), D = classifier.D(), features = classifier.width();
  Tiles<T> out(class_pitch(m), features);
  const std::int64_t count = (class_pitch(m) + tile_width - 1) / tile_width;
  constexpr std::int64_t strip = 256;  // features whose lines stay in a cache while all classes of a tile pass by
  const std::int64_t strips = (features + strip - 1) / strip;
  parallel_for(count * strips, threads, [&](std::int64_t task) {
    const std::int64_t j = task / strips * tile_width, from = task % strips * strip;
    const std::int64_t width = out.width(j), to = std::min(features, from + strip);
    T* const tile = out.tile(j);
    for (std::int64_t c = 0; c < width; ++c) {
      const double* const w = classifier.W.data() + (j + c) * D;
      for (std::int64_t f = from; f < to; ++f) tile[f * width + c] = j + c < m ? static_cast<T>(w[f]) : T{0};
    }
  });
  return out;
}

// Whether the weights of the features are float32 values; an intercept need not be.
bool all_float32(const Classifier& classifier) {
  constexpr double most = std::numeric_limits<float>::max();
  for (std::int64_t j = 0; j < classifier.m(); ++j) {
    const double* const w = classifier.W.data() + j * classifier.D();
    const auto exact = [](double x) { return std::abs(x) <= most && static_cast<double>(static_cast<float>(x)) == x; };
    if (!std::all_of(w, w + classifier.width(), exact)) return false;
  }
  return true;
}

// ---- Rows

template <class T>
FeatureStore copy_of(const DenseView<T>& X) {
  DenseStore<T> store{std::vector<T>(static_cast<std::size_t>(X.rows * X.cols)), X.rows, X.cols};
  for (std::int64_t i = 0; i < X.rows; ++i) {
    std::copy_n(X.data + i * X.stride, X.cols, store.values.begin() + i * X.cols);
  }
  return store;
}

template <class T>
FeatureStore copy_of(const CsrView<T>& X) {
  const std::int64_t first = X.row_begin[0], last = X.row_begin[X.rows];
  CsrStore<T> store{{}, {X.column + first, X.column + last}, {X.value + first, X.value + last}, X.rows, X.cols};
  for (std::int64_t i = 0; i <= X.rows; ++i) store.row_begin.push_back(X.row_begin[i] - first);
  return store;
}

// What X stores: the multiplications of one class.
template <class T>
std::int64_t stored_in(const DenseView<T>& X) {
  return X.rows * X.cols;
}
template <class T>
std::int64_t stored_in(const CsrView<T>& X) {
  return X.rows > 0 ? X.row_begin[X.rows] - X.row_begin[0] : 0;
}

// ---- Products: S (rows x pitch), 0 before, on the classes [from, to) of whole tiles

template <class T, class W>
void add_products(const DenseView<T>& X, const Tiles<W>& weights, std::int64_t from, std::int64_t to, double* S,
                  std::int64_t pitch) {
  std::vector<double> block(static_cast<std::size_t>(X.rows * score_depth));
  for (std::int64_t f = 0; f < X.cols; f += score_depth) {
    const std::int64_t cols = std::min(score_depth, X.cols - f);
    for (std::int64_t i = 0; i < X.rows; ++i) {
      copy_numbers(X.data + i * X.stride + f, cols, block.data() + i * score_depth);
    }
    for (std::int64_t j = from; j < to; j += tile_width) {
      const std::int64_t width = weights.width(j);
      tile_scores(block.data(), X.rows, cols, weights.tile(j) + f * width, width, S + j, pitch);
    }
  }
}

template <class T, class W>
void add_products(const CsrView<T>& X, const Tiles<W>& weights, std::int64_t from, std::int64_t to, double* S,
                  std::int64_t pitch) {
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const std::int64_t first = X.row_begin[i], count = X.row_begin[i + 1] - first;
    for (std::int64_t j = from; j < to; j += tile_width) {
      const std::int64_t width = weights.width(j);
      sparse_scores(X.value + first, X.column + first, count, weights.tile(j), width, width, S + i * pitch + j);
    }
  }
}

// The k best of s (m), best first; ties to the lower class, and what is not a number comes last.
void best_of(const double* s, std::int64_t m, std::int64_t k, std::vector<std::int32_t>& picked) {
  double least = -std::numeric_limits<double>::infinity();
  if (k <= key_lanes) kernels().bound(s, m, k, &least);
  picked.resize(static_cast<std::size_t>(m));
  picked.resize(static_cast<std::size_t>(kernels().pick(s, m, least, picked.data())));
  const auto ranked = std::min(k, static_cast<std::int64_t>(picked.size()));
  std::partial_sort(picked.begin(), picked.begin() + ranked, picked.end(),
                    [s](std::int32_t a, std::int32_t b) { return s[a] > s[b] || (s[a] == s[b] && a < b); });
  for (std::int32_t j = 0; static_cast<std::int64_t>(picked.size()) < k; ++j) {
    if (s[j] != s[j]) picked.push_back(j);
  }
}

}  // namespace

struct Predictor::Prepared {
  Prepared(const Classifier& classifier, Rows rows, int threads)
      : d(classifier.d),
        m(classifier.m()),
        pitch(class_pitch(m)),
        temperature(classifier.temperature),
        columns(classifier.columns),
        weights(all_float32(classifier) ? Weights(tiles_of<float>(classifier, threads))
                                        : Weights(tiles_of<double>(classifier, threads))) {
    if (rows == Rows::raw) normalization = classifier.normalization;
    if (classifier.bias == 0.0) return;
    const std::int64_t D = classifier.D();
    for (std::int64_t j = 0; j < m; ++j) {
      intercepts.push_back(classifier.bias * classifier.W[static_cast<std::size_t>((j + 1) * D - 1)]);
    }
  }

  // Rows [begin, end) as they meet the weights: where they lie, or a copy that is normalised and has only the columns
  // with weights.
  Features rows_of(const Features& X, std::int64_t begin, std::int64_t end) const {
    const FeatureView part = rows_between(X.view(), begin, end);
    if (normalization.kind == NormalizeKind::none && columns.empty()) return Features(part);
    FeatureStore store = std::visit([](const auto& view) { return copy_of(view); }, part);
    apply_normalization(normalization, store);
    return on_columns(Features(std::move(store)), columns);
  }

  void score(const Features& rows, std::int64_t from, std::int64_t to, double* S) const {
    std::visit([&](const auto& X, const auto& W) { add_products(X, W, from, to, S, pitch); }, rows.view(), weights);
    for (std::int64_t i = 0; !intercepts.empty() && i < rows.rows(); ++i) {
      for (std::int64_t j = from; j < std::min(to, m); ++j) S[i * pitch + j] += intercepts[static_cast<std::size_t>(j)];
    }
  }

  template <class Visit>
  void for_rows(const Features& X, int threads, const Visit& visit) const;
  template <class Visit>
  void for_rows_in_memory(const Features& X, int threads, const Visit& visit) const;

  // values(s): what is told of the best, class by class, from the scores s (m).
  template <class Values>
  TopK top_k(const Features& X, std::int64_t k, int threads, const Values& values) const {
    if (k < 1 || k > m) fail(ErrorKind::data, "k is {}, but with {} classes it must be from 1 to {}", k, m, m);
    TopK top{k, std::vector<std::int32_t>(static_cast<std::size_t>(X.rows() * k)),
             std::vector<double>(static_cast<std::size_t>(X.rows() * k))};
    for_rows(X, threads, [&](std::int64_t i, const double* s) {
      std::vector<std::int32_t> picked;
      best_of(s, m, k, picked);
      const auto told = values(s);
      for (std::int64_t r = 0; r < k; ++r) {
        const auto at = static_cast<std::size_t>(i * k + r);
        top.classes[at] = picked[static_cast<std::size_t>(r)];
        top.scores[at] = told[static_cast<std::size_t>(top.classes[at])];
      }
    });
    return top;
  }

  void check_temperature() const {
    if (temperature > 0.0) return;
    fail(
        ErrorKind::data,
        "the model gives no probabilities: its loss is not softmax, and it was not calibrated (topwolf calibrate); for "
        "other classes than its own none does");
  }

  using Weights = std::variant<Tiles<float>, Tiles<double>>;

  std::int64_t d, m, pitch;
  double temperature;
  Normalization normalization;  // still to be applied
  std::vector<std::int32_t> columns;
  std::vector<double> intercepts;  // m, or none
  Weights weights;                 // of the features in `columns`
};

// Calls visit(i, s) for every row with its m scores. Panels of rows are tasks; where there are few of them, so are
// parts of the classes.
template <class Visit>
void Predictor::Prepared::for_rows(const Features& X, int threads, const Visit& visit) const {
  if (X.cols() != d) {
    fail(ErrorKind::data, "the data has {} features, but the model was trained on {}", X.cols(), d);
  }
  for_windows(X, resolve_threads(threads), [&](std::int64_t first, const FeatureView& rows) {
    for_rows_in_memory(Features(rows), threads, [&](std::int64_t i, const double* s) { visit(first + i, s); });
  });
}

template <class Visit>
void Predictor::Prepared::for_rows_in_memory(const Features& X, int threads, const Visit& visit) const {
  const std::int64_t n = X.rows();
  if (n == 0) return;
  // A few rows wait for the weights to come from memory, which takes as long as the products of several.
  constexpr std::int64_t few_rows = 8;
  const auto stored = static_cast<double>(std::visit([](const auto& view) { return stored_in(view); }, X.view()));
  const double waiting = static_cast<double>(std::max(n, few_rows)) / static_cast<double>(n);
  threads = threads_worth(waiting * stored * static_cast<double>(m), resolve_threads(threads));
  // Enough rows to pay for reading the weights, and scores that fit a cache.
  const std::int64_t most = std::clamp<std::int64_t>((1 << 18) / m, 48, 192), tasks = 2 * threads;
  const std::int64_t panels = (n + most - 1) / most, panel = (n + panels - 1) / panels;
  const std::int64_t tiles = (pitch + tile_width - 1) / tile_width;
  const std::int64_t parts = threads == 1 ? 1 : std::clamp<std::int64_t>((tasks + panels - 1) / panels, 1, tiles);
  if (parts == 1) {
    parallel_for(panels, threads, [&](std::int64_t p) {
      const std::int64_t begin = p * panel, end = std::min(n, begin + panel);
      std::vector<double> S(static_cast<std::size_t>((end - begin) * pitch));
      score(rows_of(X, begin, end), 0, pitch, S.data());
      for (std::int64_t i = begin; i < end; ++i) visit(i, S.data() + (i - begin) * pitch);
    });
    return;
  }
  std::vector<double> S(static_cast<std::size_t>(n * pitch));
  parallel_for(panels * parts, threads, [&](std::int64_t task) {
    const std::int64_t begin = task / parts * panel, part = task % parts;
    const std::int64_t from = part * tiles / parts * tile_width, to = (part + 1) * tiles / parts * tile_width;
    score(rows_of(X, begin, std::min(n, begin + panel)), from, std::min(to, pitch), S.data() + begin * pitch);
  });
  for (std::int64_t i = 0; i < n; ++i) visit(i, S.data() + i * pitch);
}

Predictor::Predictor(const Classifier& classifier, Rows rows, int threads) {
  const IeeeArithmetic ieee;
  check_classifier(classifier, "the classifier");
  prepared_ = std::make_shared<const Prepared>(classifier, rows, resolve_threads(threads));
}

std::int64_t Predictor::d() const {
  return prepared_->d;
}

std::int64_t Predictor::m() const {
  return prepared_->m;
}

std::vector<double> Predictor::scores(const Features& X, int threads) const {
  std::vector<double> S(static_cast<std::size_t>(X.rows() * m()));
  scores_into(X, S.data(), threads);
  return S;
}

void Predictor::scores_into(const Features& X, double* S, int threads) const {
  const IeeeArithmetic ieee;
  prepared_->for_rows(X, threads, [S, m = m()](std::int64_t i, const double* s) { std::copy(s, s + m, S + i * m); });
}

TopK Predictor::top_k(const Features& X, std::int64_t k, int threads) const {
  const IeeeArithmetic ieee;
  return prepared_->top_k(X, k, threads, [](const double* s) { return s; });
}

double Predictor::temperature() const {
  return prepared_->temperature;
}

void Predictor::probabilities_into(const Features& X, double* P, int threads) const {
  const IeeeArithmetic ieee;
  prepared_->check_temperature();
  prepared_->for_rows(X, threads, [P, this](std::int64_t i, const double* s) {
    double* const p = P + i * m();
    std::copy(s, s + m(), p);
    make_exponents(p, m(), temperature());
    soften(p, m());
  });
}

TopK Predictor::likeliest(const Features& X, std::int64_t k, int threads) const {
  const IeeeArithmetic ieee;
  prepared_->check_temperature();
  return prepared_->top_k(X, k, threads, [this](const double* s) {
    std::vector<double> p(s, s + m());
    make_exponents(p.data(), m(), temperature());
    soften(p.data(), m());
    return p;
  });
}

std::vector<std::int32_t> Predictor::predict(const Features& X, int threads) const {
  return top_k(X, 1, threads).classes;
}

}  // namespace topwolf
