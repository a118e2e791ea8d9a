// The header of a .npy file: a Python dictionary with three known keys, read without trusting it.
#include <algorithm>
#include <cctype>

#include "core/fail.hpp"
#include "data/npy.hpp"
#include "data/text.hpp"

namespace topwolf {

namespace {

using std::literals::string_view_literals::operator""sv;

constexpr std::string_view magic = "\x93NUMPY";

// The few Python literals that numpy writes.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void read(NpyArray& array) {
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = read_string();
      expect(':');
      if (key == "descr") {
        if (next() == '[') fail(ErrorKind::data, "{}: arrays of records are not supported", name_);
        array.type = read_string();
        has_type = true;
      } else if (key == "fortran_order") {
        array.fortran_order = read_bool();
        has_order = true;
      } else if (key == "shape") {
        array.shape = read_shape();
        has_shape = true;
      } else {
        fail_header();
      }
      if (!accept(',') && next() != '}') fail_header();
    }
    if (!has_type || !has_order || !has_shape) fail_header();
  }

 private:
  [[noreturn]] void fail_header() const { fail(ErrorKind::data, "{}: the .npy header is corrupt", name_); }

  // 0 at the end.
  char next() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char c) {
    if (next() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_header();
  }
  std::string read_string() {
    const char mark = next();
    if (mark != '\'' && mark != '"') fail_header();
    const std::size_t end = text_.find(mark, 1);
    if (end == std::string_view::npos) fail_header();
    std::string result(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return result;
  }
  bool read_bool() {
    next();
    for (const auto& [word, value] : {std::pair{"True"sv, true}, std::pair{"False"sv, false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    fail_header();
  }
  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(read_extent());
      if (!accept(',') && next() != ')') fail_header();
    }
    return shape;
  }
  std::int64_t read_extent() {
    std::int64_t extent = 0;
    if (!std::isdigit(static_cast<unsigned char>(next()))) fail_header();
    while (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_.front()))) {
      const int digit = text_.front() - '0';
      if (__builtin_mul_overflow(extent, 10, &extent) || __builtin_add_overflow(extent, digit, &extent)) fail_header();
      text_.remove_prefix(1);
    }
    // Python 2 wrote 3L.
    if (!text_.empty() && text_.front() == 'L') text_.remove_prefix(1);
    return extent;
  }

  std::string_view text_;
  const std::string& name_;
};

void read_type(NpyArray& array, const std::string& name) {
  std::string_view rest = array.type;
  if (!rest.empty() && std::string_view("<>|=").find(rest.front()) != std::string_view::npos) {
    array.big_endian = rest.front() == '>';
    rest.remove_prefix(1);
  }
  array.kind = rest.empty() ? '?' : rest.front();
  if (array.kind == 'O') fail(ErrorKind::data, "{}: arrays of Python objects are not supported", name);
  if (!rest.empty()) rest.remove_prefix(1);
  // Nine digits fit, four times that too (U has four bytes a character), without a look at overflow.
  const bool plain = !rest.empty() && rest.size() <= 9 &&
                     std::all_of(rest.begin(), rest.end(), [](unsigned char c) { return std::isdigit(c); });
  array.item_size = plain ? std::stoll(std::string(rest)) : -1;
  const auto one_of = [&](std::initializer_list<std::int64_t> sizes) {
    return std::find(sizes.begin(), sizes.end(), array.item_size) != sizes.end();
  };
  if (array.kind == 'U') array.item_size *= 4;
  const bool known = (array.kind == 'f' && one_of({2, 4, 8})) || (array.kind == 'b' && one_of({1})) ||
                     ((array.kind == 'i' || array.kind == 'u') && one_of({1, 2, 4, 8})) ||
                     ((array.kind == 'U' || array.kind == 'S') && array.item_size >= 0) ||
                     (array.kind == 'V' && one_of({2}));
  if (!known) {
    fail(ErrorKind::data, "{}: the type {} is not supported; integers, float16 to float64, bool, U and S are", name,
         quote(array.type));
  }
}

}  // namespace

bool is_npy(std::string_view bytes) {
  return bytes.starts_with(magic);
}

// Cannot overflow: npy_data_size() was asked before anybody asks for it.
std::int64_t NpyArray::size() const {
  std::int64_t product = std::find(shape.begin(), shape.end(), 0) == shape.end() ? 1 : 0;
  for (const std::int64_t extent : shape) product = product == 0 ? 0 : product * extent;
  return product;
}

// An extent of 0 makes it 0, whatever the others are.
std::int64_t npy_data_size(const NpyArray& array) {
  if (std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end()) return 0;
  std::int64_t bytes = std::max<std::int64_t>(array.item_size, 1);
  for (const std::int64_t extent : array.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return -1;
  }
  return array.item_size == 0 ? 0 : bytes;
}

std::size_t npy_header_size(std::string_view bytes, const std::string& name) {
  if (!is_npy(bytes)) fail(ErrorKind::data, "{}: not a .npy file: it does not begin with \\x93NUMPY", name);
  const std::size_t version = bytes.size() > magic.size() ? static_cast<unsigned char>(bytes[magic.size()]) : 0;
  // Version 1 has a length of two bytes, later ones of four.
  const std::size_t length_size = version == 1 ? 2 : 4;
  const std::size_t prefix = magic.size() + 2 + length_size;
  if (version < 1 || version > 3 || bytes.size() < prefix) {
    fail(ErrorKind::data, "{}: the .npy header is corrupt or of a version other than 1.0 to 3.0", name);
  }
  std::size_t length = 0;
  for (std::size_t k = 0; k < length_size; ++k) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[magic.size() + 2 + k])) << (8 * k);
  }
  return prefix + length;
}

NpyArray parse_npy_header(std::string_view header, const std::string& name) {
  if (header.size() < npy_header_size(header, name)) fail(ErrorKind::data, "{}: the .npy header is truncated", name);
  NpyArray array;
  HeaderReader(header.substr(header[magic.size()] == 1 ? 10 : 12), name).read(array);
  read_type(array, name);
  return array;
}

void fail_npy_size(const NpyArray& array, std::size_t bytes, const std::string& name) {
  fail(ErrorKind::data, "{}: the shape ({}) of type {} does not fit the {} bytes of data", name,
       fmt::join(array.shape, ", "), quote(array.type), bytes);
}

NpyArray parse_npy(std::string_view bytes, const std::string& name) {
  const std::size_t header = npy_header_size(bytes, name);
  NpyArray array = parse_npy_header(bytes.substr(0, header), name);
  array.data = bytes.substr(header);
  const std::int64_t needed = npy_data_size(array);
  if (needed < 0 || static_cast<std::size_t>(needed) != array.data.size())
    fail_npy_size(array, array.data.size(), name);
  return array;
}

std::string npy_header(std::string_view type, const std::vector<std::int64_t>& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t prefix = magic.size() + 4;
  // Padded to 64 bytes, as NumPy does, so that the data can be mapped aligned.
  text.resize((prefix + text.size() + 1 + 63) / 64 * 64 - prefix - 1, ' ');
  text += '\n';
  std::string header(magic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace topwolf
