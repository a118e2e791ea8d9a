// An archive of files, put together in memory, members uncompressed and without dates, and written like every other
// file: whole or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace topwolf {

// A file in two parts, so that large data need not be copied behind its header.
struct ZipMember {
  std::string header;
  std::string_view data;
};

class ZipWriter {
 public:
  explicit ZipWriter(std::string path);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  // The member must live until commit().
  void add(const std::string& name, const ZipMember& member);
  void commit();

 private:
  struct Archive;
  std::string path_;
  std::unique_ptr<Archive> archive_;
};

}  // namespace topwolf
