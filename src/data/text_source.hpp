// Text that is read piece by piece, more than once and by several threads: a regular file, of which no more than the
// pieces in use is in memory, or bytes that are there already.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <variant>

#include "data/buffer.hpp"
#include "data/byte_source.hpp"

namespace topwolf {

class TextSource {
 public:
  explicit TextSource(Buffer bytes) : size_(bytes.size()), from_(std::move(bytes)) {}
  explicit TextSource(const std::string& path) : from_(std::in_place_type<InputFile>, path) {
    size_ = std::get<InputFile>(from_).size();
  }

  std::size_t size() const { return size_; }

  // The bytes [begin, end), in `scratch` where they are not in memory; scratch has room for one byte behind them.
  std::string_view piece(std::size_t begin, std::size_t end, Buffer& scratch) const {
    if (const Buffer* bytes = std::get_if<Buffer>(&from_)) return bytes->view().substr(begin, end - begin);
    scratch.clear();
    scratch.reserve(end - begin + 1);
    std::get<InputFile>(from_).read_exactly_at(begin, scratch.end(), end - begin);
    scratch.added(end - begin);
    return scratch.view();
  }

  // Error{io} where a file was written to since it was opened.
  void check_unchanged() const {
    if (const InputFile* file = std::get_if<InputFile>(&from_)) file->check_unchanged();
  }

  // The same, ended by a newline if it does not end with one.
  std::string_view lines(std::size_t begin, std::size_t end, Buffer& scratch) const {
    const std::string_view text = piece(begin, end, scratch);
    if (text.ends_with('\n')) return text;
    if (text.data() != scratch.view().data()) scratch = Buffer(text);
    scratch.push_back('\n');
    return scratch.view();
  }

  // Where the line that holds the byte `begin` ends: behind its newline, or at the end of the text.
  std::size_t line_end(std::size_t begin, Buffer& scratch) const {
    constexpr std::size_t step = std::size_t{1} << 16;
    for (; begin < size_; begin += std::min(step, size_ - begin)) {
      const std::size_t newline = piece(begin, std::min(begin + step, size_), scratch).find('\n');
      if (newline != std::string_view::npos) return begin + newline + 1;
    }
    return size_;
  }

 private:
  std::size_t size_ = 0;
  std::variant<Buffer, InputFile> from_;
};

}  // namespace topwolf
