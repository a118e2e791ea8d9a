// Which rows are held out.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/fail.hpp"
#include "core/rng.hpp"
#include "topwolf/select.hpp"

namespace topwolf {
namespace {

// The rows of every class, shuffled.
std::vector<std::vector<std::int64_t>> rows_by_class(const std::vector<std::int32_t>& y, std::int64_t m,
                                                     std::uint64_t seed) {
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(m));
  for (std::size_t i = 0; i < y.size(); ++i) {
    rows.at(static_cast<std::size_t>(y[i])).push_back(static_cast<std::int64_t>(i));
  }
  Rng rng(seed);
  for (auto& list : rows) rng.shuffle(list);
  return rows;
}

}  // namespace

std::vector<Fold> stratified_folds(const std::vector<std::int32_t>& y, std::int64_t m, std::int64_t folds,
                                   std::uint64_t seed) {
  if (folds < 2) fail(ErrorKind::option, "{} is {}, but it must be at least 2", Field{"folds"}, folds);
  constexpr std::int64_t never = -1;
  std::vector<std::int64_t> fold_of(y.size(), never);
  std::int64_t next = 0;  // goes on from class to class, so that the folds have about the same size
  for (const auto& rows : rows_by_class(y, m, seed)) {
    if (static_cast<std::int64_t>(rows.size()) < folds) continue;
    for (const std::int64_t i : rows) fold_of[static_cast<std::size_t>(i)] = next++ % folds;
  }
  std::vector<Fold> out(static_cast<std::size_t>(folds));
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::int64_t f = 0; f < folds; ++f) {
      Fold& fold = out[static_cast<std::size_t>(f)];
      (fold_of[i] == f ? fold.held_out : fold.training).push_back(static_cast<std::int64_t>(i));
    }
  }
  if (out.back().held_out.empty()) {
    fail(ErrorKind::data, "no class has as many rows as there are folds, {}, so that nothing can be held out", folds);
  }
  return out;
}

Fold stratified_split(const std::vector<std::int32_t>& y, std::int64_t m, double share, std::uint64_t seed) {
  if (!(share > 0.0 && share < 1.0)) {
    fail(ErrorKind::option, "the share that is held out is {}, but it must lie between 0 and 1", share);
  }
  Fold fold;
  for (const auto& rows : rows_by_class(y, m, seed)) {
    const auto most = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, rows.size()) - 1);
    const auto count =
        std::min(most, static_cast<std::ptrdiff_t>(std::llround(share * static_cast<double>(rows.size()))));
    fold.held_out.insert(fold.held_out.end(), rows.begin(), rows.begin() + count);
    fold.training.insert(fold.training.end(), rows.begin() + count, rows.end());
  }
  if (fold.held_out.empty()) fail(ErrorKind::data, "no class has enough rows to hold out a share of {}", share);
  std::sort(fold.held_out.begin(), fold.held_out.end());
  std::sort(fold.training.begin(), fold.training.end());
  return fold;
}

}  // namespace topwolf
