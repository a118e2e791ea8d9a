// What a model gets wrong on labelled rows: errors at every k, class by class, and which classes it takes for which.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topwolf/model.hpp"

namespace topwolf {

struct ClassErrors {
  std::int32_t label;
  std::int64_t rows, wrong;  // wrong: the best class is another one
  std::int64_t said;         // rows, of whatever label, whose best class this is
  // Shares of those called so that are of the class, and of the class that are called so; none of no rows.
  std::optional<double> precision() const { return share(rows - wrong, said); }
  std::optional<double> recall() const { return share(rows - wrong, rows); }
  static std::optional<double> share(std::int64_t part, std::int64_t all) {
    if (all == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(all);
  }
};

struct Confusion {
  std::int32_t label, said;
  std::int64_t rows;
};

struct Assessment {
  std::int64_t rows = 0;
  std::vector<std::int64_t> wrong_at;  // [k - 1]: rows whose class is not among the k best, for k up to 20 or m
  std::vector<ClassErrors> classes;    // m, in the order of the model
  std::vector<Confusion> confusions;   // most frequent first; rows with labels unknown to the model are left out
  double error_at(std::int64_t k) const;
};

// y: class numbers, -1 = not a class of the predictor, which is wrong at every k.
Assessment assess(const Predictor& predictor, const Features& X, const std::vector<std::int32_t>& y, int threads);

// The error at k of naming the k most frequent classes of the training rows, whatever the row.
double majority_error(const std::vector<std::int32_t>& training_y, const std::vector<std::int32_t>& y, std::int64_t m,
                      std::int64_t k);

// The k of 1, 3, 5 and 10 at which m classes can be told apart.
std::vector<std::int64_t> usual_places(std::int64_t m);

// Wilson's interval, 95 %, for a share seen in so many rows.
struct Interval {
  double low, high;
};
Interval wilson_interval(double share, std::int64_t rows);

}  // namespace topwolf
