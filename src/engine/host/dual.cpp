// Rooms are powers of two: a row that outgrows its room leaves it to the next row of that size, and moves at most
// log2(m) times. Only growing takes the lock; rows in their rooms are their threads' own.
#include "engine/host/dual.hpp"

#include <algorithm>
#include <bit>

namespace topwolf {

void HostDual::assign(std::int64_t i, RowView entries) {
  Row& row = rows_[static_cast<std::size_t>(i)];
  if (entries.size() > row.room) {
    row.size = 0;  // nothing is worth keeping
    grow(row, entries.size());
  }
  std::copy(entries.begin(), entries.end(), row.at);
  row.size = static_cast<std::uint32_t>(entries.size());
}

void HostDual::add_entry(std::int64_t i, Entry entry) {
  Row& row = rows_[static_cast<std::size_t>(i)];
  if (row.size == row.room) grow(row, row.size + 1);
  row.at[row.size++] = entry;
}

void HostDual::drop_zeros(std::int64_t i) {
  Row& row = rows_[static_cast<std::size_t>(i)];
  const Entry* const end = std::remove_if(row.at, row.at + row.size, [](const Entry& e) { return e.value == 0.0; });
  row.size = static_cast<std::uint32_t>(end - row.at);
}

void HostDual::clear() {
  for (Row& row : rows_) row.size = 0;
}

void HostDual::grow(Row& row, std::size_t size) {
  constexpr std::size_t least = 4;
  const std::size_t room = std::bit_ceil(std::max(least, size));
  const std::lock_guard lock(growing_);
  Entry* const at = take(static_cast<std::size_t>(std::countr_zero(room)));
  std::copy(row.at, row.at + row.size, at);
  if (row.room > 0) outgrown_[static_cast<std::size_t>(std::countr_zero(row.room))].push_back(row.at);
  row.at = at;
  row.room = static_cast<std::uint32_t>(room);
}

Entry* HostDual::take(std::size_t exponent) {
  auto& free = outgrown_[exponent];
  if (!free.empty()) {
    Entry* const at = free.back();
    free.pop_back();
    return at;
  }
  const std::size_t room = std::size_t{1} << exponent;
  if (left_ < room) {
    // Small duals do not pay for large chunks; what is left of the last one is given away.
    constexpr std::size_t largest = std::size_t{1} << 15;
    left_ = std::max(room, std::min(largest, 4 * rows_.size()));
    chunks_.push_back(std::make_unique_for_overwrite<Entry[]>(left_));
    chunk_end_ = chunks_.back().get() + left_;
  }
  Entry* const at = chunk_end_ - left_;
  left_ -= room;
  return at;
}

void exchange(State& state, std::string_view name, HostDual& A, std::int64_t m) {
  std::vector<std::int64_t> count;
  std::vector<std::int32_t> column;
  std::vector<double> value;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    count.push_back(static_cast<std::int64_t>(A[i].size()));
    for (const Entry& entry : A[i]) {
      column.push_back(entry.column);
      value.push_back(entry.value);
    }
  }
  // Counts and entries, not pointers: the rooms of the dual that is restored are its own.
  state.within(name, [&](State& rows) {
    rows("count", count, {A.rows()});
    rows("column", column);
    rows("value", value, {static_cast<std::int64_t>(column.size())});
  });
  if (!state.restoring()) return;
  A.clear();
  std::size_t at = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const std::int64_t entries = count[static_cast<std::size_t>(i)];
    if (entries < 0 || entries > static_cast<std::int64_t>(column.size() - at)) state.refuse(name);
    // A file may say anything; steps rely on columns that ascend.
    std::int32_t before = -1;
    for (std::int64_t e = 0; e < entries; ++e, ++at) {
      if (column[at] <= before || column[at] >= m) state.refuse(name);
      before = column[at];
      A.add_entry(i, {column[at], value[at]});
    }
  }
  if (at != column.size()) state.refuse(name);
}

}  // namespace topwolf
