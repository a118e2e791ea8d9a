// Temporary file, fsync, rename, fsync of the folder: after commit() a crash leaves the new file, before it the old.
#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "core/fail.hpp"

namespace topwolf {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16;

[[noreturn]] void fail_writing(const std::string& path) {
  fail(ErrorKind::io, "{}: cannot be written: {}", path, std::strerror(errno));
}

std::string resolve_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? resolved.get() : path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

// An open descriptor by name: it may lead to a regular file, which is the caller's to keep, not ours to replace.
bool names_descriptor(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(resolve_links(path_)) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (!exists && (errno != ENOENT || path_.empty())) fail_writing(path_);
  if (names_descriptor(path_) || (exists && !S_ISREG(status.st_mode))) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor_ < 0) fail_writing(path_);
    return;
  }
  // O_EXCL settles races; a name is taken only by another writer or by one that was killed.
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.topwolf-{}-{}.tmp", folder_of(target_), ::getpid(), attempt);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail_writing(path_);
  }
  // A replaced file keeps its permissions; where the file system has none there is nothing to keep.
  if (exists) static_cast<void>(::fchmod(descriptor_, status.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, std::size_t count) {
  if (buffer_.size() + count > buffer_size) flush();
  if (count > buffer_size) {
    write_through(static_cast<const char*>(bytes), count);
  } else {
    buffer_.append(static_cast<const char*>(bytes), count);
  }
}

void AtomicFile::write_through(const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(path_);
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (temporary_.empty()) return close_file();
  if (::fsync(descriptor_) != 0) fail_writing(path_);
  close_file();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_writing(path_);
  temporary_.clear();
  sync_folder();
}

void AtomicFile::close_file() {
  // Closed even when close() fails, so never closed again.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_writing(path_);
}

void AtomicFile::sync_folder() const {
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_writing(path_);
  // EINVAL: a file system that does not sync folders.
  const int error = ::fsync(folder) != 0 && errno != EINVAL ? errno : 0;
  ::close(folder);
  errno = error;
  if (error != 0) fail_writing(path_);
}

}  // namespace topwolf
