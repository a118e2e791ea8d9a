// A file that appears whole or not at all: written to a temporary file beside its target, synced, renamed over it by
// commit(). Without commit() the target keeps what it held. A symbolic link stays and what it leads to is replaced, or
// made. What is not a regular file (a pipe, /dev/stdout, /dev/null) is written to directly. Every failure is Error{io}
// naming the path.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/temporary.hpp"

namespace topwolf {

// Where symbolic links lead, whether there is something or not.
std::string resolve_links(const std::string& path);

// Up to its last slash; "./" where it has none.
std::string folder_of(const std::string& path);

// Whether a file is there and its permissions forbid to write to it; root, whom nothing forbids, is asked to respect
// that its owner may not.
bool is_read_only(const std::string& path);

// Whether an AtomicFile of this name replaces what is there; a pipe, a device or an open descriptor is written into.
bool is_replaced(const std::string& path);

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Buffered: small pieces are welcome.
  void write(const void* bytes, std::size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Of a file that is written in places rather than from front to end: it has so many bytes from here on, for which the
  // disk has room, and each can be written and read back. Error{io} for what is no regular file.
  void reserve(std::size_t size);
  void write_at(std::size_t offset, const void* bytes, std::size_t count);
  void read_at(std::size_t offset, void* bytes, std::size_t count) const;
  // What was written so far can be read at the other end, where there is one: a pipe, a terminal.
  void flush();
  // Error{io}, and the target keeps what it held, where it has become read-only since this was made.
  void commit();
  // From then on nobody waits for whoever reads a pipe.
  void set_deadline(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }

 private:
  void write_through(const char* bytes, std::size_t count);
  void await_room() const;
  void sync_folder() const;

  std::string path_;    // as given, for messages
  std::string target_;  // path_ with symbolic links resolved
  Temporary temporary_;
  std::string buffer_;
  int descriptor_ = -1;
  bool replaces_read_only_ = false;  // as its caller wants
  std::optional<std::chrono::steady_clock::time_point> deadline_;
};

}  // namespace topwolf
