// Sizes above 2^31, for real: rows times classes, stored values, the Gram matrix, features times classes. The rows of a
// small problem are repeated: with the same lambda the large problem has the same objective, so every figure is known.
// Takes minutes and about 10 GB of memory: scripts/test --long runs it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "core/rng.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf {
namespace {

constexpr std::int64_t two_to_the_31 = std::int64_t{1} << 31;

// `copies` times the same numbers, in memory that is there once: one file, mapped side by side.
template <class T>
class Repeated {
 public:
  Repeated(const std::vector<T>& numbers, std::int64_t copies) : bytes_(numbers.size() * sizeof(T)) {
    if (bytes_ % static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE)) != 0) throw std::runtime_error("not whole pages");
    const int file = memfd_create("repeated", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) throw std::runtime_error("no memory file");
    total_ = bytes_ * static_cast<std::size_t>(copies);
    begin_ = static_cast<char*>(mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::int64_t c = 0; c < copies; ++c) {
      mmap(begin_ + c * static_cast<std::int64_t>(bytes_), bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           0);
    }
    std::memcpy(begin_, numbers.data(), bytes_);
    close(file);
  }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;
  ~Repeated() { munmap(begin_, total_); }
  const T* data() const { return reinterpret_cast<const T*>(begin_); }

 private:
  std::size_t bytes_, total_ = 0;
  char* begin_ = nullptr;
};

std::vector<float> random_numbers(std::int64_t count) {
  Rng rng(5);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& x : numbers) x = static_cast<float>(rng.normal());
  return numbers;
}

constexpr std::int64_t few = 1024;  // rows of the small problem

Dataset labelled(const FeatureView& X, std::int64_t m) {
  Dataset data;
  data.X = Features(X);
  data.y.resize(static_cast<std::size_t>(data.X.rows()));
  for (std::size_t i = 0; i < data.y.size(); ++i) data.y[i] = static_cast<std::int32_t>(i % few % m);
  for (std::int64_t j = 0; j < m; ++j) data.classes.names.push_back(std::to_string(j));
  return data;
}

TrainOptions passes_of(SolverName solver, std::int64_t passes) {
  TrainOptions options;
  options.solver = solver;
  options.lambda = 0.01;
  options.tolerance = 1e-9;
  options.max_iterations = passes;
  return options;
}

void expect_close(const Certificate& found, const Certificate& expected, double tolerance) {
  EXPECT_NEAR(found.primal, expected.primal, tolerance * expected.primal);
  EXPECT_NEAR(found.dual, expected.dual, tolerance * std::abs(expected.dual));
}

TEST(Large, rows_times_classes) {
  constexpr std::int64_t m = 1000, d = 4, copies = 2100, n = copies * few;
  static_assert(n * m > two_to_the_31);
  const Repeated<float> numbers(random_numbers(few * d), copies);
  const Dataset small = labelled(DenseView<float>{numbers.data(), few, d, d}, m);
  const Dataset large = labelled(DenseView<float>{numbers.data(), n, d, d}, m);
  const TrainOptions options = passes_of(SolverName::lsfw, 3);
  const TrainResult expected = train(small, options), found = train(large, options);
  expect_close(found.certificate, expected.certificate, 1e-6);
  const TopK of_few = Predictor(expected.model).top_k(small.X, 1), of_all = Predictor(expected.model).top_k(large.X, 1);
  for (std::size_t i = 0; i < of_all.classes.size(); ++i) ASSERT_EQ(of_all.classes[i], of_few.classes[i % few]) << i;
  expect_close(train(large, passes_of(SolverName::block, 1)).certificate,
               train(small, passes_of(SolverName::block, 1000)).certificate, 0.1);
}

TEST(Large, stored_values) {
  constexpr std::int64_t m = 2, d = 8192, row = 1024, copies = 2049, n = copies * few;
  static_assert(n * row > two_to_the_31);
  std::vector<std::int32_t> column;
  for (std::int64_t i = 0; i < few; ++i) {
    for (std::int64_t p = 0; p < row; ++p) column.push_back(static_cast<std::int32_t>(8 * p + (i * 5 + p) % 8));
  }
  const Repeated<std::int32_t> columns(column, copies);
  const Repeated<float> numbers(random_numbers(few * row), copies);
  std::vector<std::int64_t> begin;
  for (std::int64_t i = 0; i <= n; ++i) begin.push_back(i * row);
  const Dataset small = labelled(CsrView<float>{begin.data(), columns.data(), numbers.data(), few, d}, m);
  const Dataset large = labelled(CsrView<float>{begin.data(), columns.data(), numbers.data(), n, d}, m);
  const TrainOptions options = passes_of(SolverName::lsfw, 2);
  expect_close(train(large, options).certificate, train(small, options).certificate, 1e-6);
  // The longest row says less about the curvature of 2,049 times as many, so that q is doubled many times first: the
  // paths differ, the optimum does not.
  const Certificate found = train(large, passes_of(SolverName::apg, 13)).certificate,
                    expected = train(small, passes_of(SolverName::apg, 100)).certificate;
  EXPECT_LT(found.primal, 1.0);
  EXPECT_GT(found.dual, 0.0);
  EXPECT_LE(found.dual, expected.primal);
  EXPECT_LE(expected.dual, found.primal);
}

// Both ways of block ascent visit the rows in the same order.
TEST(Large, Gram_matrix) {
  constexpr std::int64_t m = 2, d = 4, copies = 46, n = copies * few;
  static_assert(n * n > two_to_the_31);
  const Repeated<float> numbers(random_numbers(few * d), copies);
  const Dataset data = labelled(DenseView<float>{numbers.data(), n, d, d}, m);
  TrainOptions options = passes_of(SolverName::block, 2);
  options.scores = ScoresName::weights;
  const Certificate expected = train(data, options).certificate;
  options.scores = ScoresName::gram;
  expect_close(train(data, options).certificate, expected, 1e-3);
}

TEST(Large, features_times_classes) {
  constexpr std::int64_t m = 1000, d = two_to_the_31 - 2, row = 20;
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> near, far;
  for (std::int64_t i = 0; i <= few; ++i) begin.push_back(i * row);
  for (std::int64_t i = 0; i < few * row; ++i) {
    near.push_back(static_cast<std::int32_t>(i % row * 10 + i / row % 10));
    far.push_back(static_cast<std::int32_t>(d - 1 - 10'000'000 * (199 - near.back())));
  }
  const std::vector<float> numbers = random_numbers(few * row);
  const Dataset narrow = labelled(CsrView<float>{begin.data(), near.data(), numbers.data(), few, 200}, m);
  const Dataset wide = labelled(CsrView<float>{begin.data(), far.data(), numbers.data(), few, d}, m);
  const TrainOptions options = passes_of(SolverName::block, 20);
  const TrainResult expected = train(narrow, options), found = train(wide, options);
  EXPECT_EQ(found.model.W, expected.model.W);
  EXPECT_EQ(found.certificate.dual, expected.certificate.dual);
  EXPECT_EQ(Predictor(found.model).scores(wide.X), Predictor(expected.model).scores(narrow.X));
}

}  // namespace
}  // namespace topwolf
