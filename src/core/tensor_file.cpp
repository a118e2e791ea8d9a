// safetensors: 8 bytes header length (little-endian), a JSON header padded with spaces to a multiple of 8, the tensors
// one after the other. Wider types come first, so that every tensor is aligned. The checksum in the header is of the
// data section, the metadata and the table of tensors (the header without "__metadata__", in nlohmann's compact form).
#include "core/tensor_file.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/hash.hpp"
#include "core/read_file.hpp"
#include "core/strict_json.hpp"

namespace topwolf {

namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "tensor files are little-endian");

constexpr std::size_t length_size = 8;
constexpr std::size_t alignment = 8;
constexpr std::size_t largest_header = 100'000'000;  // what other readers of safetensors accept
constexpr const char* metadata_key = "__metadata__";

// 0: unknown.
std::size_t element_size(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64") return 8;
  if (dtype == "F32" || dtype == "I32") return 4;
  if (dtype == "F16" || dtype == "BF16") return 2;
  return dtype == "U8" ? 1 : 0;
}

// False when no 64-bit number holds the size. An extent of 0 makes the product 0, whatever the others are.
bool byte_size(const std::vector<std::int64_t>& shape, std::size_t element, std::size_t& bytes) {
  bytes = std::find(shape.begin(), shape.end(), 0) == shape.end() ? element : 0;
  return std::none_of(shape.begin(), shape.end(), [&](std::int64_t extent) {
    return extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes);
  });
}

struct Piece {
  const Tensor* tensor;
  std::size_t element;
  std::size_t bytes;
};

std::vector<Piece> plan(const std::string& path, std::span<const Tensor> tensors) {
  std::vector<Piece> pieces;
  for (const Tensor& tensor : tensors) {
    Piece piece{&tensor, element_size(tensor.dtype), 0};
    if (piece.element == 0 || !byte_size(tensor.shape, piece.element, piece.bytes) || tensor.name == metadata_key) {
      fail(ErrorKind::internal, "{}: the tensor '{}' of type '{}' cannot be stored", path, tensor.name, tensor.dtype);
    }
    pieces.push_back(piece);
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.element > b.element; });
  return pieces;
}

json make_table(const std::string& path, const std::vector<Piece>& pieces) {
  json table = json::object();
  std::size_t offset = 0;
  for (const auto& [tensor, element, bytes] : pieces) {
    const json entry = {{"dtype", tensor->dtype}, {"shape", tensor->shape}, {"data_offsets", {offset, offset + bytes}}};
    if (!table.emplace(tensor->name, entry).second) {
      fail(ErrorKind::internal, "{}: two tensors are called '{}'", path, tensor->name);
    }
    offset += bytes;
  }
  return table;
}

[[noreturn]] void fail_invalid(const std::string& path, const std::string& reason) {
  fail(ErrorKind::data, "{}: not a valid topwolf file: {}", path, reason);
}

// The header's text, after which the data section begins.
std::string_view find_header(const std::vector<char>& bytes, const std::string& path) {
  std::uint64_t length = 0;
  if (bytes.size() < length_size) {
    fail_invalid(path,
                 fmt::format("it has {} bytes, fewer than the {} of the header length", bytes.size(), length_size));
  }
  std::memcpy(&length, bytes.data(), length_size);
  if (length > bytes.size() - length_size || length > largest_header || length % alignment != 0) {
    fail_invalid(path, fmt::format("it claims a header of {} bytes, where a multiple of {} up to {} is possible",
                                   length, alignment, std::min(bytes.size() - length_size, largest_header)));
  }
  return {bytes.data() + length_size, static_cast<std::size_t>(length)};
}

// JSON may end in any white space, our headers end in spaces alone.
void check_padding(std::string_view text, const std::string& path) {
  const std::size_t last = text.find_last_not_of(' ');
  if (last == std::string_view::npos || text[last] == '}') return;
  fail_invalid(path,
               fmt::format("byte {} of its {} bytes of header is {:#04x}, where only spaces may follow the last }}",
                           last + 1, text.size(), static_cast<unsigned char>(text[last])));
}

// Takes "__metadata__" out of the header: our metadata and the checksum.
std::pair<std::string, std::string> take_metadata(json& header, const std::string& path) {
  const auto text_of = [&](const char* key) {
    const auto found = header.find(metadata_key);
    if (found == header.end() || !found->is_object() || !found->contains(key) || !found->at(key).is_string()) {
      fail_invalid(path, fmt::format("its header has no text {}.{}", metadata_key, key));
    }
    return found->at(key).get<std::string>();
  };
  std::pair<std::string, std::string> result{text_of("topwolf"), text_of("checksum")};
  header.erase(metadata_key);
  return result;
}

std::vector<std::int64_t> read_sizes(const json& entry, const char* key, const std::string& path,
                                     const std::string& name) {
  std::vector<std::int64_t> sizes;
  const auto found = entry.find(key);
  const bool is_list = found != entry.end() && found->is_array();
  const bool valid = is_list && std::all_of(found->begin(), found->end(), [&](const json& value) {
                       if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) return false;
                       sizes.push_back(value.get<std::int64_t>());
                       return true;
                     });
  if (!valid) fail_invalid(path, fmt::format("the {} of tensor '{}' is not a list of sizes", key, name));
  return sizes;
}

TensorFile::Entry read_entry(const std::string& name, const json& entry, std::size_t data_size,
                             const std::string& path) {
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry["dtype"].is_string()) {
    fail_invalid(path, fmt::format("tensor '{}' is not described by dtype, shape and data_offsets", name));
  }
  TensorFile::Entry result{entry["dtype"], read_sizes(entry, "shape", path, name)};
  const std::vector<std::int64_t> offsets = read_sizes(entry, "data_offsets", path, name);
  const std::size_t element = element_size(result.dtype);
  if (element == 0) fail_invalid(path, fmt::format("tensor '{}' has the unknown dtype '{}'", name, result.dtype));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || static_cast<std::size_t>(offsets[1]) > data_size) {
    fail_invalid(
        path, fmt::format("the data_offsets of tensor '{}' are no range within the {} bytes of data", name, data_size));
  }
  result.begin = static_cast<std::size_t>(offsets[0]);
  const auto stored = static_cast<std::size_t>(offsets[1] - offsets[0]);
  if (!byte_size(result.shape, element, result.size) || result.size != stored) {
    fail_invalid(path, fmt::format("the shape of tensor '{}' does not fit its {} bytes", name, stored));
  }
  if (result.begin % element != 0) fail_invalid(path, fmt::format("tensor '{}' is not aligned", name));
  return result;
}

// One after the other, from the first byte of data to the last.
void check_coverage(const std::map<std::string, TensorFile::Entry, std::less<>>& entries, std::size_t data_size,
                    const std::string& path) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [name, entry] : entries) ranges.emplace_back(entry.begin, entry.size);
  std::sort(ranges.begin(), ranges.end());
  std::size_t end = 0;
  for (const auto& [begin, size] : ranges) {
    if (begin != end) fail_invalid(path, fmt::format("its tensors leave a gap or overlap at byte {} of the data", end));
    end = begin + size;
  }
  if (end != data_size) fail_invalid(path, fmt::format("its tensors take {} of the {} bytes of data", end, data_size));
}

// Length, header, and the spaces behind it.
std::string beginning(const std::string& path, json header, const std::string& metadata_json,
                      const std::string& checksum) {
  header[metadata_key] = {{"topwolf", metadata_json}, {"checksum", checksum}};
  std::string text = header.dump();
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  if (text.size() > largest_header) {
    fail(ErrorKind::data, "{}: its header would have {} bytes, where at most {} are allowed", path, text.size(),
         largest_header);
  }
  const std::uint64_t length = text.size();
  std::string out(length_size, '\0');
  std::memcpy(out.data(), &length, length_size);
  return out + text;
}

}  // namespace

void write_tensor_file(const std::string& path, std::span<const Tensor> tensors, const std::string& metadata_json) {
  const std::vector<Piece> pieces = plan(path, tensors);
  json header = make_table(path, pieces);
  Hasher checksum;
  for (const Piece& piece : pieces) checksum.add(piece.tensor->data, piece.bytes);
  checksum.add(metadata_json);
  checksum.add(header.dump());
  const std::string begin = beginning(path, std::move(header), metadata_json, checksum.hex());
  AtomicFile file(path);
  file.write(begin);
  for (const Piece& piece : pieces) file.write(piece.tensor->data, piece.bytes);
  file.commit();
}

TensorFileInPlaces::TensorFileInPlaces(const std::string& path, std::span<const Tensor> tensors,
                                       std::string metadata_json)
    : path_(path), metadata_(std::move(metadata_json)), file_(path) {
  const std::vector<Piece> pieces = plan(path, tensors);
  table_ = make_table(path, pieces).dump();
  const std::string any_checksum = Hasher().hex();  // as long as any other
  data_begin_ = header(any_checksum).size();
  for (const auto& [tensor, element, bytes] : pieces) {
    begin_.emplace(tensor->name, Begin{data_begin_ + data_size_, element});
    data_size_ += bytes;
  }
  file_.reserve(data_begin_ + data_size_);
}

std::string TensorFileInPlaces::header(const std::string& checksum) const {
  return beginning(path_, json::parse(table_), metadata_, checksum);
}

std::size_t TensorFileInPlaces::place(std::string_view name, std::int64_t first) const {
  const auto& [offset, element] = begin_.find(name)->second;
  return offset + static_cast<std::size_t>(first) * element;
}

void TensorFileInPlaces::finish() {
  Hasher checksum;
  std::vector<char> block;
  for (std::size_t at = 0; at < data_size_; at += block.size()) {
    block.resize(std::min(std::size_t{4} << 20, data_size_ - at));
    file_.read_at(data_begin_ + at, block.data(), block.size());
    checksum.add(block.data(), block.size());
  }
  checksum.add(metadata_);
  checksum.add(table_);
  const std::string begin = header(checksum.hex());
  file_.write_at(0, begin.data(), begin.size());
  file_.commit();
}

TensorFile TensorFile::read(const std::string& path) {
  // What has no end, and is none of ours, must not be read to its end.
  return parse(read_file(path, [&](std::string_view begin) { check_beginning(begin, path); }), path);
}

void TensorFile::check_beginning(std::string_view bytes, const std::string& path) {
  std::uint64_t length = 0;
  if (bytes.size() <= length_size) return;  // parse() says what is missing
  std::memcpy(&length, bytes.data(), length_size);
  if (bytes[length_size] != '{') fail_invalid(path, "it does not begin with a length and a header");
  if (length > largest_header) {
    fail_invalid(path,
                 fmt::format("it claims a header of {} bytes, where at most {} are possible", length, largest_header));
  }
}

std::string TensorFile::format_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), length_size);
  if (!file || length > largest_header || file.peek() != '{') return "";
  std::string text(length, ' ');
  file.read(text.data(), static_cast<std::streamsize>(length));
  const auto member = [](const json& object, const char* key) {
    return object.is_object() && object.contains(key) ? object.at(key) : json();
  };
  const auto text_in = [](const json& value) { return value.is_string() ? value.get<std::string>() : ""; };
  const json header = json::parse(text, nullptr, false);
  const std::string metadata = text_in(member(member(header, metadata_key), "topwolf"));
  return text_in(member(json::parse(metadata, nullptr, false), "format"));
}

TensorFile::Checksum TensorFile::read_header(std::string_view text, std::size_t data_size, const std::string& path) {
  json table = parse_strict_json(text, path, "the header");
  const auto [metadata, stored_checksum] = take_metadata(table, path);
  check_padding(text, path);
  path_ = path;
  metadata_ = metadata;
  data_begin_ = file_data_begin_ = length_size + text.size();
  for (const auto& [name, entry] : table.items()) entries_.emplace(name, read_entry(name, entry, data_size, path));
  check_coverage(entries_, data_size, path);
  return {stored_checksum, table.dump()};
}

void TensorFile::check_checksum(const std::string& found, const std::string& stored) const {
  if (found != stored) fail_invalid(path_, "its content does not match its checksum");
}

TensorFile TensorFile::parse(std::vector<char> bytes, const std::string& path) {
  TensorFile file;
  const std::string_view text = find_header(bytes, path);
  const std::size_t begin = length_size + text.size();
  const Checksum checksum = file.read_header(text, bytes.size() - begin, path);
  Hasher hasher;
  hasher.add(bytes.data() + begin, bytes.size() - begin);
  hasher.add(file.metadata_);
  hasher.add(checksum.table);
  file.check_checksum(hasher.hex(), checksum.stored);
  file.bytes_ = std::move(bytes);
  return file;
}

TensorFile TensorFile::read_but(const std::string& path, std::span<const std::string_view> left_out) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(ErrorKind::io, "{}: cannot be read: {}", path, std::strerror(errno));
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::size_t>(in.tellg());
  in.seekg(0);
  const auto read = [&](char* to, std::size_t count) {
    in.read(to, static_cast<std::streamsize>(count));
    if (in.bad()) fail(ErrorKind::io, "{}: cannot be read: {}", path, std::strerror(errno));
    if (static_cast<std::size_t>(in.gcount()) < count) {
      fail(ErrorKind::io, "{}: the file became shorter while it was read", path);
    }
  };
  // The header as find_header() wants it, which looks at what the whole file has room for.
  std::vector<char> header(std::min(size, length_size + 1));
  read(header.data(), header.size());
  check_beginning({header.data(), header.size()}, path);
  std::uint64_t length = 0;
  if (header.size() > length_size) std::memcpy(&length, header.data(), length_size);
  const std::size_t begin = std::min<std::size_t>(size, length_size + length), before = header.size();
  header.resize(std::max(begin, before));
  read(header.data() + before, header.size() - before);
  TensorFile file;
  const Checksum checksum = file.read_header(find_header(header, path), size - begin, path);

  Hasher hasher;
  std::vector<char> block;
  constexpr std::size_t block_bytes = std::size_t{4} << 20;
  std::size_t at = header.size() - begin;  // of the data, which begin with an empty header's next byte at most
  hasher.add(header.data() + begin, at);
  const auto take = [&](std::size_t from, const char* bytes, std::size_t count) {
    for (const auto& [name, entry] : file.entries_) {
      if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
      std::vector<char>& to = file.loaded_[name];
      to.resize(entry.size);
      const std::size_t first = std::max(from, entry.begin), last = std::min(from + count, entry.begin + entry.size);
      if (first < last)
        std::copy(bytes + (first - from), bytes + (last - from),
                  to.begin() + static_cast<std::ptrdiff_t>(first - entry.begin));
    }
  };
  take(0, header.data() + begin, at);
  while (at < size - begin) {
    block.resize(std::min(block_bytes, size - begin - at));
    read(block.data(), block.size());
    hasher.add(block.data(), block.size());
    take(at, block.data(), block.size());
    at += block.size();
  }
  hasher.add(file.metadata_);
  hasher.add(checksum.table);
  file.check_checksum(hasher.hex(), checksum.stored);
  return file;
}

std::vector<std::string> TensorFile::names() const {
  std::vector<std::string> result;
  for (const auto& [name, entry] : entries_) result.push_back(name);
  return result;
}

const TensorFile::Entry& TensorFile::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail_invalid(path_, fmt::format("it has no tensor '{}'", name));
  return found->second;
}

std::span<const char> TensorFile::bytes_of(std::string_view name, std::string_view dtype) const {
  const Entry& found = entry(name);
  if (found.dtype != dtype) {
    fail_invalid(path_, fmt::format("tensor '{}' has the dtype {}, not {}", name, found.dtype, dtype));
  }
  if (const auto loaded = loaded_.find(name); loaded != loaded_.end()) return loaded->second;
  if (bytes_.empty()) fail(ErrorKind::internal, "{}: the tensor '{}' was left in its file", path_, name);
  return std::span<const char>(bytes_).subspan(data_begin_ + found.begin, found.size);
}

}  // namespace topwolf
