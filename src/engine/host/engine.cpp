// The verbs of an engine that need no scores, row by row. Sums that reach a certificate are in long double and run in
// the order of the rows.
#include "engine/host/engine.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "engine/host/newton_matrix.hpp"

namespace topwolf {
namespace {

double absolute_sum(RowView alpha) {
  return std::accumulate(alpha.begin(), alpha.end(), 0.0,
                         [](double sum, const Entry& entry) { return sum + std::abs(entry.value); });
}

}  // namespace

HostEngine::HostEngine(const Problem& problem, const Geometry& geometry, SharedLengths lengths2, int threads)
    : Engine(problem, geometry), lengths2_(std::move(lengths2)), threads_(threads) {}

template <class Body>
void HostEngine::for_rows(const Body& body) const {
  constexpr std::int64_t piece = 256;
  parallel_for((problem_.n + piece - 1) / piece, threads_, [&](std::int64_t part) {
    RowSpace space;
    const std::int64_t end = std::min(problem_.n, (part + 1) * piece);
    for (std::int64_t i = part * piece; i < end; ++i) body(i, space);
  });
}

// Where margins are those of a class, one row speaks for its class; where all are 1, for everybody, unless the loss is
// an oracle's, which may treat classes differently.
long double HostEngine::loss_sum_at_zero() {
  const std::vector<double> zero(static_cast<std::size_t>(problem_.m), 0.0);
  std::vector<double> of_class(static_cast<std::size_t>(problem_.m), -1.0);
  RowSpace space;
  long double sum = 0.0L;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    if (!(problem_.weight(i) > 0.0)) continue;
    const bool alike = !problem_.cost && !problem_.per_example && !problem_.loss.oracle;
    double& known = of_class[static_cast<std::size_t>(alike ? 0 : problem_.label(i))];
    if (known < 0.0 || problem_.per_example) {
      const LossSum loss = certified_row(problem_, i, zero.data(), 0.0, 0, space);
      known = static_cast<double>(loss.sum + loss.rounding);
    }
    sum += static_cast<long double>(problem_.weight(i)) * known;
  }
  return sum;
}

Curvature HostEngine::curvature() {
  Curvature out;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    const double q = problem_.factor(i) * length2(i);
    out.largest = std::max(out.largest, q);
    out.total += q;
    out.lengths += problem_.weight(i) * reach(i);
    out.plain_lengths += reach(i);
  }
  return out;
}

BlockAscent& HostEngine::block_ascent() {
  if (!ascent_) {
    ascent_ =
        std::make_unique<HostBlockAscent>(problem_, geometry().coupling, *lengths2_, make_block_scores(), threads_);
  }
  return *ascent_;
}

std::unique_ptr<BlockScores> HostEngine::make_block_scores() {
  fail(ErrorKind::internal, "this engine has no scores for block ascent on the host");
}

NewtonSums HostEngine::look(const std::vector<double>& W, double extra, Dual& U, std::vector<double>& W_U) {
  NewtonSums out;
  std::vector<double> on_rows = W;  // as a model has them
  if (problem_.mean) fold(*problem_.mean, problem_.bias, on_rows);
  out.phi = static_cast<double>(loss_sum(on_rows).sum);
  const struct Smoother {
    HostEngine& engine;
    const Problem before = engine.problem_;
    ~Smoother() { engine.set_problem(before); }
  } smoother{*this};
  Problem smooth = problem_;
  smooth.loss.smoothing += extra;
  set_problem(smooth);
  out.smoothed = pass(W, Direction::gradient, make_dual().get(), &U, W_U).phi;
  const DualSums sums_u = sums(U);
  out.c_u = sums_u.c_alpha;
  out.u_norm2 = sums_u.alpha_norm2;
  return out;
}

void HostEngine::derivative(const Dual& U, double smoothing, std::vector<double>& H) {
  stop_if_asked();
  newton_matrix(problem_, on_host(U), smoothing, threads_, H);
}

void HostEngine::see_share(BlockAscent& ascent, std::int64_t i, const double* s, const Dual& A, RowSpace& space) const {
  // The ascent is this engine's own, or that of the host engine that has these rows among others.
  static_cast<HostBlockAscent&>(ascent).shares()[static_cast<std::size_t>(first_row_ + i)] = gap_share(
      problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i), on_host(A)[i], space.u, space.scratch);
}

void HostEngine::mix(double of_U, const Dual& U, double of_A, Dual& A) {
  for_rows([&, &from = on_host(U), &to = on_host(A)](std::int64_t i, RowSpace& space) {
    topwolf::mix(of_U, from[i], of_A, to[i], space.u);
    to.assign(i, space.u);
  });
}

void HostEngine::scale(double t, Dual& A) {
  HostDual& rows = on_host(A);
  if (t == 0.0) return rows.clear();
  for_rows([&](std::int64_t i, RowSpace&) {
    for (Entry& entry : rows.entries(i)) entry.value *= t;
  });
}

DualSums HostEngine::sums(const Dual& A) {
  DualSums out;
  RowScratch scratch;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    const RowView alpha = on_host(A)[i];
    out.c_alpha += problem_.weight(i) * worth(problem_.loss, problem_.margins(i), problem_.label(i), alpha, scratch);
    out.alpha_norm2 += problem_.weight(i) * squared_norm(alpha);
  }
  return out;
}

// Rows in pieces of a fixed size, so that the sums do not depend on the number of threads.
InsideSums HostEngine::put_rows_inside(HostDual& A, bool& changed) {
  constexpr std::int64_t piece = 4096;
  std::vector<InsideSums> parts(static_cast<std::size_t>((problem_.n + piece - 1) / piece));
  std::atomic<bool> any = false;
  parallel_for(static_cast<std::int64_t>(parts.size()), threads_, [&](std::int64_t part) {
    RowSpace space;
    const std::int64_t end = std::min(problem_.n, (part + 1) * piece);
    for (std::int64_t i = part * piece; i < end; ++i) {
      if (put_row_inside(i, A, space, parts[static_cast<std::size_t>(part)])) any = true;
    }
  });
  InsideSums out;
  for (const InsideSums& part : parts) {
    out.c_alpha += part.c_alpha;
    out.alpha_norm2 += part.alpha_norm2;
    out.terms += part.terms;
    out.moved += part.moved;
    out.flushed += part.flushed;
    out.over = std::max(out.over, part.over);
    if (part.worst_miss > out.worst_miss) out.worst_miss = part.worst_miss, out.worst_row = part.worst_row;
  }
  changed = any;
  return out;
}

bool HostEngine::put_row_inside(std::int64_t i, HostDual& A, RowSpace& space, InsideSums& out) const {
  RowScratch& scratch = space.scratch;
  const RowView before = A[i];
  if (before.empty()) return false;
  // A copy: most rows are inside already, and are not written.
  SparseRow& alpha = space.u;
  alpha.assign(before.begin(), before.end());
  const double missed = topwolf::put_inside(problem_.loss, problem_.label(i), alpha, scratch);
  const auto same = [](const Entry& a, const Entry& b) { return a.column == b.column && a.value == b.value; };
  const bool changed = missed > 0.0 && !std::equal(before.begin(), before.end(), alpha.begin(), alpha.end(), same);
  if (changed) A.assign(i, alpha);
  if (missed > out.worst_miss) out.worst_miss = missed, out.worst_row = i;
  const double omega = problem_.weight(i);
  if (alpha.empty() || !(omega > 0.0)) return changed;
  const auto [ratio, distance] = membership(problem_.loss, problem_.label(i), alpha, scratch);
  out.over = std::max(out.over, ratio - 1.0);
  const double furthest = std::sqrt(squared_norm(alpha)) + 2.0 * distance;
  const long double x = omega * reach(i);
  out.c_alpha +=
      static_cast<long double>(omega) * worth(problem_.loss, problem_.margins(i), problem_.label(i), alpha, scratch);
  if (distance > 0.0) out.c_alpha -= static_cast<long double>(omega) * largest_margin(problem_, i) * distance;
  out.alpha_norm2 += static_cast<long double>(omega) * furthest * furthest;
  out.terms += x * absolute_sum(alpha);
  out.moved += x * 2.0 * distance;
  out.flushed += static_cast<double>(alpha.size()) * (1.0 + reach(i));
  return changed;
}

// Q depends on the family, rho and y alone: rows of a run that had the same come back as they were.
void HostEngine::project(const SparseRows& rows, Dual& A) {
  HostDual& out = on_host(A);
  out.clear();
  for_rows([&](std::int64_t i, RowSpace& space) {
    const auto begin = static_cast<std::size_t>(rows.row_begin[static_cast<std::size_t>(i)]);
    const auto end = static_cast<std::size_t>(rows.row_begin[static_cast<std::size_t>(i) + 1]);
    if (begin == end || !(problem_.weight(i) > 0.0)) return;
    auto& a = space.scratch.a;  // 0, but while it holds the row
    a.resize(static_cast<std::size_t>(problem_.m), 0.0);
    for (std::size_t e = begin; e < end; ++e) a[static_cast<std::size_t>(rows.column[e])] = rows.values[e];
    topwolf::project(problem_.loss, a.data(), problem_.m, problem_.label(i), space.u, space.scratch);
    out.assign(i, space.u);
    for (std::size_t e = begin; e < end; ++e) a[static_cast<std::size_t>(rows.column[e])] = 0.0;
  });
}

SparseRows HostEngine::rows_of(const Dual& A) {
  SparseRows out;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    for (const auto& [column, value] : on_host(A)[i]) {
      out.column.push_back(column);
      out.values.push_back(value);
    }
    out.row_begin.push_back(static_cast<std::int64_t>(out.column.size()));
  }
  return out;
}

}  // namespace topwolf
