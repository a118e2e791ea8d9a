#include "engine/cuda/problem.hpp"

#include <algorithm>

namespace topwolf::cuda {
namespace {

template <class T>
constexpr Stored stored_as = std::is_same_v<T, float>     ? Stored::float32
                             : std::is_same_v<T, double>  ? Stored::float64
                             : std::is_same_v<T, Float16> ? Stored::float16
                                                          : Stored::bfloat16;

}  // namespace

template <class View>
void DeviceRows::copy(const Device& device, const View& X, int threads) {
  using T = typename View::Value;
  view_.type = stored_as<T>;
  const auto bytes_of = [](std::int64_t count) { return count * static_cast<std::int64_t>(sizeof(T)); };
  if constexpr (std::is_same_v<View, CsrView<T>>) {
    const std::int64_t stored = stored_values(X);
    value_ = Buffer<char>(device, bytes_of(stored));
    value_.put(reinterpret_cast<const char*>(X.value), bytes_of(stored));
    row_begin_ = Buffer<std::int64_t>(device, X.rows + 1);
    row_begin_.put(X.row_begin, X.rows + 1);
    column_ = Buffer<std::int32_t>(device, stored);
    column_.put(X.column, stored);
    view_.row_begin = row_begin_.data();
    view_.column = column_.data();
  } else {
    value_ = Buffer<char>(device, bytes_of(X.rows * X.cols));
    view_.stride = X.cols;
    device.send_rows(reinterpret_cast<const char*>(X.data), X.rows, bytes_of(X.cols), bytes_of(X.stride), value_.data(),
                     threads);
  }
  view_.value = value_.data();
}

DeviceRows::DeviceRows(const Device& device, const Problem& problem, const std::vector<double>& lengths2, int threads)
    : lengths2_(device, lengths2) {
  constexpr std::int64_t numbers_of_a_line = 8;
  view_.n = problem.n;
  view_.d = problem.d;
  view_.D = problem.D();
  view_.pitch = (view_.D + numbers_of_a_line - 1) / numbers_of_a_line * numbers_of_a_line;
  view_.bias = problem.bias.value();
  std::visit([&](const auto& X) { copy(device, X, threads); }, problem.X);
  if (problem.mean) {
    mean_ = Buffer<double>(device, *problem.mean);
    view_.mean = mean_.data();
  }
  device.wait();
}

DeviceProblem::DeviceProblem(const Device& device, const Problem& problem, const DeviceRows& rows)
    : y_(device, problem.y), omega_(device, problem.omega), rho_(device, problem.loss.rho) {
  view_.loss = view_of(problem.loss);
  view_.loss.rho = rho_.data();
  view_.n = problem.n;
  view_.m = problem.m;
  view_.y = y_.data();
  view_.omega = problem.omega.empty() ? nullptr : omega_.data();
  view_.lengths2 = rows.lengths2();
  view_.scale = 1.0 / (problem.lambda * problem.N);
  view_.other = problem.loss.usual_margin();
  if (problem.per_example) {
    if (const auto* dense = std::get_if<DenseView<double>>(&problem.per_example->values.view())) {
      margins_ = Buffer<double>(device, (dense->rows - 1) * dense->stride + dense->cols);
      margins_.put(dense->data, margins_.size());
      view_.of_rows = margins_.data();
      view_.stride = dense->stride;
    } else {
      const auto& sparse = std::get<CsrView<double>>(problem.per_example->values.view());
      exception_begin_ = Buffer<std::int64_t>(device, problem.n + 1);
      exception_begin_.put(sparse.row_begin, problem.n + 1);
      exception_column_ = Buffer<std::int32_t>(device, stored_values(sparse));
      exception_column_.put(sparse.column, stored_values(sparse));
      margins_ = Buffer<double>(device, stored_values(sparse));
      margins_.put(sparse.value, stored_values(sparse));
      view_.exception_begin = exception_begin_.data();
      view_.exception_column = exception_column_.data();
      view_.exception = margins_.data();
      view_.other = problem.per_example->other;
    }
  } else if (problem.cost) {
    cost_ = Buffer<double>(device, *problem.cost);
    view_.cost = cost_.data();
  }
  device.wait();
}

DeviceScratch::DeviceScratch(const Device& device, std::int64_t m) {
  // As many warps as keep a large device busy, but not more than have room for a row each.
  constexpr std::int64_t most = 8192, bytes = std::int64_t{1} << 29;
  const std::int64_t lists = m + 1,
                     each = 4 * m * 8 + lists * static_cast<std::int64_t>(2 * sizeof(Ranked) + sizeof(PooledBlock));
  view_.warps = std::clamp<std::int64_t>(bytes / each / 4 * 4, 4, most);
  key_ = Buffer<double>(device, view_.warps * m);
  more_ = Buffer<double>(device, view_.warps * 3 * m);
  raw_ = Buffer<Ranked>(device, view_.warps * lists);
  sorted_ = Buffer<Ranked>(device, view_.warps * lists);
  block_ = Buffer<PooledBlock>(device, view_.warps * lists);
  view_.key = key_.data();
  view_.more = more_.data();
  view_.raw = raw_.data();
  view_.sorted = sorted_.data();
  view_.block = block_.data();
}

}  // namespace topwolf::cuda
