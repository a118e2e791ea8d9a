// What shards and train() tell each other besides an engine's questions, each as one State of named values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/state.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/loss.hpp"

namespace topwolf {

inline void exchange(State& state, ClassList& classes) {
  auto count = static_cast<std::int64_t>(classes.names.size()), type = static_cast<std::int64_t>(classes.type);
  state("classes", count);
  state("label_type", type);
  std::string names;
  std::vector<std::int64_t> ends;
  for (const std::string& name : classes.names) {
    names += name;
    ends.push_back(static_cast<std::int64_t>(names.size()));
  }
  state("names", names);
  state("name_ends", ends);
  if (!state.restoring()) return;
  classes.type = static_cast<LabelType>(type);
  classes.names.clear();
  std::int64_t from = 0;
  for (const std::int64_t to : ends) {
    if (to < from || to > static_cast<std::int64_t>(names.size())) state.refuse("name_ends");
    classes.names.push_back(names.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
    from = to;
  }
}

template <class E>
void exchange_name(State& state, std::string_view name, E& value) {
  auto number = static_cast<std::int64_t>(value);
  state(name, number);
  value = static_cast<E>(number);
}

// What rows a shard has.
struct ShardRows {
  std::int64_t n = 0, d = 0;
  bool sparse = false;
  Precision precision = Precision::float32;
  int index_base = 1;
  NormalizeKind normalization = NormalizeKind::none;
  ClassList classes;  // that occur in it
  std::string source, hash;
  double weight = 0.0;  // of all its rows
  double shortest2 = 0.0, longest2 = 0.0;

  void exchange(State& state) {
    state("n", n);
    state("d", d);
    state("sparse", sparse);
    exchange_name(state, "precision", precision);
    state("index_base", index_base);
    exchange_name(state, "normalization", normalization);
    topwolf::exchange(state, classes);
    state("source", source);
    state("hash", hash);
    state("weight", weight);
    state("shortest2", shortest2);
    state("longest2", longest2);
  }
};

// What all rows are together, and where those of each shard begin among them.
struct ShardPlan {
  std::int64_t d = 0;
  double N = 0.0, bias = 0.0;
  bool center = false;
  ClassList classes;
  std::vector<std::int64_t> first_rows;

  void exchange(State& state) {
    state("d", d);
    state("N", N);
    state("bias", bias);
    state("center", center);
    topwolf::exchange(state, classes);
    state("first_rows", first_rows);
  }
};

struct ShardProblem {
  double lambda = 0.0;
  Loss loss;
  std::vector<double> cost, mean;

  void exchange(State& state) {
    state("lambda", lambda);
    exchange_name(state, "family", loss.family);
    state("rho", loss.rho);
    state("smoothing", loss.smoothing);
    state("temperature", loss.temperature);
    state("cost", cost);
    state("mean", mean);
  }
};

template <class Value>
std::string pack_value(Value value) {
  State state;
  value.exchange(state);
  return state.pack();
}
template <class Value>
Value unpack_value(std::string_view bytes) {
  Value value;
  State state = State::unpack(bytes, "what a shard was sent");
  value.exchange(state);
  return value;
}

}  // namespace topwolf
