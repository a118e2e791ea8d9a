// What is done to features between a file and a data set: checks of CSR arrays that came from outside, fitting the
// number of columns to a model, precision, and the choice between sparse and dense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topwolf/dataset.hpp"

namespace topwolf {

// Of any file, matrix or model: with the constant feature they still are numbers of 32 bits.
constexpr std::int64_t most_columns = INT32_MAX - 1;

// Sorts each row by column; Error{data} for row bounds that do not fit, columns out of range or given twice, and
// values that are not finite.
template <class T>
void check_csr(CsrStore<T>& X, const std::string& name);

// "file: row R, column C ..." for the value at (row, column), counted from 0, that is NaN, infinite, or too large for
// the precision asked for.
[[noreturn]] void fail_not_finite(const std::string& name, std::int64_t row, std::int64_t column, double value,
                                  Precision precision);

// What the values of a file become.
struct NumberChoice {
  NumberChoice(Precision wish) : NumberChoice(std::optional(wish)) {}
  NumberChoice(std::optional<Precision> wish, Precision other = Precision::float32) : asked(wish), usual(other) {}

  std::optional<Precision> asked;  // by the user
  Precision usual;                 // where nobody asked: float32, in whose place values of 16 bits are kept, or float64

  Precision of(Precision stored) const {
    return asked.value_or(usual == Precision::float32 && is_half(stored) ? stored : usual);
  }
  // Text is read as what is computed with; 16 bits come of it afterwards.
  Precision of_text() const { return working_precision(of(usual)); }
};

// X has `cols` columns afterwards: sparse values beyond are dropped, their number is returned; dense features of
// another width are Error{data}.
std::int64_t fit_columns(FeatureStore& X, std::int64_t cols, const std::string& name);

// Dense is smaller and faster when more than half of all values are stored.
void make_dense_if_full(FeatureStore& X);
// What training sees: CSR rows of which at least a quarter is stored, as dense rows if those take no more than a
// quarter of the memory; otherwise X itself.
Features dense_where_faster(const Features& X);

// Error{data} for values that are too large for it, Error{option} for sparse rows in 16 bits.
void convert_precision(FeatureStore& X, Precision precision, const std::string& name);

}  // namespace topwolf
