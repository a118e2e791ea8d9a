// A loss of your own by its oracle: each group of classes has a hinge, of its largest violation. Neither family has it.
//
// Mistakes inside a group of look-alikes are forgiven together: a row pays once for a group, however many of its
// classes come too near, and for every group that has one.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <topwolf/topwolf.hpp>
#include <vector>

class GroupHinge final : public topwolf::LossOracle {
 public:
  explicit GroupHinge(std::vector<std::size_t> group) : group_(std::move(group)) {
    groups_ = *std::max_element(group_.begin(), group_.end()) + 1;
  }
  std::string name() const override { return "group hinge"; }

  // The mean over the groups of the largest violation, or 0.
  double value(std::span<const double> z, std::int64_t y) const override {
    double sum = 0.0;
    for (const std::size_t j : worst(z, y)) sum += z[j];
    return sum / static_cast<double>(groups_);
  }
  // What that is the largest of: each group pulls on its worst class, and lets the row's own go.
  void vertex(std::span<const double> z, std::int64_t y, std::span<double> u) const override {
    for (const std::size_t j : worst(z, y)) {
      u[j] -= 1.0 / static_cast<double>(groups_);
      u[static_cast<std::size_t>(y)] += 1.0 / static_cast<double>(groups_);
    }
  }

 private:
  // z_y is 0: a group without a violation stays with y, which changes nothing.
  std::vector<std::size_t> worst(std::span<const double> z, std::int64_t y) const {
    std::vector<std::size_t> out(groups_, static_cast<std::size_t>(y));
    for (std::size_t j = 0; j < z.size(); ++j) {
      if (z[j] > z[out[group_[j]]]) out[group_[j]] = j;
    }
    return out;
  }
  std::vector<std::size_t> group_;  // of each class
  std::size_t groups_;
};

int main(int argc, char** argv) {
  const topwolf::Dataset data = topwolf::load_dataset(argc > 1 ? argv[1] : "train.svm");
  std::vector<std::size_t> group;
  for (std::int64_t j = 0; j < data.classes.size(); ++j) group.push_back(static_cast<std::size_t>(j % 2));
  topwolf::TrainOptions options;
  options.loss = topwolf::loss_by_oracle(std::make_shared<GroupHinge>(group));
  options.C = 10;
  options.keep_dual = true;
  const topwolf::TrainResult result = topwolf::train(data, options);
  const topwolf::Certificate& bounds = result.certificate;
  std::printf("%s: at most %.2g %% above the optimum%s\n", to_string(result.status).data(),
              100 * bounds.gap() / bounds.dual, condition_of(options.loss).data());
  std::printf("%s\n", topwolf::verify(data, result.model, result.dual).finding.c_str());
}
