// Named arrays in one file: the safetensors container with our metadata and a checksum (file_formats.md).
// Reading trusts nothing: a file is returned whole and verified, or refused with Error{data}; one that cannot be read
// is Error{io}. Knows nothing of what the arrays mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/atomic_file.hpp"
#include "topwolf/half.hpp"

namespace topwolf {

// An array to be written; the caller keeps the data alive.
struct Tensor {
  std::string name;
  std::string dtype;                // "F16", "BF16", "F32", "F64", "I64", "I32" or "U8"
  std::vector<std::int64_t> shape;  // row-major; empty: one number
  const void* data = nullptr;
};

// Throws Error{internal} for tensors that no file could hold: equal names, unknown types, negative sizes.
void write_tensor_file(const std::string& path, std::span<const Tensor> tensors, const std::string& metadata_json);

template <class T>
constexpr std::string_view dtype_of();

// A tensor file whose tensors need not be in memory: their shapes are known, and their elements come in any order.
class TensorFileInPlaces {
 public:
  // Tensor::data is not looked at.
  TensorFileInPlaces(const std::string& path, std::span<const Tensor> tensors, std::string metadata_json);

  // The elements from `first` on.
  template <class T>
  void put(std::string_view name, std::int64_t first, const std::vector<T>& elements) {
    file_.write_at(place(name, first), elements.data(), elements.size() * sizeof(T));
  }
  template <class T>
  void get(std::string_view name, std::int64_t first, std::size_t count, std::vector<T>& elements) const {
    elements.resize(count);
    file_.read_at(place(name, first), elements.data(), count * sizeof(T));
  }
  // All elements are there: the file gets its checksum, for which it is read once, and its name.
  void finish();

 private:
  std::size_t place(std::string_view name, std::int64_t first) const;
  std::string header(const std::string& checksum) const;

  struct Begin {
    std::size_t offset, element;
  };
  std::string path_, metadata_, table_;
  std::map<std::string, Begin, std::less<>> begin_;
  std::size_t data_begin_ = 0, data_size_ = 0;
  AtomicFile file_;
};

template <class T>
constexpr std::string_view dtype_of() {
  if constexpr (std::is_same_v<T, float>) {
    return "F32";
  } else if constexpr (std::is_same_v<T, double>) {
    return "F64";
  } else if constexpr (std::is_same_v<T, Float16>) {
    return "F16";
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return "BF16";
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return "I64";
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return "I32";
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>, "not a type that a tensor file holds");
    return "U8";
  }
}

class TensorFile {
 public:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::size_t begin = 0;  // of its bytes, counted from the start of the data section
    std::size_t size = 0;   // in bytes
  };

  static TensorFile read(const std::string& path);
  // The same, but that these tensors stay in the file: get() is for the others, place() for these. The checksum is
  // that of all, for which the file is read once, a few megabytes at a time.
  static TensorFile read_but(const std::string& path, std::span<const std::string_view> left_out);
  // The bytes of a file already read; path is for messages.
  static TensorFile parse(std::vector<char> bytes, const std::string& path);
  // Error{data} for bytes that no such file begins with.
  static void check_beginning(std::string_view bytes, const std::string& path);
  // What a file's header says that it holds, such as "topwolf-model"; "" where it has none. Nothing else is checked.
  static std::string format_of(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& metadata() const { return metadata_; }  // as given to write_tensor_file
  std::vector<std::string> names() const;
  bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  const std::string& dtype(std::string_view name) const { return entry(name).dtype; }
  const std::vector<std::int64_t>& shape(std::string_view name) const { return entry(name).shape; }

  // Where a tensor's bytes begin in the file.
  std::size_t place(std::string_view name) const { return file_data_begin_ + entry(name).begin; }

  // The bytes of a tensor of any type, valid while this object lives.
  std::span<const char> bytes(std::string_view name) const { return bytes_of(name, entry(name).dtype); }

  // The elements, valid while this object lives. Error{data} if there is no such tensor or its type is another.
  template <class T>
  std::span<const T> get(std::string_view name) const {
    const std::span<const char> bytes = bytes_of(name, dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  const Entry& entry(std::string_view name) const;
  std::span<const char> bytes_of(std::string_view name, std::string_view dtype) const;

  std::string path_;
  std::string metadata_;
  std::map<std::string, Entry, std::less<>> entries_;
  void check_checksum(const std::string& found, const std::string& stored) const;
  // The header, but for the checksum, which it returns; data_size: of the file, behind it.
  struct Checksum {
    std::string stored, table;
  };
  Checksum read_header(std::string_view text, std::size_t data_size, const std::string& path);

  std::vector<char> bytes_;  // the whole file; tensors are aligned in it
  std::size_t data_begin_ = 0, file_data_begin_ = 0;
  std::map<std::string, std::vector<char>, std::less<>> loaded_;  // with read_but(), in the place of bytes_
};

}  // namespace topwolf
