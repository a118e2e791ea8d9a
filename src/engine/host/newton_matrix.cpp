// Rows are few that have a face to move on, once the smoothing is small: their P_i are written down entry by entry,
// grouped by pair of classes, and each pair's sum of c_i x_i x_i^T is a product of gathered rows.
#include "engine/host/newton_matrix.hpp"

#include <algorithm>

#include "core/aligned.hpp"
#include "core/rng.hpp"
#include "core/threads.hpp"
#include "data/rows.hpp"
#include "engine/host/entry_groups.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

constexpr std::int64_t rows_per_block = 65536;  // whose projectors are written down at a time, at most, ...
constexpr std::int64_t pieces_per_block = 32;   // ... and whose faces tasks look for
constexpr std::int64_t rows_per_part = 4096;    // of a pair, that one task sums up
constexpr std::int64_t rows_per_product = 256;  // that are gathered at a time

// P_ab of a row, for the pair of classes (a, b), a >= b.
struct PairEntry {
  std::int64_t row;
  std::int64_t pair;  // a (a + 1) / 2 + b
  double value;
};

std::int64_t pair_of(std::int64_t a, std::int64_t b) {
  return a * (a + 1) / 2 + b;
}

// The projector onto the directions of the face (L7), which are those with sum 0 in every group, and `along`.
void append_projector(std::int64_t i, RowView u, const Face& face, double factor, std::vector<PairEntry>& entries) {
  double along2 = 0.0;
  for (const double v : face.along) along2 += v * v;
  for (std::size_t a = 0; a < u.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double value = along2 > 0.0 ? face.along[a] * face.along[b] / along2 : 0.0;
      if (face.group[a] >= 0 && face.group[a] == face.group[b]) {
        const auto size = std::count(face.group.begin(), face.group.end(), face.group[a]);
        value += (a == b ? 1.0 : 0.0) - 1.0 / static_cast<double>(size);
      }
      if (value != 0.0) entries.push_back({i, pair_of(u[a].column, u[b].column), factor * value});
    }
  }
}

// With softmax the derivative of the maximiser is its covariance over T, all m classes in it: p_a (1 if a = b) - p_a
// p_b.
void append_covariance(std::int64_t i, std::int64_t y, RowView u, double factor, std::vector<PairEntry>& entries) {
  const auto p = [y](const Entry& entry) { return entry.column == y ? 1.0 - entry.value : -entry.value; };
  for (std::size_t a = 0; a < u.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      const double value = (a == b ? p(u[a]) : 0.0) - p(u[a]) * p(u[b]);
      entries.push_back({i, pair_of(u[a].column, u[b].column), factor * value});
    }
  }
}

// Which rows count, and for how many: all that may be free, or some by chance, the heavier the likelier. A sample of
// many times as many rows as there are weights is as good, and where the smoothing is large nearly all rows are free.
class Sample {
 public:
  Sample(const Problem& problem, const HostDual& U) : problem_(problem) {
    constexpr double enough = 1000.0;
    double free = 0.0;
    for (std::int64_t i = 0; i < problem.n; ++i) free += U[i].size() >= 2 ? problem.weight(i) : 0.0;
    per_weight_ = enough * static_cast<double>(problem.m * problem.D()) / free;
  }
  // 0: for none. By the row's number alone, because rows may be sorted, or their labels come in turns.
  double stands_for(std::int64_t i) const {
    const double chance = per_weight_ * problem_.weight(i);
    if (!(chance < 1.0)) return 1.0;
    return Rng(static_cast<std::uint64_t>(i)).uniform() < chance ? 1.0 / chance : 0.0;
  }

 private:
  const Problem& problem_;
  double per_weight_;
};

// Those of the rows [begin, end), grouped by pair.
void group_projectors(const Problem& problem, const HostDual& U, double smoothing, const Sample& sample,
                      std::int64_t begin, std::int64_t end, int threads, EntryGroups<double>& by_pair) {
  const std::int64_t rows_per_piece = (end - begin + pieces_per_block - 1) / pieces_per_block;
  const std::int64_t pieces = (end - begin + rows_per_piece - 1) / rows_per_piece;
  std::vector<std::vector<PairEntry>> found(static_cast<std::size_t>(pieces));
  parallel_for(pieces, threads, [&](std::int64_t piece) {
    Face face;
    RowScratch scratch;
    const std::int64_t from = begin + piece * rows_per_piece, to = std::min(end, from + rows_per_piece);
    for (std::int64_t i = from; i < to; ++i) {
      const RowView u = U[i];
      if (u.size() < 2 || !(problem.weight(i) > 0.0)) continue;
      const double times = sample.stands_for(i);
      if (times == 0.0) continue;
      auto& entries = found[static_cast<std::size_t>(piece)];
      const double factor = times * problem.factor(i);
      if (problem.loss.entropic()) {
        append_covariance(i, problem.label(i), u, factor / problem.loss.temperature, entries);
        continue;
      }
      find_face(problem.loss, problem.label(i), u, face, scratch);
      append_projector(i, u, face, factor / smoothing, entries);
    }
  });
  by_pair.sort(pair_of(problem.m, 0), [&](const auto& visit) {
    for (const auto& piece : found) {
      for (const PairEntry& entry : piece) visit(entry.pair, entry.row, entry.value);
    }
  });
}

// B (D x D) = sum of value_e x_e x_e^T over some entries of a pair; gathered rows lie feature by feature, so that the
// sum is a product.
void sum_part(const Problem& problem, std::span<const std::int64_t> rows, std::span<const double> values,
              std::vector<double>& B) {
  const auto D = static_cast<std::size_t>(problem.D()), width = static_cast<std::size_t>(rows_per_product);
  B.assign(D * D, 0.0);
  std::vector<double> product(D * D);
  AlignedVector<double> plain(D * width), scaled(D * width);
  for (std::size_t first = 0; first < rows.size(); first += width) {
    const std::size_t count = std::min(width, rows.size() - first);
    std::fill(plain.begin(), plain.end(), 0.0);
    for (std::size_t f = 0; problem.mean && f < problem.mean->size(); ++f) {
      std::fill_n(plain.begin() + static_cast<std::ptrdiff_t>(f * width), count, -(*problem.mean)[f]);
    }
    std::visit(
        [&](const auto& X) {
          for (std::size_t r = 0; r < count; ++r) {
            for_row(X, problem.bias, rows[first + r],
                    [&](std::int64_t column, double x) { plain[static_cast<std::size_t>(column) * width + r] += x; });
          }
        },
        problem.X);
    for (std::size_t at = 0; at < plain.size(); ++at) {
      const std::size_t r = at % width;
      scaled[at] = r < count ? values[first + r] * plain[at] : 0.0;
    }
    products(scaled.data(), rows_per_product, problem.D(), plain.data(), rows_per_product, problem.D(),
             rows_per_product, product.data(), problem.D());
    for (std::size_t at = 0; at < B.size(); ++at) B[at] += product[at];
  }
}

// Adds B to the block of the pair.
void add_block(std::int64_t pair, const std::vector<double>& B, std::int64_t m, std::int64_t D,
               std::vector<double>& H) {
  std::int64_t a = 0;
  while (pair_of(a + 1, 0) <= pair) ++a;
  const std::int64_t b = pair - pair_of(a, 0);
  for (std::int64_t f = 0; f < D; ++f) {
    double* const to = H.data() + (a * D + f) * m * D + b * D;
    for (std::int64_t g = 0; g < D; ++g) to[g] += B[static_cast<std::size_t>(f * D + g)];
  }
}

// Where the block ends that begins here: before its rows have more entries than there should be room for.
std::int64_t end_of_block(const HostDual& U, std::int64_t begin, std::int64_t n) {
  const std::int64_t last = std::min(n, begin + rows_per_block);
  double entries = 0.0;
  std::int64_t end = begin;
  do {
    const auto size = static_cast<double>(U[end].size());
    entries += 0.5 * size * (size + 1.0);
  } while (++end < last && entries < newton_entries_at_a_time);
  return end;
}

}  // namespace

// Blocks of rows bound the memory. Parts are of a fixed size and are added in order: the same bits for any number of
// threads.
void newton_matrix(const Problem& problem, const HostDual& U, double smoothing, int threads, std::vector<double>& H) {
  const std::int64_t m = problem.m, D = problem.D();
  H.assign(static_cast<std::size_t>(m * D * m * D), 0.0);
  struct Part {
    std::int64_t pair, first;
  };
  const Sample sample(problem, U);
  EntryGroups<double> by_pair;
  std::vector<Part> parts;
  std::vector<std::vector<double>> sums;
  for (std::int64_t begin = 0, end = 0; begin < problem.n; begin = end) {
    end = end_of_block(U, begin, problem.n);
    group_projectors(problem, U, smoothing, sample, begin, end, threads, by_pair);
    parts.clear();
    for (std::int64_t pair = 0; pair < pair_of(m, 0); ++pair) {
      for (std::int64_t first = 0; first < by_pair.count(pair); first += rows_per_part) parts.push_back({pair, first});
    }
    sums.resize(std::max(sums.size(), parts.size()));
    parallel_for(static_cast<std::int64_t>(parts.size()), threads, [&](std::int64_t p) {
      const auto [pair, first] = parts[static_cast<std::size_t>(p)];
      const auto from = static_cast<std::size_t>(first),
                 count = static_cast<std::size_t>(std::min(rows_per_part, by_pair.count(pair) - first));
      sum_part(problem, by_pair.rows_of(pair).subspan(from, count), by_pair.carried_of(pair).subspan(from, count),
               sums[static_cast<std::size_t>(p)]);
    });
    for (std::size_t p = 0; p < parts.size(); ++p) add_block(parts[p].pair, sums[p], m, D, H);
  }
}

}  // namespace topwolf
