#include "train/race.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace topwolf {
namespace {

// The mean of the errors on the first folds, as far as they are known; a judge may say NaN, which is worse than any.
double standing(const SearchTable& table, std::size_t point, std::size_t folds) {
  double sum = 0.0;
  std::size_t known = 0;
  for (std::size_t f = 0; f < folds; ++f) {
    const std::size_t place = table.place(point, f);
    if (!table.made(place)) continue;
    sum += table.errors[place];
    ++known;
  }
  const double mean = sum / static_cast<double>(known);
  return std::isnan(mean) ? std::numeric_limits<double>::infinity() : mean;
}

// In the order of their numbers, as they came.
std::vector<std::size_t> better_half(const SearchTable& table, std::vector<std::size_t> points, std::size_t folds) {
  constexpr std::size_t fewest = 4;
  const std::size_t stay = std::min(points.size(), std::max(fewest, (points.size() + 1) / 2));
  std::vector<double> standings(table.points());
  for (const std::size_t p : points) standings[p] = standing(table, p, folds);
  std::stable_sort(points.begin(), points.end(),
                   [&](std::size_t a, std::size_t b) { return standings[a] < standings[b]; });
  points.resize(stay);
  std::sort(points.begin(), points.end());
  return points;
}

// The fits of one fold.
std::vector<std::size_t> round_of(const SearchTable& table, const std::vector<std::size_t>& points, std::size_t fold) {
  std::vector<std::size_t> reach(table.losses, 0);  // how many C of each loss
  for (const std::size_t p : points) reach[p / table.Cs] = std::max(reach[p / table.Cs], p % table.Cs + 1);
  std::vector<std::size_t> places;
  for (std::size_t c = 0; c < table.Cs; ++c) {
    for (std::size_t l = 0; l < table.losses; ++l) {
      if (c < reach[l]) places.push_back(table.place(l * table.Cs + c, fold));
    }
  }
  return places;
}

}  // namespace

Race race(const SearchTable& table) {
  Race out;
  std::vector<std::size_t> points(table.points());
  std::iota(points.begin(), points.end(), std::size_t{0});
  bool known = true;  // who is in this round
  for (std::size_t f = 0; f < table.folds; ++f) {
    const std::vector<std::size_t> places = round_of(table, points, f);
    std::vector<std::size_t>& list = known ? out.needed : out.later;
    list.insert(list.end(), places.begin(), places.end());
    if (known) {
      out.running.assign(table.points(), 0);
      for (const std::size_t p : points) out.running[p] = 1;
      known = std::all_of(places.begin(), places.end(), [&](std::size_t place) { return table.made(place); });
      out.rounds += known ? 1 : 0;
    }
    points = better_half(table, std::move(points), f + 1);
  }
  return out;
}

}  // namespace topwolf
