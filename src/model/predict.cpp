// Scores and the best classes of every row.

#include <algorithm>
#include <numeric>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "data/columns.hpp"
#include "engine/cpu/blas.hpp"
#include "engine/cpu/class_map.hpp"
#include "engine/cpu/scorer.hpp"
#include "model/check_model.hpp"
#include "topwolf/model.hpp"

namespace topwolf {
namespace {

void check_width(const Model& model, const Features& X) {
  if (X.cols() != model.d) {
    fail(ErrorKind::data, "the data has {} features, but the model was trained on {}", X.cols(), model.d);
  }
}

// Calls visit(i, s) for every row with its m scores in double.
template <class Visit>
void for_each_row(const Model& model, const Features& given, int threads, const Visit& visit) {
  check_width(model, given);
  const Features X = on_columns(given, model.columns);
  threads = resolve_threads(threads);
  SingleThreadedBlas blas;
  const std::int64_t n = X.rows(), m = model.m(), panel = panel_rows(m);
  Scorer<double> scorer(X.view(), m, model.bias);
  scorer.set_weights(model.W.data(), threads);
  parallel_for((n + panel - 1) / panel, threads, [&](std::int64_t p) {
    const std::int64_t begin = p * panel, end = std::min(n, begin + panel);
    std::vector<double> S(static_cast<std::size_t>((end - begin) * m)), scratch;
    scorer.scores(begin, end, S.data(), scratch);
    for (std::int64_t i = begin; i < end; ++i) visit(i, S.data() + (i - begin) * m);
  });
}

}  // namespace

Model with_classes(const Model& model, ClassList classes, Features class_features) {
  if (model.class_features.rows() == 0) {
    fail(ErrorKind::data, "the model has no class features; only with them can it score other classes");
  }
  if (class_features.cols() != model.class_features.cols()) {
    fail(ErrorKind::data, "the classes have {} features, but the model's have {}", class_features.cols(),
         model.class_features.cols());
  }
  if (class_features.rows() != classes.size()) {
    fail(ErrorKind::data, "there are features of {} classes, but {} classes", class_features.rows(), classes.size());
  }
  check_class_features(class_features, classes.size());
  Model out = model;
  out.classes = std::move(classes);
  out.class_features = std::move(class_features);
  ClassMap(out.class_features.view()).lift(out.V, out.W, resolve_threads(0));
  out.loss = {};
  out.certified = false;
  check_model(out, "the model");
  return out;
}

std::vector<double> decision_scores(const Model& model, const Features& X, int threads) {
  const std::int64_t m = model.m();
  std::vector<double> S(static_cast<std::size_t>(X.rows() * m));
  for_each_row(model, X, threads, [&](std::int64_t i, const double* s) { std::copy(s, s + m, S.data() + i * m); });
  return S;
}

TopK predict_top_k(const Model& model, const Features& X, std::int64_t k, int threads) {
  const std::int64_t m = model.m();
  if (k < 1 || k > m) fail(ErrorKind::data, "k is {}, but with {} classes it must be from 1 to {}", k, m, m);
  TopK top{k, std::vector<std::int32_t>(static_cast<std::size_t>(X.rows() * k)),
           std::vector<double>(static_cast<std::size_t>(X.rows() * k))};
  for_each_row(model, X, threads, [&](std::int64_t i, const double* s) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(m));
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [s](std::int32_t a, std::int32_t b) { return s[a] > s[b] || (s[a] == s[b] && a < b); });
    for (std::int64_t r = 0; r < k; ++r) {
      const auto at = static_cast<std::size_t>(i * k + r);
      top.classes[at] = order[static_cast<std::size_t>(r)];
      top.scores[at] = s[top.classes[at]];
    }
  });
  return top;
}

}  // namespace topwolf
