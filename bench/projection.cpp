// The row projection (L5), the inner loop of block ascent: the plain one of the tests, then the one in use without and
// with a guess at the answer. Rows as visits find them: scores near those of the alpha they have.
#include <benchmark/benchmark.h>

#include "core/rng.hpp"
#include "loss/row.hpp"
#include "support/plain_projection.hpp"

namespace topwolf {
namespace {

struct Row {
  std::vector<double> a, scores;
  SparseRow alpha;
  std::int64_t y;
};

Loss loss_of(const benchmark::State& state) {
  const auto K = static_cast<std::size_t>(state.range(1));
  return {state.range(2) == 0 ? Family::usunier : Family::top_k, std::vector<double>(K, 1.0 / static_cast<double>(K)),
          0.0};
}

// Scores of which a few stand out, and the alpha that was right before they moved a little.
std::vector<Row> rows_of(const benchmark::State& state) {
  const auto m = static_cast<std::size_t>(state.range(0));
  const Loss loss = loss_of(state);
  Rng rng(1);
  std::vector<Row> rows(64);
  RowScratch scratch;
  for (Row& row : rows) {
    row.y = static_cast<std::int64_t>(rng.below(m));
    row.scores.resize(m);
    for (double& s : row.scores) s = 0.3 * rng.normal();
    block_step(loss, nullptr, row.scores.data(), state.range(0), row.y, 1.0, {}, row.alpha, scratch);
    for (double& s : row.scores) s += 0.01 * rng.normal();
    row.a.resize(m);
    for (std::size_t j = 0; j < m; ++j) {
      row.a[j] = -(static_cast<std::int64_t>(j) == row.y ? 0.0 : 1.0) - row.scores[j];
    }
    for (const auto& [j, value] : row.alpha) row.a[static_cast<std::size_t>(j)] += value;
  }
  return rows;
}

// Times call(loss, row, alpha, scratch), one row after the other.
template <class Call>
void time_rows(benchmark::State& state, const Call& call) {
  const Loss loss = loss_of(state);
  const auto rows = rows_of(state);
  RowScratch scratch;
  SparseRow alpha;
  std::size_t next = 0;
  for (auto _ : state) {
    call(loss, rows[next++ % rows.size()], alpha, scratch);
    benchmark::DoNotOptimize(alpha.data());
  }
}

void plain_projection(benchmark::State& state) {
  time_rows(state, [](const Loss& loss, const Row& row, SparseRow&, RowScratch&) {
    benchmark::DoNotOptimize(plain::project(loss, row.a, static_cast<std::size_t>(row.y)));
  });
}

void without_guess(benchmark::State& state) {
  time_rows(state, [&](const Loss& loss, const Row& row, SparseRow& alpha, RowScratch& scratch) {
    project(loss, row.a.data(), state.range(0), row.y, alpha, scratch);
  });
}

void with_guess(benchmark::State& state) {
  time_rows(state, [&](const Loss& loss, const Row& row, SparseRow& alpha, RowScratch& scratch) {
    block_step(loss, nullptr, row.scores.data(), state.range(0), row.y, 1.0, row.alpha, alpha, scratch);
  });
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int family : {0, 1}) {
    for (const auto& [m, K] : {std::pair{20, 1}, {100, 1}, {100, 5}, {1000, 1}, {1000, 5}, {1000, 20}}) {
      bench->Args({m, K, family});
    }
  }
  bench->ArgNames({"m", "K", "top_k"});
}

BENCHMARK(plain_projection)->Apply(sizes);
BENCHMARK(without_guess)->Apply(sizes);
BENCHMARK(with_guess)->Apply(sizes);

}  // namespace
}  // namespace topwolf

BENCHMARK_MAIN();
