// The whole content of a file or of standard input, decompressed. A read error is Error{io}, never an end of file;
// compressed data that is corrupt or ends early is Error{data}.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "data/buffer.hpp"
#include "topwolf/dataset.hpp"

namespace topwolf {

// What the first bytes of a file say it is, whatever its name.
enum class Compression { none, gzip, bzip2, xz, zstd };
Compression compression_of(std::string_view bytes);
bool is_zip(std::string_view bytes);

// How the source is called in messages: "-" is standard input.
std::string display_name(const std::string& path);

// An open file or standard input ("-"), read from front to end.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  bool regular() const { return S_ISREG(status_.st_mode); }
  std::size_t size() const { return static_cast<std::size_t>(status_.st_size); }

  // Fewer than `count` bytes only at the end of the file.
  std::size_t read(char* to, std::size_t count);
  // The same from a place in a regular file; may be called by several threads at once.
  std::size_t read_at(std::size_t offset, char* to, std::size_t count) const;
  // Error{io} where the file has become shorter.
  void read_exactly_at(std::size_t offset, char* to, std::size_t count) const;
  // These bytes are read soon; the system may fetch them meanwhile.
  void expect(std::size_t offset, std::size_t count) const;
  // Error{io} where the file was written to since it was opened: what was read of it before is of another file.
  void check_unchanged() const;

 private:
  std::string path_;
  int descriptor_;
  struct stat status_ {};
};

// gzip, bzip2, xz and zstd are recognised by their first bytes, whatever the name; streams one after the other are
// one content.
Buffer read_bytes(const std::string& path, UnpackLimit max_unpacked = {}, int threads = 1);

// The first bytes of a regular file, as they are; empty for anything that cannot be read twice.
std::string peek_bytes(const std::string& path, std::size_t count);

}  // namespace topwolf
