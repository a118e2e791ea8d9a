// One loop for four libraries. A codec turns input into output until its stream ends; a call that could do neither
// has run out of input, so the data is truncated.
#include "data/decompress.hpp"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "core/fail.hpp"
#include "data/byte_source.hpp"

namespace topwolf {

namespace {

using std::literals::string_view_literals::operator""sv;

enum class Stream { running, stream_end, corrupt };

// The libraries' counters have 32 bits.
constexpr std::size_t largest_piece = std::size_t{1} << 30;

unsigned piece(std::size_t count) {
  return static_cast<unsigned>(std::min(count, largest_piece));
}

class Gzip {
 public:
  static constexpr std::string_view name = "gzip";
  static constexpr Compression format = Compression::gzip;
  Gzip() {
    // 15: the largest window; 16: a gzip header is asked for, so that a bare deflate stream is corrupt.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() { inflateEnd(&stream_); }
  void restart() { inflateReset(&stream_); }

  Stream step(std::string_view& in, Buffer& out) {
    const unsigned given = piece(in.size());
    const unsigned room = piece(out.room());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out.end());
    stream_.avail_out = room;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    in.remove_prefix(given - stream_.avail_in);
    out.added(room - stream_.avail_out);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code == Z_STREAM_END) return Stream::stream_end;
    return code == Z_OK || code == Z_BUF_ERROR ? Stream::running : Stream::corrupt;
  }

 private:
  z_stream stream_{};
};

class Bzip2 {
 public:
  static constexpr std::string_view name = "bzip2";
  static constexpr Compression format = Compression::bzip2;
  Bzip2() { start(); }
  ~Bzip2() { BZ2_bzDecompressEnd(&stream_); }
  void restart() {
    BZ2_bzDecompressEnd(&stream_);
    start();
  }

  Stream step(std::string_view& in, Buffer& out) {
    const unsigned given = piece(in.size());
    const unsigned room = piece(out.room());
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = given;
    stream_.next_out = out.end();
    stream_.avail_out = room;
    const int code = BZ2_bzDecompress(&stream_);
    in.remove_prefix(given - stream_.avail_in);
    out.added(room - stream_.avail_out);
    if (code == BZ_MEM_ERROR) throw std::bad_alloc();
    if (code == BZ_STREAM_END) return Stream::stream_end;
    return code == BZ_OK ? Stream::running : Stream::corrupt;
  }

 private:
  void start() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }
  bz_stream stream_{};
};

class Xz {
 public:
  static constexpr std::string_view name = "xz";
  static constexpr Compression format = Compression::xz;
  Xz() { restart(); }
  ~Xz() { lzma_end(&stream_); }
  void restart() {
    if (lzma_stream_decoder(&stream_, UINT64_MAX, 0) != LZMA_OK) throw std::bad_alloc();
  }

  Stream step(std::string_view& in, Buffer& out) {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.end());
    stream_.avail_out = out.room();
    const std::size_t room = out.room();
    const lzma_ret code = lzma_code(&stream_, LZMA_RUN);
    in.remove_prefix(in.size() - stream_.avail_in);
    out.added(room - stream_.avail_out);
    if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (code == LZMA_STREAM_END) return Stream::stream_end;
    return code == LZMA_OK || code == LZMA_BUF_ERROR ? Stream::running : Stream::corrupt;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class Zstd {
 public:
  static constexpr std::string_view name = "zstd";
  static constexpr Compression format = Compression::zstd;
  Zstd() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (stream_ == nullptr) throw std::bad_alloc();
    // Also what was compressed with --long.
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  }
  // The context goes on with the next frame by itself.
  void restart() {}

  Stream step(std::string_view& in, Buffer& out) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.end(), out.room(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_.get(), &output, &input);
    in.remove_prefix(input.pos);
    out.added(output.pos);
    if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(left)) return Stream::corrupt;
    return left == 0 ? Stream::stream_end : Stream::running;
  }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
};

// Also zstd's frames that hold nothing to unpack.
bool begins_stream(std::string_view bytes, Compression format) {
  const bool skippable = bytes.size() >= 4 && (bytes[0] & 0xf0) == 0x50 && bytes.substr(1, 3) == "\x2a\x4d\x18";
  return compression_of(bytes) == format || (format == Compression::zstd && skippable);
}

template <class Codec>
Buffer decode(std::string_view in, const std::string& name, std::size_t most) {
  Codec codec;
  Buffer out;
  while (true) {
    out.make_room();
    const std::size_t in_before = in.size();
    const std::size_t out_before = out.size();
    const Stream state = codec.step(in, out);
    if (state == Stream::corrupt) fail(ErrorKind::data, "{}: its {} data is corrupt", name, Codec::name);
    // At most one buffer beyond the limit, whatever the file claims to unpack to.
    if (out.size() > most) fail_unpacked(name, most);
    if (state == Stream::stream_end) {
      // Zero bytes may pad the end, as on tapes.
      in.remove_prefix(std::min(in.find_first_not_of('\0'), in.size()));
      if (in.empty()) return out;
      if (!begins_stream(in, Codec::format)) {
        fail(ErrorKind::data, "{}: {} bytes that are not {} data follow its {} data", name, in.size(), Codec::name,
             Codec::name);
      }
      codec.restart();
    } else if (in.size() == in_before && out.size() == out_before) {
      fail(ErrorKind::data, "{}: its {} data ends early: the file is truncated", name, Codec::name);
    }
  }
}

}  // namespace

std::size_t most_unpacked(UnpackLimit asked, std::size_t packed) {
  constexpr std::size_t always = std::size_t{1} << 30, ratio = 1000;
  if (asked) return static_cast<std::size_t>(std::max<std::int64_t>(*asked, 0));
  return packed > SIZE_MAX / ratio ? SIZE_MAX : std::max(always, ratio * packed);
}

void fail_unpacked(const std::string& name, std::size_t most) {
  fail(ErrorKind::data,
       "{}: unpacks to more than the {} bytes that are allowed; where it is no mistake, {} allows more", name, most,
       Field{"max_unpacked"});
}

Buffer decompress(std::string_view bytes, const std::string& name, UnpackLimit max_unpacked) {
  const std::size_t most = most_unpacked(max_unpacked, bytes.size());
  switch (compression_of(bytes)) {
    case Compression::gzip:
      return decode<Gzip>(bytes, name, most);
    case Compression::bzip2:
      return decode<Bzip2>(bytes, name, most);
    case Compression::xz:
      return decode<Xz>(bytes, name, most);
    case Compression::zstd:
      return decode<Zstd>(bytes, name, most);
    case Compression::none:
      break;
  }
  return Buffer(bytes);
}

}  // namespace topwolf
