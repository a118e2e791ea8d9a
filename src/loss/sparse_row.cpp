// Arithmetic of sparse rows over the classes.

#include <algorithm>

#include "loss/row.hpp"

namespace topwolf {

void sort_by_class(SparseRow& row) {
  std::sort(row.begin(), row.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
}

double dot_c(const RowMargins& delta, std::int64_t y, RowView alpha) {
  long double sum = 0.0L;  // of m terms with softmax; a certificate counts a few roundings
  for (const auto& [j, value] : alpha) sum -= margin(delta, j, y) * value;
  return static_cast<double>(sum);
}

double squared_norm(RowView alpha) {
  double sum = 0.0;
  for (const auto& entry : alpha) sum += entry.value * entry.value;
  return sum;
}

void mix(double of_u, RowView u, double of_alpha, RowView alpha, SparseRow& out) {
  // A merge of two ascending lists; zeros are dropped, because every entry costs a row of X later on.
  out.clear();
  const auto push = [&](std::int32_t column, double value) {
    if (value != 0.0) out.push_back({column, value});
  };
  auto a = u.begin();
  auto b = alpha.begin();
  while (a != u.end() || b != alpha.end()) {
    if (b == alpha.end() || (a != u.end() && a->column < b->column)) {
      push(a->column, of_u * a->value);
      ++a;
    } else if (a == u.end() || b->column < a->column) {
      push(b->column, of_alpha * b->value);
      ++b;
    } else {
      push(a->column, of_u * a->value + of_alpha * b->value);
      ++a, ++b;
    }
  }
}

}  // namespace topwolf
