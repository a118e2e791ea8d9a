// A dual in the memory of this process: the entries of all rows in one pool, each row with room to grow. No row has an
// allocation of its own.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine.hpp"

namespace topwolf {

class HostDual final : public Dual {
 public:
  explicit HostDual(std::int64_t n) : rows_(static_cast<std::size_t>(n)) {}

  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  RowView operator[](std::int64_t i) const {
    const Row& row = rows_[static_cast<std::size_t>(i)];
    return {row.at, row.size};
  }

  // Different rows may be changed by different threads at the same time.
  void assign(std::int64_t i, RowView entries);
  void add_entry(std::int64_t i, Entry entry);
  std::span<Entry> entries(std::int64_t i) {
    const Row& row = rows_[static_cast<std::size_t>(i)];
    return {row.at, row.size};
  }
  void drop_zeros(std::int64_t i);

  // A = 0; the room stays.
  void clear();

 private:
  struct Row {
    Entry* at = nullptr;
    std::uint32_t size = 0;
    std::uint32_t room = 0;  // a power of two, or 0
  };
  void grow(Row& row, std::size_t size);
  Entry* take(std::size_t exponent);

  std::vector<Row> rows_;
  std::mutex growing_;
  std::vector<std::unique_ptr<Entry[]>> chunks_;    // they never move
  Entry* chunk_end_ = nullptr;                      // of the last one, ...
  std::size_t left_ = 0;                            // ... and what is left of it
  std::array<std::vector<Entry*>, 33> outgrown_{};  // room for 2^e entries that rows have left
};

// Every dual of a host engine is one.
inline HostDual& on_host(Dual& A) {
  return static_cast<HostDual&>(A);
}
inline const HostDual& on_host(const Dual& A) {
  return static_cast<const HostDual&>(A);
}

// n rows over m classes; what makes no sense is refused.
void exchange(State& state, std::string_view name, HostDual& A, std::int64_t m);

}  // namespace topwolf
