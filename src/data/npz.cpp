// Reading .npz through libzip, which checks each member's CRC at its end.
#include "data/readers.hpp"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>

#include "core/fail.hpp"
#include "data/decompress.hpp"
#include "data/features.hpp"
#include "data/npy.hpp"

namespace topwolf {

namespace {

using std::literals::string_view_literals::operator""sv;

// libzip calls some of what fails for want of memory by other names.
void check_memory(int code) {
  if (code == ZIP_ER_MEMORY || errno == ENOMEM) throw std::bad_alloc();
}

class Archive {
 public:
  Archive(const std::string& path, UnpackLimit max_unpacked) : path_(path), zip_(nullptr, &zip_discard) {
    int code = 0;
    errno = 0;
    zip_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (zip_) {
      most_ = most_unpacked(max_unpacked, static_cast<std::size_t>(std::filesystem::file_size(path)));
      return;
    }
    check_memory(code);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    // Of a directory that is not where it should be libzip says "no such file" as well.
    const bool damaged = code == ZIP_ER_NOENT && std::filesystem::exists(path);
    const std::string reason = damaged ? "its directory is damaged" : zip_error_strerror(&error);
    zip_error_fini(&error);
    const bool unreadable = !damaged && (code == ZIP_ER_OPEN || code == ZIP_ER_READ || code == ZIP_ER_NOENT);
    fail(unreadable ? ErrorKind::io : ErrorKind::data, "{}: cannot be read as .npz: {}", path, reason);
  }

  bool has(const std::string& member) const { return zip_name_locate(zip_.get(), file_name(member).c_str(), 0) >= 0; }

  // How an array is called in messages.
  std::string name_of(const std::string& member) const { return fmt::format("{}: {}", path_, member); }

  // A member that is being read; deflate packs at most 1032 to 1, whatever size the archive claims.
  class Member {
   public:
    Member(const Archive& archive, const std::string& member)
        : archive_(archive),
          member_(member),
          file_((errno = 0, zip_fopen(archive.zip_.get(), file_name(member).c_str(), 0)), &zip_fclose) {
      if (!file_) archive.fail_member(member, zip_get_error(archive.zip_.get()));
      // What it claims is refused before a byte is unpacked; what it really has is counted as it comes.
      archive_.allow(claimed().size);
    }
    std::size_t read(char* to, std::size_t count) {
      std::size_t used = 0;
      while (used < count) {
        errno = 0;
        const zip_int64_t got = zip_fread(file_.get(), to + used, count - used);
        if (got < 0) archive_.fail_member(member_, zip_file_get_error(file_.get()));
        if (got == 0) break;
        used += static_cast<std::size_t>(got);
        archive_.unpacked_ += static_cast<std::size_t>(got);
        archive_.allow(0);
      }
      return used;
    }
    std::size_t size_limit() const {
      const zip_stat_t status = claimed();
      constexpr zip_uint64_t best_ratio = 1032;
      return std::min(status.size, status.comp_size < SIZE_MAX / best_ratio ? status.comp_size * best_ratio : SIZE_MAX);
    }

   private:
    // 0 where the archive does not say.
    zip_stat_t claimed() const {
      zip_stat_t status;
      zip_stat_init(&status);
      zip_stat(archive_.zip_.get(), file_name(member_).c_str(), 0, &status);
      return status;
    }

    const Archive& archive_;
    std::string member_;
    std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file_;
  };

  Buffer read(const std::string& member) const {
    Member file(*this, member);
    // Grows with what is really there: the size that the archive claims may be a lie.
    Buffer bytes;
    while (true) {
      bytes.make_room();
      const std::size_t got = file.read(bytes.end(), bytes.room());
      if (got == 0) return bytes;
      bytes.added(got);
    }
  }

 private:
  static std::string file_name(const std::string& member) { return member + ".npy"; }
  // Before so many bytes more are unpacked.
  void allow(std::size_t more) const {
    if (unpacked_ > most_ || more > most_ - unpacked_) fail_unpacked(path_, most_);
  }
  [[noreturn]] void fail_member(const std::string& member, zip_error_t* error) const {
    const int code = zip_error_code_zip(error);
    check_memory(code);
    fail(code == ZIP_ER_READ ? ErrorKind::io : ErrorKind::data, "{}: cannot be read: {}", name_of(member),
         zip_error_strerror(error));
  }

  const std::string& path_;
  std::unique_ptr<zip_t, decltype(&zip_discard)> zip_;
  std::size_t most_ = 0;              // bytes that all members together may unpack to
  mutable std::size_t unpacked_ = 0;  // so far
};

void check_format(const Archive& archive) {
  const std::string name = archive.name_of("format");
  const Buffer bytes = archive.read("format");
  NpyArray array = parse_npy(bytes.view(), name);
  // One text without dimensions: read it as a list of one.
  if (array.shape.empty()) array.shape = {1};
  const Labels text = npy_labels(array, name);
  const std::string format = text.spelling.empty() ? "" : text.spelling.front();
  if (format != "csr") {
    fail(ErrorKind::data, "{}: the sparse format is {}, but only 'csr' is supported; tocsr() of the matrix gives it",
         name, quote(format));
  }
}

std::vector<std::int64_t> read_integers(const Archive& archive, const std::string& member) {
  const std::string name = archive.name_of(member);
  const Buffer bytes = archive.read(member);
  const NpyArray array = parse_npy(bytes.view(), name);
  if (array.shape.size() != 1 || (array.kind != 'i' && array.kind != 'u')) {
    fail(ErrorKind::data, "{}: integers in one dimension are needed", name);
  }
  return npy_numbers<std::int64_t>(array, name);
}

template <class T>
CsrStore<T> read_csr(const Archive& archive, const std::string& path) {
  const std::vector<std::int64_t> shape = read_integers(archive, "shape");
  if (shape.size() != 2 || shape[0] <= 0 || shape[1] <= 0 || shape[1] > most_columns) {
    fail(ErrorKind::data, "{}: the shape ({}) is not two sizes from 1, the second at most {}", archive.name_of("shape"),
         fmt::join(shape, ", "), most_columns);
  }
  CsrStore<T> X;
  X.rows = shape[0];
  X.cols = shape[1];
  X.row_begin = read_integers(archive, "indptr");
  for (const std::int64_t column : read_integers(archive, "indices")) {
    // Refused here, as it may not fit the 32 bits in which it is stored.
    if (column < 0 || column >= X.cols) {
      fail(ErrorKind::data, "{}: entry {} (counted from 1) is the column index {}, but 0 to {} are allowed",
           archive.name_of("indices"), X.column.size() + 1, column, X.cols - 1);
    }
    X.column.push_back(static_cast<std::int32_t>(column));
  }
  const Buffer bytes = archive.read("data");
  const NpyArray data = parse_npy(bytes.view(), archive.name_of("data"));
  X.values = npy_numbers<T>(data, archive.name_of("data"));
  check_csr(X, path);
  return X;
}

FeatureStore read_features(const Archive& archive, const ReadOptions& options) {
  if (archive.has("X")) {
    Archive::Member file(archive, "X");
    return read_npy_features([&](char* to, std::size_t count) { return file.read(to, count); }, file.size_limit(),
                             options.number(), options.threads, options.path);
  }
  // Asked first: a COO or CSC matrix lacks the members below, and deserves a better word than that.
  if (archive.has("format")) check_format(archive);
  for (const char* member : {"data", "indices", "indptr", "shape", "format"}) {
    if (!archive.has(member)) {
      fail(ErrorKind::data, "{}: holds neither an array X nor a matrix of scipy.sparse.save_npz", options.path);
    }
  }
  if (options.number().of_text() == Precision::float32) return read_csr<float>(archive, options.path);
  return read_csr<double>(archive, options.path);
}

}  // namespace

std::optional<Buffer> read_npz_array(const std::string& path, const std::string& member, UnpackLimit max_unpacked) {
  const Archive archive(path, max_unpacked);
  if (!archive.has(member)) return std::nullopt;
  return archive.read(member);
}

RawDataset read_npz(const ReadOptions& options) {
  const Archive archive(options.path, options.max_unpacked);
  RawDataset raw;
  raw.source = options.path;
  raw.X = read_features(archive, options);
  if (!options.labels_path.empty()) return raw;
  if (!archive.has("y") && !options.labels_optional) {
    fail(ErrorKind::data, "{}: holds no array y; labels must be there or come from a file of their own ({})",
         options.path, Field{"labels_path"});
  }
  if (archive.has("y")) {
    const Buffer bytes = archive.read("y");
    const std::string name = archive.name_of("y");
    Labels labels = npy_labels(parse_npy(bytes.view(), name), name);
    raw.label = std::move(labels.label);
    raw.spelling = std::move(labels.spelling);
    raw.label_type = labels.type;
  }
  return raw;
}

}  // namespace topwolf
