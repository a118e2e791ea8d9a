// The state of something that is at work, as named arrays: taken out, written to a file, and put back bit for bit. One
// function per class lists its members for both directions:
//
//   void exchange(State& state) { state("epoch", epoch_); state("shares", share_); }
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/fail.hpp"
#include "core/tensor_file.hpp"

namespace topwolf {

class State {
 public:
  // Empty, to be filled.
  State() = default;
  // To be put back; path is for messages.
  static State read(const TensorFile& file);

  bool restoring() const { return restoring_; }
  // Whether it was read from a file, whose numbers somebody may have changed.
  bool from_file() const { return !path_.empty(); }
  // From here on it is put back, as if it had been read from a file.
  void put_back() { restoring_ = true; }

  template <class T, class Allocator>
  void operator()(std::string_view name, std::vector<T, Allocator>& values) {
    if (restoring_) {
      const Array& array = find(name, dtype_of<T>());
      values.resize(array.bytes.size() / sizeof(T));
      if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
    } else {
      put(name, dtype_of<T>(), values.data(), values.size() * sizeof(T));
    }
  }

  // The same where only these sizes make sense.
  template <class T, class Allocator>
  void operator()(std::string_view name, std::vector<T, Allocator>& values, std::initializer_list<std::int64_t> sizes) {
    (*this)(name, values);
    const auto size = static_cast<std::int64_t>(values.size());
    if (restoring_ && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) refuse(name);
  }

  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(std::string_view name, T& value) {
    using Stored = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
    std::vector<Stored> one{static_cast<Stored>(value)};
    (*this)(name, one);
    if (restoring_) value = static_cast<T>(single(name, one));
  }

  // How often something happened: not more often than can be, so that products with it are numbers.
  void count(std::string_view name, std::int64_t& value, std::int64_t most = std::int64_t{1} << 40) {
    (*this)(name, value);
    if (restoring_ && (value < 0 || value > most)) refuse(name);
  }

  void operator()(std::string_view name, std::string& text) {
    std::vector<std::uint8_t> bytes(text.begin(), text.end());
    (*this)(name, bytes);
    if (restoring_) text.assign(bytes.begin(), bytes.end());
  }

  // What `body` exchanges is called "name.…".
  template <class Body>
  void within(std::string_view name, const Body& body) {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    body(*this);
    prefix_ = outer;
  }

  // Whether something of this name was taken out.
  bool has(std::string_view name) const { return arrays_.contains(prefix_ + std::string(name)); }
  // Error{data}: what was put back under this name makes no sense.
  [[noreturn]] void refuse(std::string_view name) const;

  // All arrays of another state, under this one's prefix.
  void add(std::string_view name, const State& part);
  // What add() put there, to be put back.
  State part(std::string_view name) const;

  void write(const std::string& path, const std::string& metadata_json) const;
  // The same as bytes for another process of the same kind; put back from there, `from` is for messages.
  std::string pack() const;
  static State unpack(std::string_view bytes, std::string from);

 private:
  struct Array {
    std::string dtype;
    std::vector<char> bytes;
  };
  void put(std::string_view name, std::string_view dtype, const void* data, std::size_t size);
  const Array& find(std::string_view name, std::string_view dtype) const;
  template <class T>
  T single(std::string_view name, const std::vector<T>& values) const {
    if (values.size() != 1) refuse(name);
    return values[0];
  }

  bool restoring_ = false;
  std::string path_;
  std::string prefix_;
  std::map<std::string, Array> arrays_;
};

}  // namespace topwolf
