// Whole contents, compressed or not; read errors and broken compression are errors, never an end.
#include "data/byte_source.hpp"

#include <bzlib.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "data/decompress.hpp"
#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;

std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string bzip2(std::string_view text) {
  std::string out(text.size() + 1000, '\0');
  auto size = static_cast<unsigned>(out.size());
  BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()), static_cast<unsigned>(text.size()), 9, 0,
                           0);
  out.resize(size);
  return out;
}

std::string xz(std::string_view text) {
  std::string out(text.size() + 1000, '\0');
  std::size_t size = 0;
  lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                          reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size());
  out.resize(size);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

class Compression : public ::testing::TestWithParam<std::string (*)(std::string_view)> {
 protected:
  std::string compress(std::string_view text) const { return GetParam()(text); }
  std::string read(std::string_view bytes) const {
    write_text(folder_.file("data"), bytes);
    return std::string(read_bytes(folder_.file("data")).view());
  }
  std::string content() const {
    std::string text;
    for (int i = 0; i < 60000; ++i) text += std::to_string(i * 7919) + (i % 9 == 0 ? "\n" : " ");
    return text;
  }
  TempFolder folder_;
};

TEST_P(Compression, is_recognised_by_its_first_bytes_and_undone) {
  EXPECT_EQ(read(compress(content())), content());
  EXPECT_EQ(read(compress("")), "");
}

TEST_P(Compression, reads_streams_one_after_the_other_as_one) {
  EXPECT_EQ(read(compress("first\n") + compress(content()) + compress("last\n")), "first\n" + content() + "last\n");
}

TEST_P(Compression, that_is_truncated_anywhere_is_an_error) {
  const std::string whole = compress(content());
  for (const std::size_t kept : {std::size_t{8}, whole.size() / 2, whole.size() - 5, whole.size() - 1}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { read(whole.substr(0, kept)); }), HasSubstr("truncated")) << kept;
  }
}

TEST_P(Compression, that_is_corrupt_is_an_error) {
  std::string bytes = compress(content());
  for (std::size_t k = bytes.size() / 2; k < bytes.size() / 2 + 8; ++k) bytes[k] = static_cast<char>(~bytes[k]);
  EXPECT_THAT(error_of(ErrorKind::data, [&] { read(bytes); }), HasSubstr("/data: its "));
}

TEST_P(Compression, that_is_followed_by_something_else_is_an_error) {
  for (const std::string_view behind : {"a", "abc", "garbage behind it"}) {
    const std::string sentence = error_of(ErrorKind::data, [&] { read(compress("x") + std::string(behind)); });
    EXPECT_THAT(sentence, HasSubstr("/data: " + std::to_string(behind.size()) + " bytes that are not "));
  }
  EXPECT_EQ(read(compress("x") + std::string(3, '\0')), "x");
}

TEST_P(Compression, unpacks_to_no_more_than_is_allowed) {
  const std::string text(300000, 'x');
  write_text(folder_.file("data"), compress(text) + compress(text));
  EXPECT_EQ(read_bytes(folder_.file("data"), 600000).size(), 600000u);
  for (const std::int64_t most : {0, 299999, 300000, 599999}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { read_bytes(folder_.file("data"), most); }),
                HasSubstr("/data: unpacks to more than the " + std::to_string(most) + " bytes that are allowed"));
  }
}

INSTANTIATE_TEST_SUITE_P(AllFormats, Compression, ::testing::Values(&gzip, &bzip2, &xz, &zstd));

TEST(ByteSource, refuses_a_missing_file_and_a_folder_as_io) {
  const TempFolder folder;
  EXPECT_THAT(error_of(ErrorKind::io, [&] { read_bytes(folder.file("none")); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of(ErrorKind::io, [&] { read_bytes(folder.file(".")); }), HasSubstr("directory"));
}

TEST(ByteSource, never_takes_a_read_error_for_the_end_of_the_file) {
  // Reading address 0 of this process fails with EIO.
  EXPECT_THAT(error_of(ErrorKind::io, [] { read_bytes("/proc/self/mem"); }), HasSubstr("cannot be read"));
}

TEST(ByteSource, reads_standard_input_also_from_a_pipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "1 1:2\n", 6), 6);
  ::close(ends[1]);
  const int saved = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  const std::string text(read_bytes("-").view());
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(ends[0]);
  EXPECT_EQ(text, "1 1:2\n");
  EXPECT_EQ(display_name("-"), "<stdin>");
}

TEST(ByteSource, allows_a_gibibyte_or_a_thousand_times_the_size) {
  EXPECT_EQ(most_unpacked({}, 10), std::size_t{1} << 30);
  EXPECT_EQ(most_unpacked({}, 5'000'000), 5'000'000'000u);
  EXPECT_EQ(most_unpacked({}, SIZE_MAX / 10), SIZE_MAX);
  EXPECT_EQ(most_unpacked(12, 5'000'000), 12u);
}

TEST(ByteSource, skips_zstd_frames_that_hold_nothing) {
  const TempFolder folder;
  const std::string skippable("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  write_text(folder.file("a"), zstd("x") + skippable + zstd("y"));
  EXPECT_EQ(read_bytes(folder.file("a")).view(), "xy");
}

TEST(ByteSource, does_not_take_a_label_for_bzip2) {
  const TempFolder folder;
  write_text(folder.file("a"), "BZh9 1:2\n");
  EXPECT_EQ(read_bytes(folder.file("a")).view(), "BZh9 1:2\n");
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
