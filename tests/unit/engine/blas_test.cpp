// OpenBLAS where it has weaknesses: forks, and rows that lie further apart than it can count.
#include "engine/cpu/blas.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

// A product of ones. Whoever repeats it allocates nothing: a sanitizer's allocator does not survive a fork.
class Product {
 public:
  explicit Product(std::int64_t size)
      : size_(size), ones_(static_cast<std::size_t>(size * size), 1.0), product_(ones_.size()) {}
  bool is_right() {
    multiply(size_, size_, size_, ones_.data(), size_, ones_.data(), size_, product_.data(), size_);
    return std::all_of(product_.begin(), product_.end(), [&](double x) { return x == static_cast<double>(size_); });
  }

 private:
  std::int64_t size_;
  std::vector<double> ones_, product_;
};

// The child would wait for ever for a lock inside OpenBLAS that another thread held at the fork. Some of its kernels do
// small products without it, and in large ones it is held for a small part of the time.
TEST(Blas, AChildForkedWhileOthersMultiplyMultiplies) {
  const SingleThreadedBlas blas;
  Product small(16), large(104);
  std::atomic<bool> stop = false;
  std::atomic<int> ready = 0;
  std::vector<std::thread> others;
  for (const std::int64_t size : {16, 104, 104}) {
    others.emplace_back([&, size] {
      Product mine(size);
      for (++ready; !stop;) mine.is_right();
    });
  }
  while (ready < 3) std::this_thread::yield();
  int right = 0;
  constexpr int children = 200;
  for (int k = 0; k < children; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const SingleThreadedBlas of_child;
      _exit(small.is_right() && large.is_right() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(right, children);
}

// Address space without memory: only the pages that are touched exist.
class Far {
 public:
  explicit Far(std::size_t numbers) : size_(numbers * sizeof(float)) {
    void* begin = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) throw std::runtime_error("no address space");
    begin_ = static_cast<float*>(begin);
  }
  Far(const Far&) = delete;
  Far& operator=(const Far&) = delete;
  ~Far() { munmap(begin_, size_); }
  float* begin() const { return begin_; }

 private:
  std::size_t size_;
  float* begin_;
};

TEST(Blas, rows_may_lie_more_than_2_to_the_31_apart) {
  constexpr std::int64_t pitch = (std::int64_t{1} << 31) + 7;
  const SingleThreadedBlas blas;
  const Far far(static_cast<std::size_t>(pitch + 2));
  float* const X = far.begin();
  X[0] = 1.0f, X[1] = 2.0f, X[pitch] = 3.0f, X[pitch + 1] = 4.0f;
  const std::vector<float> W{1.0f, 10.0f, 100.0f, 1000.0f};
  std::vector<float> S(4);
  multiply_transposed(2, 2, 2, X, pitch, W.data(), 2, S.data(), 2);
  EXPECT_EQ(S, (std::vector<float>{21.0f, 2100.0f, 43.0f, 4300.0f}));
  multiply_transposed(2, 2, 2, W.data(), 2, X, pitch, S.data(), 2);
  EXPECT_EQ(S, (std::vector<float>{21.0f, 43.0f, 2100.0f, 4300.0f}));
  multiply_transposed(2, 2, 2, X, pitch, X, pitch, S.data(), 2);
  EXPECT_EQ(S, (std::vector<float>{5.0f, 11.0f, 11.0f, 25.0f}));
}

TEST(Blas, refuses_what_it_cannot_count) {
  const SingleThreadedBlas blas;
  const double one = 1.0;
  double out = 0.0;
  const std::int64_t large = std::int64_t{1} << 31;
  const std::string sentence =
      error_of(ErrorKind::internal, [&] { multiply_transposed(1, 1, large, &one, 1, &one, 1, &out, 1); });
  EXPECT_NE(sentence.find("a pitch of 2147483648, but OpenBLAS counts to 2147483647"), std::string::npos) << sentence;
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
