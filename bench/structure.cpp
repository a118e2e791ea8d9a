// Training on one set in three ways that have the same optimum or the same rows: the plain problem, class features, and
// the plain problem as a psi that somebody wrote. One JSON line each.
// Usage: bench_structure FEATURES.npy LABELS.npy LOSS C TOLERANCE
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <topwolf/topwolf.hpp>
#include <variant>
#include <vector>

namespace {

using topwolf::Dataset;
using topwolf::Entry;

// psi(x, j) = e_j (x) x, by the plainest loops.
class Kronecker {
 public:
  explicit Kronecker(const Dataset& data)
      : X_(std::get<topwolf::DenseView<float>>(data.X.view())), m_(data.classes.size()) {}
  std::int64_t examples() const { return X_.rows; }
  std::int64_t classes() const { return m_; }
  std::int64_t dimension() const { return m_ * X_.cols; }
  void scores(std::int64_t i, std::span<const double> w, std::span<double> s) const {
    const float* x = X_.data + i * X_.stride;
    for (std::int64_t j = 0; j < m_; ++j) {
      const double* row = w.data() + j * X_.cols;
      double sum = 0.0;
      for (std::int64_t f = 0; f < X_.cols; ++f) sum += row[f] * static_cast<double>(x[f]);
      s[static_cast<std::size_t>(j)] = sum;
    }
  }
  void accumulate(std::int64_t i, std::span<const Entry> alpha, std::span<double> sum) const {
    const float* x = X_.data + i * X_.stride;
    for (const auto& [j, a] : alpha) {
      double* row = sum.data() + j * X_.cols;
      for (std::int64_t f = 0; f < X_.cols; ++f) row[f] += a * static_cast<double>(x[f]);
    }
  }
  double squared_length(std::int64_t i) const {
    double sum = 0.0;
    for (std::int64_t f = 0; f < X_.cols; ++f)
      sum += static_cast<double>(X_.data[i * X_.stride + f]) * X_.data[i * X_.stride + f];
    return sum;
  }

 private:
  topwolf::DenseView<float> X_;
  std::int64_t m_;
};

void print(const std::string& way, double seconds, std::int64_t iterations, const topwolf::Certificate& at) {
  std::printf("{\"way\": \"%s\", \"seconds\": %.4f, \"iterations\": %lld, \"primal\": %.8g, \"relative_gap\": %.3g}\n",
              way.c_str(), seconds, static_cast<long long>(iterations), at.primal, at.relative_gap());
  std::fflush(stdout);
}

void print_trained(const std::string& way, const Dataset& data, const topwolf::TrainOptions& options) {
  const topwolf::TrainResult result = topwolf::train(data, options);
  print(way, result.seconds, result.iterations, result.certificate);
}

// Normal numbers, rows of unit length in the mean.
topwolf::Features random_features(std::int64_t m, std::int64_t p) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal(0.0, 1.0 / std::sqrt(static_cast<double>(p)));
  topwolf::DenseStore<double> phi{std::vector<double>(static_cast<std::size_t>(m * p)), m, p};
  for (double& value : phi.values) value = normal(generator);
  return topwolf::Features(topwolf::FeatureStore(std::move(phi)));
}

// Every class and its group of ten.
topwolf::Features groups_of_ten(std::int64_t m) {
  topwolf::CsrStore<double> phi{{0}, {}, {}, m, m + (m + 9) / 10};
  for (std::int64_t j = 0; j < m; ++j) {
    phi.column.push_back(static_cast<std::int32_t>(j));
    phi.column.push_back(static_cast<std::int32_t>(m + j / 10));
    phi.row_begin.push_back(static_cast<std::int64_t>(phi.column.size()));
  }
  phi.values.assign(phi.column.size(), 1.0);
  return topwolf::Features(topwolf::FeatureStore(std::move(phi)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: bench_structure FEATURES.npy LABELS.npy LOSS C TOLERANCE\n");
    return 2;
  }
  topwolf::LoadOptions load;
  load.path = argv[1];
  load.labels_path = argv[2];
  Dataset data = topwolf::load_dataset(load);
  topwolf::TrainOptions options;
  options.loss = topwolf::parse_loss(argv[3]);
  options.C = std::atof(argv[4]);
  options.tolerance = std::atof(argv[5]);
  const std::int64_t m = data.classes.size();
  print_trained("plain", data, options);
  options.scores = topwolf::ScoresName::weights;
  print_trained("plain, weights", data, options);
  options.scores = topwolf::ScoresName::automatic;
  data.class_features = groups_of_ten(m);
  print_trained("groups of ten", data, options);
  data.class_features = random_features(m, m / 2);
  print_trained("dense phi, p = m/2", data, options);
  data.class_features = random_features(m, 2 * m);
  print_trained("dense phi, p = 2m", data, options);
  const topwolf::JointResult joint = topwolf::train_joint(Kronecker(data), {data.y, {}, {}}, options);
  print("psi by hand", joint.seconds, joint.iterations, joint.certificate);
  options.solver = topwolf::SolverName::lsfw;
  options.max_iterations = 20;
  data.class_features = {};
  print_trained("plain, 20 lsfw", data, options);
  const topwolf::JointResult batch = topwolf::train_joint(Kronecker(data), {data.y, {}, {}}, options);
  print("psi by hand, 20 lsfw", batch.seconds, batch.iterations, batch.certificate);
  return 0;
}
