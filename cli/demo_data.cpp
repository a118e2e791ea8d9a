// class mean = base + 0.6 group + 0.35 class; row = mean + 0.8 noise, where the mean is with probability 0.3 that of a
// random class of its group; negatives set to 0, unit length. All vectors are standard normal.
#include "demo_data.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/rng.hpp"

namespace topwolf::cli {
namespace {

using Vector = std::vector<double>;

Vector normal_vector(Rng& rng) {
  Vector result(demo_features);
  std::generate(result.begin(), result.end(), [&] { return rng.normal(); });
  return result;
}

void add(Vector& to, double factor, const Vector& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

std::vector<Vector> class_means(Rng& rng) {
  const Vector base = normal_vector(rng);
  std::vector<Vector> means;
  for (std::int64_t group = 0; group < demo_groups; ++group) {
    Vector centre = base;
    add(centre, 0.6, normal_vector(rng));
    for (std::int64_t member = 0; member < demo_classes_a_group; ++member) {
      means.push_back(centre);
      add(means.back(), 0.35, normal_vector(rng));
    }
  }
  return means;
}

Vector draw_row(Rng& rng, const std::vector<Vector>& means, std::size_t label) {
  const std::size_t group = label / demo_classes_a_group;
  const bool confused = rng.uniform() < 0.3;
  const std::size_t source = confused ? group * demo_classes_a_group + rng.below(demo_classes_a_group) : label;
  Vector row = means[source];
  add(row, 0.8, normal_vector(rng));
  double square = 0.0;
  for (double& x : row) {
    x = std::max(x, 0.0);
    square += x * x;
  }
  for (double& x : row) x /= std::sqrt(square);
  return row;
}

Dataset draw_half(Rng& rng, const std::vector<Vector>& means) {
  Dataset half;
  half.classes.type = LabelType::integer;
  DenseStore<float> store;
  store.cols = demo_features;
  for (std::size_t label = 0; label < means.size(); ++label) {
    half.classes.names.push_back(std::to_string(label + 1));
    for (std::int64_t i = 0; i < demo_rows_a_class; ++i, ++store.rows) {
      const Vector row = draw_row(rng, means, label);
      store.values.insert(store.values.end(), row.begin(), row.end());
      half.y.push_back(static_cast<std::int32_t>(label));
    }
  }
  half.X = Features(FeatureStore(std::move(store)));
  return half;
}

}  // namespace

DemoData generate_demo_data(std::uint64_t seed) {
  Rng rng(seed);
  const std::vector<Vector> means = class_means(rng);
  DemoData data;
  data.train = draw_half(rng, means);
  data.test = draw_half(rng, means);
  return data;
}

}  // namespace topwolf::cli
