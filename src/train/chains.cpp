#include "train/chains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace topwolf {

void Chains::begin(Chain& chain, std::size_t place) const {
  chain.running = true;
  chain.place = place;
  chain.since = Stopwatch();
  chain.round = round_;
}

void Chains::ask() {
  if (collecting_) return;
  collecting_ = true;
  ++round_;
}

void Chains::leave(Chain& chain, State state) const {
  chain.state = std::move(state);
  chain.begun = true;
  chain.round = round_;
}

bool Chains::collected() {
  const bool awaited = std::any_of(chains_.begin(), chains_.end(),
                                   [&](const Chain& chain) { return chain.running && chain.round != round_; });
  return !awaited && std::exchange(collecting_, false);
}

void Chains::exchange(State& state) {
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    Chain& chain = chains_[c];
    const std::string name = fmt::format("chain{}", c);
    state.within(name, [&](State& part) { part("begun", chain.begun); });
    if (state.restoring()) {
      chain.state = state.part(name + ".run");
    } else {
      state.add(name + ".run", chain.state);
    }
  }
}

void Chains::check(const SearchTable& table, const std::vector<std::size_t>& needed, const State& state) const {
  std::vector<char> wanted(table.size(), 0);
  for (const std::size_t place : needed) wanted[place] = 1;
  for (std::size_t place = 0; place < table.size(); ++place) {
    const Chain& chain = chains_[table.chain_of(place)];
    const bool first = table.C_of(place) == 0, follows = !first && table.made(place - table.folds);
    const bool next = !table.made(place) && (first || follows);
    const bool lost = next && wanted[place] != 0 && (follows || chain.begun) && !chain.state.has("iteration");
    if (lost || (table.made(place) && !first && !follows)) state.refuse("iterations");
  }
}

}  // namespace topwolf
