#include "engine/engine.hpp"

namespace topwolf {

void exchange(State& state, std::string_view name, DualRows& A) {
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
    rows("count", count);
    rows("column", column);
    rows("value", value);
  });
  if (!state.restoring()) return;
  A.assign(count.size(), {});
  std::size_t at = 0;
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::int64_t e = 0; e < count[i]; ++e, ++at) A[i].push_back({column.at(at), value.at(at)});
  }
}

}  // namespace topwolf
