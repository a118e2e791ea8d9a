// A file that appears whole or not at all: written to a temporary file beside its target, synced, renamed over it by
// commit(). Without commit() the target keeps what it held. What is not a regular file (a pipe, /dev/stdout, /dev/null)
// is written to directly. Every failure is Error{io} naming the path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace topwolf {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Buffered: small pieces are welcome.
  void write(const void* bytes, std::size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  void write_through(const char* bytes, std::size_t count);
  void flush();
  void close_file();
  void sync_folder() const;

  std::string path_;       // as given, for messages
  std::string target_;     // path_ with symbolic links resolved
  std::string temporary_;  // empty: nothing to remove
  std::string buffer_;
  int descriptor_ = -1;
};

}  // namespace topwolf
