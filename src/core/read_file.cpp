// A whole file into memory, regular or not (a pipe has no size).
#include "core/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/fail.hpp"
#include "core/memory.hpp"

namespace topwolf {

namespace {

constexpr std::size_t smallest_read = std::size_t{1} << 16;

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

[[noreturn]] void fail_reading(const std::string& path) {
  fail(ErrorKind::io, "{}: cannot be read: {}", path, std::strerror(errno));
}

// The system promises more than it has: a file without end must be refused before its bytes are there.
void grow(std::vector<char>& bytes, std::size_t size, const std::string& path) {
  constexpr std::size_t large = std::size_t{1} << 28;
  try {
    if (size > large && static_cast<double>(size) > process_memory().available) throw std::bad_alloc();
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    const std::size_t known = bytes.empty() ? size - 1 : bytes.size();  // of a regular file, or read so far
    fail(ErrorKind::memory, "{}: has {} or more, which do not fit into memory", path,
         describe_bytes(static_cast<double>(known)));
  }
}

}  // namespace

std::vector<char> read_file(const std::string& path, const std::function<void(std::string_view)>& look) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) fail_reading(path);

  // One byte more than a regular file's size, so that its end is seen without growing.
  std::vector<char> bytes;
  grow(bytes, S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) + 1 : smallest_read, path);
  constexpr std::size_t first_bytes = 64;
  std::size_t used = 0;
  bool looked = !look;
  while (true) {
    if (!looked && used >= first_bytes) {
      look({bytes.data(), first_bytes});
      looked = true;
    }
    if (used == bytes.size()) grow(bytes, std::max(2 * bytes.size(), smallest_read), path);
    const ssize_t got = ::read(file.number, bytes.data() + used,
                               (looked ? bytes.size() : std::min(bytes.size(), smallest_read)) - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_reading(path);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  bytes.resize(used);
  if (!looked) look({bytes.data(), used});
  return bytes;
}

}  // namespace topwolf
