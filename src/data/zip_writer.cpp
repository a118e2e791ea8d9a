#include "data/zip_writer.hpp"

#include <zip.h>

#include <new>
#include <vector>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"

namespace topwolf {

namespace {

// In some places libzip does not say that it has no memory; nothing else fails without a word.
[[noreturn]] void fail_zip(const std::string& path, zip_error_t* error) {
  const int code = zip_error_code_zip(error);
  if (code == ZIP_ER_MEMORY || code == ZIP_ER_OK) throw std::bad_alloc();
  fail(ErrorKind::io, "{}: cannot be written: {}", path, zip_error_strerror(error));
}

}  // namespace

struct ZipWriter::Archive {
  explicit Archive(const std::string& path) : zip(nullptr, &zip_discard) {
    zip_error_init(&error);
    bytes = zip_source_buffer_create(nullptr, 0, 0, &error);
    if (bytes == nullptr) fail_zip(path, &error);
    // zip_open takes one reference and zip_close frees it; the bytes are read after that.
    zip_source_keep(bytes);
    zip.reset(zip_open_from_source(bytes, ZIP_TRUNCATE, &error));
    if (!zip) fail_zip(path, &error);
  }
  ~Archive() {
    zip.reset();
    zip_source_free(bytes);
    zip_error_fini(&error);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  zip_error_t error{};
  zip_source_t* bytes = nullptr;
  std::unique_ptr<zip_t, decltype(&zip_discard)> zip;
};

ZipWriter::ZipWriter(std::string path) : path_(std::move(path)), archive_(std::make_unique<Archive>(path_)) {}

ZipWriter::~ZipWriter() = default;

void ZipWriter::add(const std::string& name, const ZipMember& member) {
  constexpr time_t no_date = 315619200;  // 2 January 1980: the same bytes on every day
  zip_t* const zip = archive_->zip.get();
  const auto bytes_of = [](std::string_view text) {
    return zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<char*>(text.data())), text.size()};
  };
  // Two fragments, so that a large array is not copied behind its header.
  const zip_buffer_fragment_t parts[] = {bytes_of(member.header), bytes_of(member.data)};
  const zip_uint64_t count = member.data.empty() ? 1 : 2;
  zip_source_t* source = zip_source_buffer_fragment(zip, parts, count, 0);
  const zip_int64_t index =
      source != nullptr ? zip_file_add(zip, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0) zip_source_free(source);
  const auto entry = static_cast<zip_uint64_t>(index);
  if (index < 0 || zip_set_file_compression(zip, entry, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_mtime(zip, entry, no_date, 0) != 0) {
    fail_zip(path_, zip_get_error(zip));
  }
}

void ZipWriter::commit() {
  zip_source_t* const bytes = archive_->bytes;
  if (zip_close(archive_->zip.get()) != 0) fail_zip(path_, zip_get_error(archive_->zip.get()));
  static_cast<void>(archive_->zip.release());
  if (zip_source_open(bytes) != 0) fail_zip(path_, zip_source_error(bytes));
  AtomicFile file(path_);
  std::vector<char> block(1 << 20);
  while (true) {
    const zip_int64_t got = zip_source_read(bytes, block.data(), block.size());
    if (got < 0) fail_zip(path_, zip_source_error(bytes));
    if (got == 0) break;
    file.write(block.data(), static_cast<std::size_t>(got));
  }
  zip_source_close(bytes);
  file.commit();
}

}  // namespace topwolf
