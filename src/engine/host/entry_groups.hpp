// Entries (i, j) sorted into groups, usually by class, in the order of the rows inside each: what makes every sum over
// rows run in one order, whatever the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/host/block_scores.hpp"

namespace topwolf {

// Carried: what an entry has besides its row. Sorting is by counting, two visits of all entries.
template <class Carried>
class EntryGroups {
 public:
  // each(visit) calls visit(group, row, carried) for all entries, rows ascending; it is called twice.
  template <class Each>
  void sort(std::int64_t groups, const Each& each) {
    begin_.assign(static_cast<std::size_t>(groups + 1), 0);
    each([&](std::int64_t g, std::int64_t, const Carried&) { ++begin_[static_cast<std::size_t>(g) + 1]; });
    for (std::size_t g = 1; g < begin_.size(); ++g) begin_[g] += begin_[g - 1];
    row_.resize(static_cast<std::size_t>(begin_.back()));
    carried_.resize(row_.size());
    next_.assign(begin_.begin(), begin_.end() - 1);
    each([&](std::int64_t g, std::int64_t row, const Carried& carried) {
      const auto at = static_cast<std::size_t>(next_[static_cast<std::size_t>(g)]++);
      row_[at] = row;
      carried_[at] = carried;
    });
  }

  std::size_t size() const { return row_.size(); }
  // Entries of group g are [begin(g), begin(g) + count(g)).
  std::int64_t begin(std::int64_t g) const { return begin_[static_cast<std::size_t>(g)]; }
  std::int64_t count(std::int64_t g) const { return begin(g + 1) - begin(g); }
  const std::vector<std::int64_t>& row() const { return row_; }
  const std::vector<Carried>& carried() const { return carried_; }

  std::span<const std::int64_t> rows_of(std::int64_t g) const { return of(g, row_); }
  std::span<const Carried> carried_of(std::int64_t g) const { return of(g, carried_); }

 private:
  template <class Value>
  std::span<const Value> of(std::int64_t g, const std::vector<Value>& values) const {
    return {values.data() + begin(g), static_cast<std::size_t>(count(g))};
  }

  std::vector<std::int64_t> begin_;  // groups + 1
  std::vector<std::int64_t> row_;
  std::vector<Carried> carried_;
  std::vector<std::int64_t> next_;  // groups: where the next entry of each goes
};

// The entries of a list, each with its place there. group_of(i, j) is the group of entry (i, j).
template <class GroupOf>
void sort_list(const EntryList& list, std::int64_t groups, const GroupOf& group_of, EntryGroups<std::size_t>& out) {
  out.sort(groups, [&](const auto& visit) {
    for_entries(list, [&](std::int64_t i, std::size_t e) { visit(group_of(i, list.column[e]), i, e); });
  });
}

}  // namespace topwolf
