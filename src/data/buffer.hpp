// Bytes that grow without being cleared or, where the system can move pages, copied: what files are read into.
// Refuses, with Error{memory}, what does not fit in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "core/fail.hpp"
#include "core/memory.hpp"

namespace topwolf {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::string_view text) {
    reserve(text.size() + 1);
    std::copy(text.begin(), text.end(), bytes_.get());
    size_ = text.size();
  }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  std::string_view view() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    // The system promises more than it has: an input without end must be refused before its bytes are there.
    constexpr std::size_t large = std::size_t{1} << 28;
    if (capacity > large && static_cast<double>(capacity - size_) > process_memory().available) fail_without(capacity);
    void* grown = std::realloc(bytes_.get(), capacity);
    if (grown == nullptr) fail_without(capacity);
    static_cast<void>(bytes_.release());
    bytes_.reset(static_cast<char*>(grown));
    capacity_ = capacity;
  }

  // The free space behind the content: at least one byte after make_room().
  void make_room() {
    if (size_ == capacity_) reserve(std::max(std::size_t{1} << 16, capacity_ + capacity_ / 2));
  }
  char* end() { return bytes_.get() + size_; }
  std::size_t room() const { return capacity_ - size_; }
  void added(std::size_t count) { size_ += count; }

  // Empty again, the space kept.
  void clear() { size_ = 0; }
  void push_back(char c) {
    make_room();
    *end() = c;
    ++size_;
  }

 private:
  [[noreturn]] static void fail_without(std::size_t capacity) {
    fail(ErrorKind::memory, "not enough memory for {} bytes of a file", capacity);
  }

  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<char, Free> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace topwolf
