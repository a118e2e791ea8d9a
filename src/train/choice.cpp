#include "train/choice.hpp"

#include <algorithm>
#include <cmath>

namespace topwolf {
namespace {

struct Errors {
  double mean, standard_error;
};

Errors errors_of(const SearchTable& table, std::size_t point) {
  std::vector<double> errors;
  for (std::size_t f = 0; f < table.folds; ++f) {
    const std::size_t place = table.place(point, f);
    if (table.made(place)) errors.push_back(table.errors[place]);
  }
  const auto count = static_cast<double>(errors.size());
  double sum = 0.0, squares = 0.0;
  for (const double error : errors) sum += error;
  const double mean = sum / count;
  for (const double error : errors) squares += (error - mean) * (error - mean);
  return {mean, std::sqrt(squares / (count - 1.0) / count)};
}

}  // namespace

Choice choose(const SearchTable& table, bool one_standard_error) {
  std::size_t most = 0;
  for (std::size_t p = 0; p < table.points(); ++p) most = std::max(most, table.made_of(p));
  Choice choice;
  for (std::size_t p = 0; p < table.points(); ++p) choice.competes.push_back(table.made_of(p) == most ? 1 : 0);
  const auto competes = [&](std::size_t p) { return choice.competes[p] != 0; };
  const auto mean = [&](std::size_t p) { return errors_of(table, p).mean; };
  constexpr double rounding = 1e-12;  // of a mean: equal errors may add up to different numbers
  while (!competes(choice.best)) ++choice.best;
  for (std::size_t p = choice.best + 1; p < table.points(); ++p) {
    const double best = mean(choice.best), other = mean(p);
    if (competes(p) && (other < best - rounding || (std::isnan(best) && !std::isnan(other)))) choice.best = p;
  }
  choice.chosen = choice.best;
  if (!one_standard_error) return choice;
  const Errors best = errors_of(table, choice.best);
  choice.chosen = choice.best - choice.best % table.Cs;
  while (choice.chosen < choice.best &&
         !(competes(choice.chosen) && mean(choice.chosen) <= best.mean + best.standard_error)) {
    ++choice.chosen;
  }
  return choice;
}

std::vector<CvPoint> points_of(const SearchTable& table, const SearchTable& counted, const std::vector<char>& awaited,
                               const std::vector<LossSpec>& losses, const std::vector<double>& grid) {
  std::vector<CvPoint> points;
  for (std::size_t p = 0; p < table.points(); ++p) {
    CvPoint& point = points.emplace_back();
    const auto folds_of = [&](const auto& values) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(table.place(p, 0));
      return std::vector(first, first + static_cast<std::ptrdiff_t>(table.folds));
    };
    point.loss = losses[p / table.Cs];
    point.C = grid[p % table.Cs];
    point.errors = folds_of(table.errors);
    point.relative_gaps = folds_of(table.relative_gaps);
    point.iterations = folds_of(table.iterations);
    point.seconds = folds_of(table.seconds);
    point.tried = table.made_of(p);
    point.dropped = point.tried < table.folds && awaited[p] == 0;
    const Errors errors = errors_of(counted, p);
    point.mean = errors.mean;
    point.standard_error = errors.standard_error;
  }
  return points;
}

}  // namespace topwolf
