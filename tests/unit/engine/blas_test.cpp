#include "engine/blas.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace topwolf {
namespace {

bool product_is_right(std::int64_t size) {
  const std::vector<double> ones(static_cast<std::size_t>(size * size), 1.0);
  std::vector<double> product(ones.size());
  multiply(size, size, size, ones.data(), size, ones.data(), size, product.data(), size);
  return product == std::vector<double>(ones.size(), static_cast<double>(size));
}

// The child would wait for ever for a lock inside OpenBLAS that another thread held at the fork. Some of its kernels do
// small products without it, and in large ones it is held for a small part of the time.
TEST(Blas, AChildForkedWhileOthersMultiplyMultiplies) {
  const SingleThreadedBlas blas;
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (const std::int64_t size : {16, 104, 104}) {
    others.emplace_back([&stop, size] {
      while (!stop) product_is_right(size);
    });
  }
  int right = 0;
  constexpr int children = 200;
  for (int k = 0; k < children; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const SingleThreadedBlas of_child;
      _exit(product_is_right(16) && product_is_right(104) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(right, children);
}

}  // namespace
}  // namespace topwolf
