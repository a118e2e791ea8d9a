// .npy: features are the same whether they come from memory or piece by piece, and features and labels are the same
// after they were written and read again.
#include "data/npy.hpp"

#include <cstring>

#include "data/write.hpp"
#include "rows.hpp"

using namespace topwolf;

namespace {

void check_features_as(std::string_view bytes, const NumberChoice& precision) {
  std::string sentence, sentence_in_pieces;
  const auto whole = fuzz::attempt([&] { return npy_features(bytes, precision, 1, "array"); }, &sentence);
  std::string_view rest = bytes;
  const ByteReader reader = [&](char* to, std::size_t count) {
    count = std::min(count, rest.size());
    std::copy_n(rest.begin(), count, to);
    rest.remove_prefix(count);
    return count;
  };
  const auto pieces = fuzz::attempt([&] { return read_npy_features(reader, bytes.size(), precision, 1, "array"); },
                                    &sentence_in_pieces);
  fuzz::require(whole.has_value() == pieces.has_value(),
                "in memory and in pieces the same files are accepted, but: " + sentence + " / " + sentence_in_pieces);
  if (!whole) return;
  fuzz::require(fuzz::same_features(*whole, *pieces), "in memory and in pieces the features are the same");
  RawDataset raw;
  raw.X = *whole;
  const std::string path = fuzz::scratch_file("again.npy");
  write_npy_features(raw, path);
  fuzz::require(fuzz::same_features(*whole, npy_features(fuzz::content(path), precision, 1, path)),
                "features written and read again are the same");
}

std::optional<RawDataset> read_labels(std::string_view bytes) {
  const auto labels = fuzz::attempt([&] { return npy_labels(parse_npy(bytes, "labels"), "labels"); });
  if (!labels) return std::nullopt;
  RawDataset raw;
  raw.label = labels->label;
  raw.spelling = labels->spelling;
  raw.label_type = labels->type;
  return raw;
}

void check_labels(std::string_view bytes) {
  const auto raw = read_labels(bytes);
  if (!raw || raw->label.empty()) return;
  const std::string path = fuzz::scratch_file("labels.npy");
  const auto written = fuzz::attempt([&] { return write_npy_labels(*raw, path), true; });
  if (!written) return;
  const auto again = read_labels(fuzz::content(path));
  // An array whose labels are all empty is refused.
  const bool none = raw->spelling.empty();
  fuzz::require(none || (again && fuzz::labels_of(*raw) == fuzz::labels_of(*again)),
                "labels written and read again are the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  check_features_as(bytes, Precision::float32);
  check_features_as(bytes, Precision::float64);
  check_features_as(bytes, NumberChoice(std::nullopt));  // float16 is kept
  check_features_as(bytes, Precision::bfloat16);
  check_labels(bytes);
  return 0;
}
