// Several models on the same labelled rows: errors at every k with paired intervals, where they differ, and a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/assessment.hpp"

namespace topwolf {

// A model by what it says: the numbers of the best classes of every row, K of them, best first.
struct Contender {
  std::string name;
  std::string about;  // a sentence: its certificate, or that it has none
  std::int64_t m;     // its classes
  std::int64_t K;
  std::vector<std::int32_t> best;  // n x K

  // Whether row i has its class among the k best, for k up to K.
  bool right(std::int64_t i, std::int32_t label, std::int64_t k) const;
};

struct Comparison {
  std::string source;                   // where the rows come from
  std::vector<std::string> classes;     // what the numbers are called: those of all contenders and of the rows
  std::vector<std::int32_t> y;          // a class for every row
  std::vector<Contender> contenders;    // at least one
  std::vector<std::int64_t> places;     // the k at which all of them can be judged
  std::vector<std::string> warnings{};  // sentences
  std::string command{};
  int threads = 1;

  double error(std::size_t contender, std::int64_t k) const;
};

// The error at k of contender b less that of contender a, on the same rows: Agresti and Min's interval, 95 %, from the
// rows that only one of them has right.
struct PairedDifference {
  std::int64_t only_a, only_b;  // rows that this one alone has right
  double difference, low, high;
};
PairedDifference paired_difference(const Comparison& comparison, std::size_t a, std::size_t b, std::int64_t k);
PairedDifference paired_difference(std::int64_t only_a, std::int64_t only_b, std::int64_t rows);

// Rows, counted from 0, that this contender has right and no other, at k = 1.
std::vector<std::int64_t> rows_alone_right(const Comparison& comparison, std::size_t contender);

std::string comparison_page(const Comparison& comparison);

}  // namespace topwolf
