// Compressed files: any bytes are unpacked or refused; what is packed by gzip, bzip2, xz or zstd unpacks to what it
// was, twice behind itself to twice of it, and cut short it is refused.
#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "data/byte_source.hpp"
#include "data/decompress.hpp"
#include "fuzz.hpp"

using namespace topwolf;

namespace {

std::string packed(Compression by, std::string_view text) {
  std::string out(2 * text.size() + 1024, '\0');
  std::size_t size = 0;
  char* const from = const_cast<char*>(text.data());
  if (by == Compression::gzip) {
    z_stream stream{};
    deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(from);
    stream.avail_in = static_cast<unsigned>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<unsigned>(out.size());
    fuzz::require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib packs");
    size = stream.total_out;
    deflateEnd(&stream);
  } else if (by == Compression::bzip2) {
    auto count = static_cast<unsigned>(out.size());
    fuzz::require(
        BZ2_bzBuffToBuffCompress(out.data(), &count, from, static_cast<unsigned>(text.size()), 1, 0, 0) == BZ_OK,
        "bzip2 packs");
    size = count;
  } else if (by == Compression::xz) {
    fuzz::require(
        lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<std::uint8_t*>(from), text.size(),
                                reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK,
        "lzma packs");
  } else {
    size = ZSTD_compress(out.data(), out.size(), from, text.size(), 1);
    fuzz::require(ZSTD_isError(size) == 0, "zstd packs");
  }
  out.resize(size);
  return out;
}

bool unpacks_to(std::string_view bytes, std::string_view text) {
  const auto unpacked = fuzz::attempt([&] { return decompress(bytes, "file"); });
  return unpacked && unpacked->view() == text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::attempt([&] { return decompress(bytes, "file").size(); });
  if (size < 2) return 0;
  constexpr Compression all[] = {Compression::gzip, Compression::bzip2, Compression::xz, Compression::zstd};
  const Compression by = all[data[0] % 4];
  const std::string text(bytes.substr(2));
  const std::string file = packed(by, text);
  fuzz::require(unpacks_to(file, text), "what was packed unpacks to what it was");
  fuzz::require(unpacks_to(file + file, text + text), "streams one after the other are one content");
  const std::string cut = file.substr(0, file.size() * data[1] / 256);
  if (compression_of(cut) == by) {
    fuzz::require(!fuzz::attempt([&] { return decompress(cut, "file").size(); }), "what is cut short is refused");
  }
  return 0;
}
