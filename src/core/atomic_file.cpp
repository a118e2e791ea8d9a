// Temporary file, fsync, rename, fsync of the folder: after commit() a crash leaves the new file, before it the old.
#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/fail.hpp"

namespace topwolf {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16;

[[noreturn]] void fail_writing(const std::string& path) {
  // Only waiting for whoever reads a pipe is interrupted.
  fail(ErrorKind::io, "{}: cannot be written: {}", path,
       errno == EINTR ? "a signal came while nobody was reading it" : std::strerror(errno));
}

// An open descriptor by name, /dev/fd/N or /proc/PROCESS/fd/N: it may lead to a regular file, which is the caller's to
// keep, not ours to replace. Other names below /proc lead to files like any others (/proc/self/cwd/model).
bool names_descriptor(const std::string& path) {
  if (path == "/dev/stdout" || path == "/dev/stderr") return true;
  const std::size_t number = path.rfind("/fd/") + 4;
  const bool there = path.starts_with("/dev/fd/") || (path.starts_with("/proc/") && path.find("/fd/") != path.npos);
  return there && number < path.size() && path.find_first_not_of("0123456789", number) == path.npos;
}

// Whoever writes into a pipe waits for whoever reads it, in poll() and nanosleep() and nowhere else: these come back
// when a signal arrives, even one that is only noted down, while open() and write() would go on waiting.

// -1 with errno set, EINTR where a signal came before anybody opened the other end.
int open_in_place(const std::string& path, bool is_pipe) {
  for (;;) {
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0) {
      const int flags = ::fcntl(file, F_GETFL);
      ::fcntl(file, F_SETFL, flags & ~O_NONBLOCK);
      return file;
    }
    constexpr timespec moment{0, 20'000'000};
    const bool nobody_reads = is_pipe && errno == ENXIO;
    if (!nobody_reads || ::nanosleep(&moment, nullptr) != 0) return -1;
  }
}

}  // namespace

std::string resolve_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < 40 && !names_descriptor(at); ++links) {
    std::array<char, PATH_MAX> target;
    const ssize_t size = ::readlink(at.c_str(), target.data(), target.size());
    if (size < 0) return at;
    const std::string to(target.data(), static_cast<std::size_t>(size));
    at = to.starts_with('/') ? to : folder_of(at) + to;
  }
  return names_descriptor(at) ? at : path;  // a circle: opening it says so
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

bool is_read_only(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  const bool forbidden = ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0;
  return forbidden || (::geteuid() == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IWUSR) == 0);
}

bool is_replaced(const std::string& path) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  return !names_descriptor(resolve_links(path)) && (!exists || S_ISREG(status.st_mode));
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(resolve_links(path_)) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (!exists && (errno != ENOENT || path_.empty())) fail_writing(path_);
  if (!is_replaced(path_)) {
    descriptor_ = open_in_place(path_, exists && S_ISFIFO(status.st_mode));
  } else {
    replaces_read_only_ = is_read_only(target_);
    descriptor_ = temporary_.make(folder_of(target_));
  }
  if (descriptor_ < 0) fail_writing(path_);
  // A replaced file keeps its permissions; where the file system has none there is nothing to keep.
  if (exists && temporary_.exists()) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::write(const void* bytes, std::size_t count) {
  if (buffer_.size() + count > buffer_size) flush();
  if (count > buffer_size) {
    write_through(static_cast<const char*>(bytes), count);
  } else {
    buffer_.append(static_cast<const char*>(bytes), count);
  }
}

void AtomicFile::await_room() const {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  constexpr double longest_ms = 1e9;
  int wait_ms = -1;
  if (deadline_) {
    const double left_ms = Milliseconds(*deadline_ - std::chrono::steady_clock::now()).count();
    wait_ms = static_cast<int>(std::ceil(std::clamp(left_ms, 0.0, longest_ms)));
  }
  pollfd one{descriptor_, POLLOUT, 0};
  const int ready = ::poll(&one, 1, wait_ms);
  if (ready < 0) fail_writing(path_);
  if (ready == 0) fail(ErrorKind::io, "{}: cannot be written: nobody was reading it when the time was up", path_);
}

void AtomicFile::write_through(const char* bytes, std::size_t count) {
  while (count > 0) {
    const bool whole = temporary_.exists();
    // As much as a pipe that has room takes without waiting.
    if (!whole) await_room();
    const ssize_t written = ::write(descriptor_, bytes, whole ? count : std::min<std::size_t>(count, PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(path_);
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::reserve(std::size_t size) {
  if (!temporary_.exists())
    fail(ErrorKind::io, "{}: cannot be written: it must be a file, not a pipe or a device", path_);
  const auto end = static_cast<off_t>(size);
  const int error = ::posix_fallocate(descriptor_, 0, end);
  // Where the file system cannot promise room, what there is none for is refused when it is written.
  const bool promised = error != EOPNOTSUPP && error != EINVAL;
  errno = error;
  if (promised ? error != 0 : ::ftruncate(descriptor_, end) != 0) fail_writing(path_);
}

void AtomicFile::write_at(std::size_t offset, const void* bytes, std::size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::pwrite(descriptor_, from, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(path_);
    from += written;
    offset += static_cast<std::size_t>(written);
    count -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::read_at(std::size_t offset, void* bytes, std::size_t count) const {
  char* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::pread(descriptor_, to, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO;  // somebody else made it shorter
    if (got <= 0) fail_writing(path_);
    to += got;
    offset += static_cast<std::size_t>(got);
    count -= static_cast<std::size_t>(got);
  }
}

void AtomicFile::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  const bool whole = temporary_.exists();
  if (whole) {
    // Renamed while it is open, because that holds its lock.
    if (::fsync(descriptor_) != 0) fail_writing(path_);
    if (!replaces_read_only_ && is_read_only(target_)) {
      fail(ErrorKind::io, "{}: cannot be written: it has become read-only", path_);
    }
    if (!temporary_.rename_to(target_)) fail_writing(path_);
  }
  // Closed even when close() fails, so never closed again; and what was synced cannot fail any more.
  if (::close(std::exchange(descriptor_, -1)) != 0 && !whole) fail_writing(path_);
  if (whole) sync_folder();
}

void AtomicFile::sync_folder() const {
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno == EACCES) return;  // one may write there, but not look
  if (folder < 0) fail_writing(path_);
  // EINVAL: a file system that does not sync folders.
  const int error = ::fsync(folder) != 0 && errno != EINVAL ? errno : 0;
  ::close(folder);
  errno = error;
  if (error != 0) fail_writing(path_);
}

}  // namespace topwolf
