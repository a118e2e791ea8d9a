// What is asked of shards, and what they answer: plain numbers, so that a shard can be a thread's, a process's or
// another machine's. Answers of two shards add up to the answer of both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// Engine's and BlockAscent's verbs, on a part of the rows; before them what a shard is told about the problem, which is
// its owner's business.
enum class ShardVerb : std::int32_t {
  describe,
  prepare,
  problem,
  geometry,
  pass,
  ascend,
  loss_sum,
  loss_sum_at_zero,
  weights_of,
  curvature,
  make_dual,
  mix,
  scale,
  sums,
  put_inside,
  project,
  rows_of,
  save_dual,
  restore_dual,
  begin,
  epoch,
  step,
  take,  // a part of the last round, where it is worth more than the question says: by how much
  save_ascent,
  restore_ascent,
  forget,  // whatever was asked before and not taken; duals that are missing are 0
};

struct ShardQuestion {
  ShardVerb verb = ShardVerb::geometry;
  std::vector<std::int64_t> duals{};    // which the verb is about; -1: none
  std::vector<double> numbers{};        // as the verb wants them
  std::vector<double> W{};              // common weights
  SparseRows rows{};                    // of all shards
  std::vector<std::string> states{};    // of all shards, to be put back
  std::vector<std::int64_t> dropped{};  // duals that nobody needs any more
  double gamma = 1.0;                   // B3: of the round before, what is taken

  template <class Visit>
  void fields(const Visit& visit) {
    visit(verb), visit(duals), visit(numbers), visit(W), visit(rows.row_begin), visit(rows.column);
    visit(rows.values), visit(states), visit(dropped), visit(gamma);
  }
};

struct ShardAnswer {
  std::vector<double> W{};            // summed
  std::vector<long double> sums{};    // summed
  std::vector<double> most{};         // the largest
  std::vector<std::int32_t> ranks{};  // in the order of the shards, as what follows
  SparseRows rows{};
  std::vector<std::string> states{};
  double worst = 0.0;  // of the rows that were looked at, and which it is
  std::int64_t worst_row = 0;
  bool lost = false;  // some shard does not know any more what it was told before: the answer is worth nothing

  template <class Visit>
  void fields(const Visit& visit) {
    visit(W), visit(sums), visit(most), visit(ranks), visit(rows.row_begin), visit(rows.column), visit(rows.values);
    visit(states), visit(worst), visit(worst_row), visit(lost);
  }
};

// The rows of `right` come after those of `left`, which becomes the answer of both.
void add(const ShardAnswer& right, ShardAnswer& left);

// The answer of the shards [from, to), added in a tree that depends on their numbers alone: of(k) is that of one.
template <class Of>
ShardAnswer add_in_tree(std::int64_t from, std::int64_t to, const Of& of) {
  if (to - from == 1) return of(from);
  std::int64_t half = 1;
  while (2 * half < to - from) half *= 2;
  ShardAnswer left = add_in_tree(from, from + half, of);
  add(add_in_tree(from + half, to, of), left);
  return left;
}

// On their way to another process of the same machine type. What is cut short is Error{data}.
std::string pack(ShardQuestion question);
std::string pack(ShardAnswer answer);
ShardVerb verb_of(std::string_view question);
ShardQuestion unpack_question(std::string_view bytes);
ShardAnswer unpack_answer(std::string_view bytes);

}  // namespace topwolf
