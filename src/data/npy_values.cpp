// The values of .npy arrays: every type of number, either byte order, either storage order.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/features.hpp"
#include "data/npy.hpp"

namespace topwolf {

namespace {

template <class Bits>
Bits swap_bytes(Bits bits) {
  if constexpr (sizeof(Bits) == 1) {
    return bits;
  } else if constexpr (sizeof(Bits) == 2) {
    return __builtin_bswap16(bits);
  } else if constexpr (sizeof(Bits) == 4) {
    return __builtin_bswap32(bits);
  } else {
    return __builtin_bswap64(bits);
  }
}

template <std::size_t size>
using BitsOf = std::conditional_t<
    size == 1, std::uint8_t,
    std::conditional_t<size == 2, std::uint16_t, std::conditional_t<size == 4, std::uint32_t, std::uint64_t>>>;

template <class Source>
auto load(const char* bytes, bool swap) {
  BitsOf<sizeof(Source)> bits;
  std::memcpy(&bits, bytes, sizeof bits);
  if (swap) bits = swap_bytes(bits);
  if constexpr (std::is_same_v<Source, bool>) {
    return static_cast<int>(bits != 0);
  } else {
    return std::bit_cast<Source>(bits);
  }
}

bool must_swap(const NpyArray& array) {
  return array.big_endian == (std::endian::native == std::endian::little);
}

constexpr char bfloat16_kind = 'B';  // no kind of NumPy's: what V2 is once somebody said so

// Calls visitor.operator()<Source>() with the type of the array's elements.
template <class Visitor>
void visit_number_type(const NpyArray& array, const std::string& name, Visitor&& visitor) {
  const auto visit_sized = [&]<class T8, class T16, class T32, class T64>() {
    if (array.item_size == 1) return visitor.template operator()<T8>();
    if (array.item_size == 2) return visitor.template operator()<T16>();
    if (array.item_size == 4) return visitor.template operator()<T32>();
    return visitor.template operator()<T64>();
  };
  switch (array.kind) {
    case 'f':
      return visit_sized.template operator()<Float16, Float16, float, double>();
    case 'i':
      return visit_sized.template operator()<std::int8_t, std::int16_t, std::int32_t, std::int64_t>();
    case 'u':
      return visit_sized.template operator()<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
    case 'b':
      return visitor.template operator()<bool>();
    case bfloat16_kind:
      return visitor.template operator()<BFloat16>();
    default:
      fail(ErrorKind::data, "{}: numbers are needed, but the type is {}", name, quote(array.type));
  }
}

// The next `count` bytes of the array's data, valid until the next call.
using BlockSource = std::function<std::string_view(std::size_t count)>;

// The array arrives by blocks of whole rows or, in Fortran order, of whole columns.
template <class T>
DenseStore<T> dense_features(const NpyArray& array, const BlockSource& next, int threads, const std::string& name) {
  const std::int64_t rows = array.shape[0], cols = array.shape[1], size = array.item_size;
  DenseStore<T> X{{}, rows, cols};
  X.values.resize(static_cast<std::size_t>(rows * cols));
  const bool by_row = !array.fortran_order, swap = must_swap(array);
  const std::int64_t lines = by_row ? rows : cols, line_bytes = size * (by_row ? cols : rows);
  const std::int64_t row_step = by_row ? line_bytes : size, column_step = by_row ? size : line_bytes;
  constexpr std::int64_t block_bytes = 4 << 20;
  // A type of no bytes is refused below, as no number.
  const std::int64_t block = std::max<std::int64_t>(1, block_bytes / std::max<std::int64_t>(1, line_bytes));
  for (std::int64_t line = 0; line < lines; line += block) {
    const std::int64_t end = std::min(lines, line + block);
    const std::string_view bytes = next(static_cast<std::size_t>((end - line) * line_bytes));
    const std::int64_t row = by_row ? line : 0, row_end = by_row ? end : rows;
    const std::int64_t column = by_row ? 0 : line, column_end = by_row ? cols : end;
    constexpr std::int64_t task = 64;  // rows
    visit_number_type(array, name, [&]<class Source>() {
      parallel_first_error((row_end - row + task - 1) / task, threads, [&](std::int64_t t) {
        for (std::int64_t i = row + t * task; i < std::min(row_end, row + (t + 1) * task); ++i) {
          const char* from = bytes.data() + (i - row) * row_step;
          T* const to = X.values.data() + i * cols;
          for (std::int64_t j = column; j < column_end; ++j, from += column_step) {
            const auto value = load<Source>(from, swap);
            to[j] = static_cast<T>(value);
            if (!std::isfinite(to[j]))
              fail_not_finite(name, array.first_row + i, j, static_cast<double>(value), precision_of<T>);
          }
        }
      });
    });
  }
  return X;
}

// Features, of a type that can be read.
NpyArray checked(NpyArray array, const NumberChoice& number, const std::string& name) {
  if (array.shape.size() != 2 || array.size() == 0) {
    fail(ErrorKind::data, "{}: features need two dimensions, none of them 0, but the shape is ({})", name,
         fmt::join(array.shape, ", "));
  }
  if (array.shape[1] > most_columns) {
    fail(ErrorKind::data, "{}: the array has {} columns, more than {}", name, array.shape[1], most_columns);
  }
  if (array.kind == 'V') {
    if (number.asked != Precision::bfloat16) {
      fail(ErrorKind::data, "{}: the type {} does not say what it is; bfloat16 is read with {}", name,
           quote(array.type), Field{"precision", to_string(Precision::bfloat16)});
    }
    array.kind = bfloat16_kind;
  }
  return array;
}

FeatureStore any_features(NpyArray array, const BlockSource& next, const NumberChoice& number, int threads,
                          const std::string& name) {
  array = checked(std::move(array), number, name);
  threads = resolve_threads(threads);
  switch (npy_precision(array, number)) {
    case Precision::float32:
      return dense_features<float>(array, next, threads, name);
    case Precision::float16:
      return dense_features<Float16>(array, next, threads, name);
    case Precision::bfloat16:
      return dense_features<BFloat16>(array, next, threads, name);
    default:
      return dense_features<double>(array, next, threads, name);
  }
}

}  // namespace

Precision npy_precision(const NpyArray& array, const NumberChoice& number) {
  const bool half = array.kind == 'f' && array.item_size == 2;
  return number.of(half ? Precision::float16 : number.usual);
}

void check_npy_features(const NpyArray& array, const NumberChoice& number, const std::string& name) {
  visit_number_type(checked(array, number, name), name, []<class Source>() {});
}

bool npy_in_place(const NpyArray& array, Precision precision) {
  if (array.fortran_order || must_swap(array)) return false;
  if (array.kind == 'V') return precision == Precision::bfloat16;
  const std::int64_t size = precision == Precision::float64 ? 8 : precision == Precision::float32 ? 4 : 2;
  return array.kind == 'f' && array.item_size == size && precision != Precision::bfloat16;
}

FeatureStore npy_rows(const NpyArray& array, std::string_view bytes, std::int64_t first, const NumberChoice& number,
                      const std::string& name) {
  NpyArray rows = array;
  rows.shape[0] = static_cast<std::int64_t>(bytes.size()) / (array.item_size * array.shape[1]);
  rows.first_row = first;
  std::size_t at = 0;
  const auto next = [&](std::size_t count) { return bytes.substr(std::exchange(at, at + count), count); };
  return any_features(std::move(rows), next, number, 1, name);
}

FeatureStore npy_features(std::string_view bytes, const NumberChoice& number, int threads, const std::string& name) {
  const NpyArray array = parse_npy(bytes, name);
  std::size_t at = 0;
  const auto next = [&](std::size_t count) { return array.data.substr(std::exchange(at, at + count), count); };
  return any_features(array, next, number, threads, name);
}

FeatureStore read_npy_features(const ByteReader& reader, std::size_t size, const NumberChoice& number, int threads,
                               const std::string& name) {
  std::string header(npy_prefix, '\0');
  header.resize(reader(header.data(), npy_prefix));
  const std::size_t header_size = npy_header_size(header, name), read = header.size();
  if (header_size > size) fail(ErrorKind::data, "{}: the .npy header is truncated", name);
  header.resize(std::max(header_size, read));
  header.resize(read + reader(header.data() + read, header.size() - read));
  const NpyArray array = parse_npy_header(header, name);
  const std::int64_t needed = npy_data_size(array);
  if (needed < 0 || static_cast<std::size_t>(needed) > size - header_size)
    fail_npy_size(array, size - header_size, name);

  std::string block;
  std::size_t seen = 0;
  const auto next = [&](std::size_t count) -> std::string_view {
    block.resize(count);
    const std::size_t got = reader(block.data(), count);
    seen += got;
    if (got < count) fail_npy_size(array, seen, name);
    return block;
  };
  FeatureStore X = any_features(array, next, number, threads, name);
  char more = 0;
  if (reader(&more, 1) != 0) fail_npy_size(array, size - header_size, name);
  return X;
}

template <class T>
std::vector<T> npy_numbers(const NpyArray& array, const std::string& name) {
  const std::int64_t size = array.size();
  // A transposed array is asked for only where it has two dimensions.
  const bool transposed = array.fortran_order && array.shape.size() == 2;
  if (array.fortran_order && array.shape.size() > 2) {
    fail(ErrorKind::data, "{}: at most two dimensions are supported, but there are {}", name, array.shape.size());
  }
  std::vector<T> numbers(static_cast<std::size_t>(size));
  visit_number_type(array, name, [&]<class Source>() {
    const bool swap = must_swap(array);
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t from = transposed ? k % array.shape[1] * array.shape[0] + k / array.shape[1] : k;
      numbers[static_cast<std::size_t>(k)] =
          static_cast<T>(load<Source>(array.data.data() + from * array.item_size, swap));
    }
  });
  return numbers;
}

template std::vector<float> npy_numbers(const NpyArray&, const std::string&);
template std::vector<double> npy_numbers(const NpyArray&, const std::string&);
template std::vector<std::int64_t> npy_numbers(const NpyArray&, const std::string&);

namespace {

std::string spell_real(auto value) {
  std::string text = fmt::format("{}", value);
  // 3.0 stays distinguishable from the integer 3.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

void append_utf8(std::string& text, std::uint32_t point, const std::string& name, std::int64_t row) {
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
    fail(ErrorKind::data, "{}: row {}: the label is not valid text", name, row + 1);
  }
  if (point < 0x80) {
    text += static_cast<char>(point);
    return;
  }
  const int extra = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(lead[extra] | (point >> (6 * extra)));
  for (int k = extra - 1; k >= 0; --k) text += static_cast<char>(0x80 | ((point >> (6 * k)) & 0x3f));
}

std::string read_text(const NpyArray& array, std::int64_t row, const std::string& name) {
  const char* const begin = array.data.data() + row * array.item_size;
  std::string text;
  if (array.kind == 'S') {
    text.assign(begin, static_cast<std::size_t>(array.item_size));
  } else {
    for (std::int64_t k = 0; k < array.item_size; k += 4) {
      append_utf8(text, load<std::uint32_t>(begin + k, must_swap(array)), name, row);
    }
  }
  // numpy pads with NUL.
  text.resize(text.find_last_not_of('\0') + 1);
  if (text.find('\0') != std::string::npos)
    fail(ErrorKind::data, "{}: row {}: the label has a NUL byte", name, row + 1);
  return text;
}

template <class Source>
std::string spell(const NpyArray& array, std::int64_t row, const std::string& name) {
  const auto value = load<Source>(array.data.data() + row * array.item_size, must_swap(array));
  if constexpr (std::is_same_v<Source, bool>) {
    return value ? "True" : "False";
  } else if constexpr (!std::is_integral_v<Source>) {
    if (!std::isfinite(value))
      fail(ErrorKind::data, "{}: row {}: the label {} is not finite", name, row + 1, double{value});
    return spell_real(static_cast<Working<Source>>(value));
  } else {
    return std::to_string(value);
  }
}

}  // namespace

Labels npy_labels(const NpyArray& array, const std::string& name) {
  if (array.shape.size() != 1) {
    fail(ErrorKind::data, "{}: labels need one dimension, but the shape is ({})", name, fmt::join(array.shape, ", "));
  }
  Labels labels;
  LabelTable table;
  const auto fill = [&](const auto& read) {
    for (std::int64_t i = 0; i < array.shape[0]; ++i) {
      const std::string text = read(i);
      labels.label.push_back(text.empty() ? -1 : table.add(text));
    }
  };
  if (array.kind == 'U' || array.kind == 'S') {
    labels.type = LabelType::text;
    // Items of no bytes take no room in the file, so their number proves nothing.
    if (array.item_size == 0) fail(ErrorKind::data, "{}: all labels are empty", name);
    fill([&](std::int64_t i) { return read_text(array, i, name); });
  } else {
    labels.type = array.kind == 'f' ? LabelType::real : array.kind == 'b' ? LabelType::boolean : LabelType::integer;
    visit_number_type(array, name,
                      [&]<class Source>() { fill([&](std::int64_t i) { return spell<Source>(array, i, name); }); });
  }
  labels.spelling = table.take();
  return labels;
}

}  // namespace topwolf
