#include "engine/engine.hpp"

namespace topwolf {

void exchange(State& state, std::string_view name, DualRows& A, std::int64_t n, std::int64_t m) {
  std::vector<std::int64_t> count;
  std::vector<std::int32_t> column;
  std::vector<double> value;
  for (const SparseRow& row : A) {
    count.push_back(static_cast<std::int64_t>(row.size()));
    for (const Entry& entry : row) {
      column.push_back(entry.column);
      value.push_back(entry.value);
    }
  }
  state.within(name, [&](State& rows) {
    rows("count", count, {0, n});
    rows("column", column);
    rows("value", value, {static_cast<std::int64_t>(column.size())});
  });
  if (!state.restoring()) return;
  A.assign(count.size(), {});
  std::size_t at = 0;
  for (std::size_t i = 0; i < A.size(); ++i) {
    if (count[i] < 0 || count[i] > static_cast<std::int64_t>(column.size() - at)) state.refuse(name);
    for (std::int64_t e = 0; e < count[i]; ++e, ++at) {
      const std::int32_t before = A[i].empty() ? -1 : A[i].back().column;
      if (column[at] <= before || column[at] >= m) state.refuse(name);
      A[i].push_back({column[at], value[at]});
    }
  }
  if (at != column.size()) state.refuse(name);
}

}  // namespace topwolf
