// Rows of a source in memory, a window at a time. A source is cut into extents of about a megabyte, which are what is
// read at once; a window is some of them, in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "topwolf/matrix.hpp"

namespace topwolf {

// How much is in memory at a time, and read at once. A window has an extent at least.
struct WindowSize {
  double bytes = 64 << 20;
  double extent_bytes = 1 << 20;
};

// The extents of a source: so many rows each, the last one fewer.
class Extents {
 public:
  Extents(const RowSource& source, double extent_bytes);

  std::int64_t count() const { return static_cast<std::int64_t>(stored_.size()); }
  std::int64_t of(std::int64_t row) const { return row / rows_; }
  std::int64_t begin(std::int64_t e) const { return e * rows_; }
  std::int64_t end(std::int64_t e) const { return std::min(n_, (e + 1) * rows_); }
  std::int64_t size(std::int64_t e) const { return end(e) - begin(e); }
  std::int64_t stored(std::int64_t e) const { return stored_[static_cast<std::size_t>(e)]; }
  // In memory.
  double bytes(std::int64_t e) const {
    return value_bytes_ * static_cast<double>(stored(e)) + row_bytes_ * static_cast<double>(size(e));
  }
  double largest_bytes() const;

 private:
  std::int64_t n_, rows_ = 1;
  double value_bytes_, row_bytes_;
  std::vector<std::int64_t> stored_;
};

class Window {
 public:
  explicit Window(const RowSource& source);

  // These extents, one after the other, from now on. Reading is shared out among threads.
  void fill(const Extents& extents, std::span<const std::int64_t> which, int threads);
  const FeatureView& view() const { return view_; }

 private:
  const RowSource& source_;
  FeatureStore store_;  // has room for the largest window so far
  FeatureView view_;
};

// Tells the source that these extents are read next.
void expect(const RowSource& source, const Extents& extents, std::span<const std::int64_t> which);

// Calls body(first, X) for windows of rows, in their order: X has the rows from `first` on. Rows in memory are one
// window. While one is at work the next is on its way.
using WindowBody = std::function<void(std::int64_t first, const FeatureView& X)>;
void for_windows(const Features& X, int threads, const WindowBody& body, const WindowSize& size = {});
void for_windows(const RowSource& source, const Extents& extents, double bytes, int threads, const WindowBody& body);

// All rows of a source, in memory.
Features in_memory(const RowSource& source, int threads);

// What the rows of a source take there.
double bytes_in_memory(const RowSource& source);

}  // namespace topwolf
