// Reading by blocks rather than by mapping: a file that shrinks or a disk that fails meanwhile is an error, not a
// signal.
#include "data/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/fail.hpp"
#include "data/decompress.hpp"

namespace topwolf {

namespace {

[[noreturn]] void fail_reading(const std::string& path) {
  fail(ErrorKind::io, "{}: cannot be read: {}", display_name(path), std::generic_category().message(errno));
}

}  // namespace

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

std::size_t InputFile::read(char* to, std::size_t count) {
  std::size_t used = 0;
  while (used < count) {
    const ssize_t got = ::read(descriptor_, to + used, count - used);
    if (got == 0) break;
    if (got > 0) {
      used += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      fail_reading(path_);
    }
  }
  return used;
}

Buffer read_bytes(const std::string& path) {
  InputFile file(path);
  Buffer bytes;
  // Two bytes more than a regular file has: one to see its end, one for a last newline.
  if (file.regular()) bytes.reserve(file.size() + 2);
  while (true) {
    bytes.make_room();
    const std::size_t got = file.read(bytes.end(), bytes.room());
    if (got == 0) break;
    bytes.added(got);
  }
  return is_compressed(bytes.view()) ? decompress(bytes.view(), display_name(path)) : std::move(bytes);
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
