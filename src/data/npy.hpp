// One NumPy array in the .npy format, versions 1.0 to 3.0. Trusts no header: the shape must fit the bytes that are
// there. Refuses, with Error{data}, object arrays, records and types other than numbers, bool and text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/features.hpp"
#include "data/labels.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// What the header says, and the data where they are in memory (borrowed from the bytes that were parsed).
struct NpyArray {
  char kind = 'f';             // f: float, i: int, u: unsigned, b: bool, U: UTF-32 text, S: bytes, V: two bytes, untold
  std::int64_t item_size = 0;  // in bytes
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t first_row = 0;  // of the rows that are here, for messages
  std::string_view data;
  std::string type;  // as written, for messages

  std::int64_t size() const;  // the product of the shape
};

bool is_npy(std::string_view bytes);

NpyArray parse_npy(std::string_view bytes, const std::string& name);

// Bytes that come one after the other: fills `to` with up to `count` of them, and returns fewer only at the end.
using ByteReader = std::function<std::size_t(char* to, std::size_t count)>;

// Features: two dimensions, numbers or bool, all finite in what they become. NumPy has no bfloat16: ml_dtypes writes it
// as V2, which is read as that only where it is asked for. Only a few megabytes of the array are in memory besides
// them. `size` is that of the whole file, and may be an upper bound: nothing larger is allocated.
FeatureStore read_npy_features(const ByteReader& reader, std::size_t size, const NumberChoice& number, int threads,
                               const std::string& name);
// Of the array that this header describes, the rows from `first` on, of which `bytes` are. For C order alone.
FeatureStore npy_rows(const NpyArray& array, std::string_view bytes, std::int64_t first, const NumberChoice& number,
                      const std::string& name);
// Error{data} for what are no features.
void check_npy_features(const NpyArray& array, const NumberChoice& number, const std::string& name);
// What features become, and whether that is how they lie in the file.
Precision npy_precision(const NpyArray& array, const NumberChoice& number);
bool npy_in_place(const NpyArray& array, Precision precision);
FeatureStore npy_features(std::string_view bytes, const NumberChoice& number, int threads, const std::string& name);

// The numbers of an array in row-major order, converted to T.
template <class T>
std::vector<T> npy_numbers(const NpyArray& array, const std::string& name);

// One dimension; text of no characters is a missing label.
Labels npy_labels(const NpyArray& array, const std::string& name);

// The header alone: at least npy_prefix bytes tell how long it is, magic and lengths included.
inline constexpr std::size_t npy_prefix = 12;
std::size_t npy_header_size(std::string_view bytes, const std::string& name);
NpyArray parse_npy_header(std::string_view header, const std::string& name);
std::int64_t npy_data_size(const NpyArray& array);  // in bytes; -1: more than 64 bits hold
[[noreturn]] void fail_npy_size(const NpyArray& array, std::size_t bytes, const std::string& name);

// What precedes the data in a file: version 1.0, little-endian, row-major. type: "<f4", ...
std::string npy_header(std::string_view type, const std::vector<std::int64_t>& shape);

}  // namespace topwolf
