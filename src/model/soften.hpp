// Probabilities of the classes from their scores, e^(s_j / T) over the sum of all, in two steps on one array.
#pragma once

#include <cstdint>

namespace topwolf {

// (s_j - the largest) / T in the place of s (m): 0 for the largest, below 0 for the others, and no difference of two
// infinite scores. What is not a number is the lowest of all, as it is where classes are ranked.
void make_exponents(double* s, std::int64_t m, double temperature);

// Probabilities in the place of such exponents (m). Returns the logarithm of the sum that they are divided by: an
// exponent less that is the logarithm of its probability, to the last digit.
double soften(double* exponents, std::int64_t m);

}  // namespace topwolf
