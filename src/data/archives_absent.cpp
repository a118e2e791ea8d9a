// Stands in for decompress.cpp, npz.cpp and zip_writer.cpp in a build without the compression libraries
// (TOPWOLF_ARCHIVES=OFF), such as the Python package: what would need them says so.
#include "core/fail.hpp"
#include "data/decompress.hpp"
#include "data/readers.hpp"
#include "data/zip_writer.hpp"

namespace topwolf {

namespace {

[[noreturn]] void fail_absent(const std::string& name) {
  fail(ErrorKind::data,
       "{}: this build of topwolf has no compressed files and no .npz; build it with TOPWOLF_ARCHIVES=ON", name);
}

}  // namespace

Buffer decompress(std::string_view, const std::string& name, UnpackLimit) {
  fail_absent(name);
}

std::optional<Buffer> read_npz_array(const std::string& path, const std::string&, UnpackLimit) {
  fail_absent(path);
}

RawDataset read_npz(const ReadOptions& options) {
  fail_absent(options.path);
}

struct ZipWriter::Archive {};

ZipWriter::ZipWriter(std::string path) {
  fail_absent(path);
}

ZipWriter::~ZipWriter() = default;

void ZipWriter::add(const std::string&, const ZipMember&) {}

void ZipWriter::commit() {}

}  // namespace topwolf
