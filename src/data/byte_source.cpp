// Reading by blocks rather than by mapping: a file that shrinks or a disk that fails meanwhile is an error, not a
// signal.
#include "data/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/decompress.hpp"

namespace topwolf {

using namespace std::string_view_literals;

namespace {

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b"sv);
}

// "BZh9" alone could be a label; a block or the end of the stream follows it.
bool is_bzip2(std::string_view bytes) {
  if (!bytes.starts_with("BZh"sv) || bytes.size() < 4 || bytes[3] < '1' || bytes[3] > '9') return false;
  const std::string_view next = bytes.substr(4, 6);
  return "\x31\x41\x59\x26\x53\x59"sv.starts_with(next) || "\x17\x72\x45\x38\x50\x90"sv.starts_with(next);
}

bool is_xz(std::string_view bytes) {
  return bytes.starts_with(
      "\xfd"
      "7zXZ\0"sv);
}

bool is_zstd(std::string_view bytes) {
  return bytes.starts_with("\x28\xb5\x2f\xfd"sv);
}

[[noreturn]] void fail_reading(const std::string& path) {
  fail(ErrorKind::io, "{}: cannot be read: {}", display_name(path), std::generic_category().message(errno));
}

}  // namespace

Compression compression_of(std::string_view bytes) {
  if (is_gzip(bytes)) return Compression::gzip;
  if (is_bzip2(bytes)) return Compression::bzip2;
  if (is_xz(bytes)) return Compression::xz;
  return is_zstd(bytes) ? Compression::zstd : Compression::none;
}

bool is_zip(std::string_view bytes) {
  return bytes.starts_with("PK\x03\x04"sv) || bytes.starts_with("PK\x05\x06"sv);
}

std::string display_name(const std::string& path) {
  return path == "-" ? "<stdin>" : path;
}

InputFile::InputFile(const std::string& path)
    : path_(path), descriptor_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_reading(path_);
  if (::fstat(descriptor_, &status_) == 0) return;
  const int error = errno;
  ::close(descriptor_);
  errno = error;
  fail_reading(path_);
}

InputFile::~InputFile() {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
}

namespace {

// Calls read_some(used) until `count` bytes are there or it returns 0.
template <class ReadSome>
std::size_t read_all(const std::string& path, std::size_t count, const ReadSome& read_some) {
  std::size_t used = 0;
  while (used < count) {
    const ssize_t got = read_some(used);
    if (got == 0) break;
    if (got > 0) {
      used += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      fail_reading(path);
    }
  }
  return used;
}

// A large regular file, several pieces at a time; what is added to it meanwhile is not read.
void read_pieces(const InputFile& file, int threads, Buffer& bytes) {
  constexpr std::size_t piece = 8 << 20;
  const std::size_t size = file.size();
  char* const to = bytes.end();
  parallel_for(static_cast<std::int64_t>((size + piece - 1) / piece), threads, [&](std::int64_t p) {
    const std::size_t offset = static_cast<std::size_t>(p) * piece, count = std::min(piece, size - offset);
    file.read_exactly_at(offset, to + offset, count);
  });
  bytes.added(size);
}

}  // namespace

std::size_t InputFile::read(char* to, std::size_t count) {
  return read_all(path_, count, [&](std::size_t used) { return ::read(descriptor_, to + used, count - used); });
}

std::size_t InputFile::read_at(std::size_t offset, char* to, std::size_t count) const {
  return read_all(path_, count, [&](std::size_t used) {
    return ::pread(descriptor_, to + used, count - used, static_cast<off_t>(offset + used));
  });
}

void InputFile::read_exactly_at(std::size_t offset, char* to, std::size_t count) const {
  if (read_at(offset, to, count) < count) {
    fail(ErrorKind::io, "{}: the file became shorter while it was read", display_name(path_));
  }
}

void InputFile::expect(std::size_t offset, std::size_t count) const {
  // Advice: where the system does not take it the bytes are read when they are wanted.
  static_cast<void>(
      ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(count), POSIX_FADV_WILLNEED));
}

void InputFile::check_unchanged() const {
  struct stat now {};
  if (::fstat(descriptor_, &now) != 0) fail_reading(path_);
  const bool same = now.st_size == status_.st_size && now.st_mtim.tv_sec == status_.st_mtim.tv_sec &&
                    now.st_mtim.tv_nsec == status_.st_mtim.tv_nsec;
  if (!same) fail(ErrorKind::io, "{}: the file was changed while it was in use", display_name(path_));
}

Buffer read_bytes(const std::string& path, UnpackLimit max_unpacked, int threads) {
  InputFile file(path);
  Buffer bytes;
  // Two bytes more than a regular file has: one to see its end, one for a last newline.
  if (file.regular()) bytes.reserve(file.size() + 2);
  if (file.regular() && file.size() > 0 && threads > 1 && path != "-") {
    read_pieces(file, threads, bytes);
  } else {
    while (true) {
      bytes.make_room();
      const std::size_t got = file.read(bytes.end(), bytes.room());
      if (got == 0) break;
      bytes.added(got);
    }
  }
  if (compression_of(bytes.view()) == Compression::none) return bytes;
  return decompress(bytes.view(), display_name(path), max_unpacked);
}

std::string peek_bytes(const std::string& path, std::size_t count) {
  if (path == "-") return "";
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail_reading(path);
  if (!S_ISREG(status.st_mode)) return "";
  InputFile file(path);
  std::string head(count, '\0');
  head.resize(file.read(head.data(), count));
  return head;
}

}  // namespace topwolf
