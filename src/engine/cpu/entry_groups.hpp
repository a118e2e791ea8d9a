// The entries of a list sorted into groups, in the order of the rows inside each.
#pragma once

#include <vector>

#include "engine/host/block_scores.hpp"

namespace topwolf {

struct EntryGroups {
  std::vector<std::int64_t> begin;  // groups + 1
  std::vector<std::int64_t> row;    // of an entry, ...
  std::vector<std::int64_t> place;  // ... and its place in the list

  // group_of(i, j) is the group of entry (i, j).
  template <class GroupOf>
  void sort(const EntryList& list, std::int64_t groups, const GroupOf& group_of) {
    begin.assign(static_cast<std::size_t>(groups + 1), 0);
    row.resize(list.size());
    place.resize(list.size());
    for_entries(list, [&](std::int64_t i, std::int64_t e) { ++begin[group(list, i, e, group_of) + 1]; });
    for (std::size_t g = 1; g < begin.size(); ++g) begin[g] += begin[g - 1];
    std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
    for_entries(list, [&](std::int64_t i, std::int64_t e) {
      const auto at = static_cast<std::size_t>(next[group(list, i, e, group_of)]++);
      row[at] = i;
      place[at] = e;
    });
  }

  std::int64_t count(std::int64_t g) const {
    return begin[static_cast<std::size_t>(g) + 1] - begin[static_cast<std::size_t>(g)];
  }

 private:
  template <class GroupOf>
  static std::size_t group(const EntryList& list, std::int64_t i, std::int64_t e, const GroupOf& group_of) {
    return static_cast<std::size_t>(group_of(i, list.column[static_cast<std::size_t>(e)]));
  }
};

}  // namespace topwolf
