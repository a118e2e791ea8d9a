// Seconds of one LSFW iteration and of its two products done bare, on the same data in the same process.
// Usage: bench_iteration FEATURES.npy LABELS.npy THREADS [Google Benchmark's flags]
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <topwolf/topwolf.hpp>
#include <variant>
#include <vector>

namespace {

using topwolf::Dataset;

constexpr std::int64_t timed_iterations = 10;

struct Products {
  topwolf::DenseView<float> X;  // (n x d)
  std::int64_t m;
  int threads;
  std::vector<float> W, S, W_U, partial;  // (m x d), (n x m), (m x d), (threads x m x d)

  Products(const Dataset& data, int thread_count)
      : X(std::get<topwolf::DenseView<float>>(data.X.view())), m(data.classes.size()), threads(thread_count) {
    W.assign(static_cast<std::size_t>(m * X.cols), 0.01f);
    S.assign(static_cast<std::size_t>(X.rows * m), 0.01f);
    W_U.assign(W.size(), 0.0f);
  }

  // S = X W^T for the rows [from, to).
  void scores(std::int64_t from, std::int64_t to) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(to - from), static_cast<int>(m),
                static_cast<int>(X.cols), 1.0f, X.data + from * X.stride, static_cast<int>(X.stride), W.data(),
                static_cast<int>(X.cols), 0.0f, S.data() + from * m, static_cast<int>(m));
  }

  // out = U^T X over the rows [row, row_end) for the columns [column, column_end); U is as large as S, so S serves.
  void sums(std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end, float* out) {
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<int>(m), static_cast<int>(column_end - column),
                static_cast<int>(row_end - row), 1.0f, S.data() + row * m, static_cast<int>(m),
                X.data + row * X.stride + column, static_cast<int>(X.stride), 0.0f, out + column,
                static_cast<int>(X.cols));
  }

  // body(from, to) for equal shares of [0, size), one thread each.
  void split(std::int64_t size, const std::function<void(std::int64_t, std::int64_t)>& body) const {
#pragma omp parallel num_threads(threads)
    {
      const std::int64_t t = omp_get_thread_num(), count = omp_get_num_threads();
      body(size * t / count, size * (t + 1) / count);
    }
  }

  void scores_by_rows() {
    split(X.rows, [&](std::int64_t from, std::int64_t to) { scores(from, to); });
  }
  void scores_by_openblas() {
    scores(0, X.rows);
  }
  void sums_by_columns() {
    split(X.cols, [&](std::int64_t from, std::int64_t to) { sums(0, X.rows, from, to, W_U.data()); });
  }
  void sums_by_rows() {
    partial.resize(W_U.size() * static_cast<std::size_t>(threads));
    split(X.rows, [&](std::int64_t from, std::int64_t to) {
      sums(from, to, 0, X.cols, partial.data() + W_U.size() * static_cast<std::size_t>(omp_get_thread_num()));
    });
    split(m * X.cols, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t at = from; at < to; ++at) {
        float total = 0.0f;
        for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t) {
          total += partial[W_U.size() * t + static_cast<std::size_t>(at)];
        }
        W_U[static_cast<std::size_t>(at)] = total;
      }
    });
  }
  void sums_by_openblas() {
    sums(0, X.rows, 0, X.cols, W_U.data());
  }
};

void run_product(benchmark::State& state, Products& products, void (Products::*work)(), int blas_threads) {
  openblas_set_num_threads(blas_threads);
  for (auto _ : state) {
    (products.*work)();
    benchmark::ClobberMemory();
  }
}

// The mean over consecutive iterations of one run, by the run's own clock: set-up and final certificate stay out.
void run_lsfw(benchmark::State& state, const Dataset& data, int threads) {
  topwolf::TrainOptions options;
  options.loss.name = topwolf::LossName::weighted_usunier;
  options.solver = topwolf::SolverName::lsfw;
  options.tolerance = 1e-12;
  options.max_iterations = timed_iterations + 1;
  options.threads = threads;
  for (auto _ : state) {
    topwolf::IterationRecord first, last;
    const auto result = topwolf::train(data, options, [&](const topwolf::IterationRecord& record) {
      if (record.iteration == 1) first = record;
      last = record;
      return true;
    });
    state.SetIterationTime((last.seconds - first.seconds) / static_cast<double>(last.iteration - first.iteration));
    state.counters["iterations_done"] = static_cast<double>(last.iteration);
    state.counters["dual"] = last.dual;
    state.counters["relative_gap"] = result.certificate.relative_gap();
  }
}

void register_all(const Dataset& data, Products& products, int threads) {
  const auto product = [&](const char* name, void (Products::*work)(), int blas_threads) {
    benchmark::RegisterBenchmark(
        name,
        [&products, work, blas_threads](benchmark::State& state) { run_product(state, products, work, blas_threads); })
        ->UseRealTime()
        ->Iterations(timed_iterations);
  };
  product("scores/rows", &Products::scores_by_rows, 1);
  product("scores/openblas", &Products::scores_by_openblas, threads);
  product("sums/columns", &Products::sums_by_columns, 1);
  product("sums/rows", &Products::sums_by_rows, 1);
  product("sums/openblas", &Products::sums_by_openblas, threads);
  benchmark::RegisterBenchmark("lsfw", [&data, threads](benchmark::State& state) { run_lsfw(state, data, threads); })
      ->UseManualTime()
      ->Iterations(1);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 4 || std::atoi(argv[3]) < 1) {
    std::cerr << "usage: bench_iteration FEATURES.npy LABELS.npy THREADS [--benchmark_...]\n";
    return 2;
  }
  const int threads = std::atoi(argv[3]);
  topwolf::LoadOptions load;
  load.path = argv[1];
  load.labels_path = argv[2];
  load.threads = threads;
  try {
    const Dataset data = topwolf::load_dataset(load);
    Products products(data, threads);
    register_all(data, products, threads);
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::cerr << "bench_iteration: " << error.what() << '\n';
    return 1;
  }
}
