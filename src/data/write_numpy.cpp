// .npy and .npz.
#include <algorithm>
#include <bit>
#include <charconv>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/strict_json.hpp"
#include "data/npy.hpp"
#include "data/rows.hpp"
#include "data/text.hpp"
#include "data/write.hpp"
#include "data/zip_writer.hpp"

namespace topwolf {

namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, float>) return "<f4";
  if constexpr (std::is_same_v<T, double>) return "<f8";
  if constexpr (std::is_same_v<T, Float16>) return "<f2";
  if constexpr (std::is_same_v<T, BFloat16>) return "|V2";  // as ml_dtypes' bfloat16 is written
  if constexpr (std::is_same_v<T, std::int32_t>) return "<i4";
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
}

template <class T>
ZipMember make_member(const std::vector<T>& values, const std::vector<std::int64_t>& shape) {
  return {npy_header(type_name<T>(), shape), {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}};
}

template <class T>
void append_bytes(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// None beyond 64 bits: such labels are written as text rather than rounded.
std::optional<std::int64_t> as_int64(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::u32string decode_utf8(const std::string& text, const std::string& path) {
  if (!is_utf8(text)) fail(ErrorKind::data, "{}: the label {} is not UTF-8 text", path, quote(text));
  std::u32string points;
  for (std::size_t k = 0; k < text.size();) {
    const auto lead = static_cast<unsigned char>(text[k]);
    const int extra = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : 3;
    char32_t point = extra == 0 ? lead : lead & (0x3fu >> extra);
    for (int e = 1; e <= extra; ++e) {
      point = (point << 6) | (static_cast<unsigned char>(text[k + static_cast<std::size_t>(e)]) & 0x3f);
    }
    points += point;
    k += static_cast<std::size_t>(extra) + 1;
  }
  return points;
}

std::string text_array(const RawDataset& raw, const std::string& path) {
  std::vector<std::u32string> names;
  // Items of no bytes would be refused when they are read (npy_labels).
  std::size_t width = 1;
  for (const std::string& spelling : raw.spelling) {
    width = std::max(width, names.emplace_back(decode_utf8(spelling, path)).size());
  }
  std::string bytes = npy_header(fmt::format("<U{}", width), {static_cast<std::int64_t>(raw.label.size())});
  for (const std::int32_t label : raw.label) {
    std::u32string name = label < 0 ? U"" : names[static_cast<std::size_t>(label)];
    name.resize(width);
    bytes.append(reinterpret_cast<const char*>(name.data()), 4 * width);
  }
  return bytes;
}

// A whole .npy file: integers, reals and booleans as such, text and integers beyond 64 bits as text.
std::string label_array(const RawDataset& raw, const std::string& path) {
  const LabelType type = collect_classes(raw).type;
  const bool wide = type == LabelType::integer && std::any_of(raw.spelling.begin(), raw.spelling.end(),
                                                              [](const std::string& s) { return !as_int64(s); });
  if (type == LabelType::text || wide) return text_array(raw, path);
  const char* const type_text = type == LabelType::integer ? "<i8" : type == LabelType::real ? "<f8" : "|b1";
  std::string bytes = npy_header(type_text, {static_cast<std::int64_t>(raw.label.size())});
  for (std::size_t i = 0; i < raw.label.size(); ++i) {
    if (raw.label[i] < 0) {
      fail(ErrorKind::data, "{}: row {} (counted from 1) has no label, which an array of numbers cannot say", path,
           i + 1);
    }
    const std::string& spelling = raw.spelling[static_cast<std::size_t>(raw.label[i])];
    if (type == LabelType::integer) append_bytes(bytes, *as_int64(spelling));
    if (type == LabelType::real) append_bytes(bytes, parse_number<double>(spelling).value);
    if (type == LabelType::boolean) bytes += lower_case(spelling) == "true" ? '\1' : '\0';
  }
  return bytes;
}

}  // namespace

void write_npy_labels(const RawDataset& raw, const std::string& path) {
  const std::string bytes = label_array(raw, path);
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_npy_features(const RawDataset& raw, const std::string& path) {
  AtomicFile file(path);
  std::visit(
      [&]<class Store>(const Store& X) {
        using T = typename decltype(X.values)::value_type;
        file.write(npy_header(type_name<T>(), {X.rows, X.cols}));
        for_dense_rows(X.view(), [&](std::int64_t, auto row) { file.write(row.data(), row.size_bytes()); });
      },
      raw.X);
  file.commit();
}

void write_npz(const RawDataset& raw, const std::string& path) {
  // Before the archive is begun, as it may be refused.
  const std::string labels = has_labels(raw) ? label_array(raw, path) : "";
  std::vector<std::pair<std::string, ZipMember>> members;
  const std::vector<std::int64_t> shape = std::visit(
      [](const auto& X) {
        return std::vector<std::int64_t>{X.rows, X.cols};
      },
      raw.X);
  std::visit(
      [&](const auto& X) {
        const auto stored = static_cast<std::int64_t>(X.values.size());
        if constexpr (requires { X.row_begin; }) {
          // The names are scipy.sparse.load_npz's; `y` beside them is ours, which it ignores.
          members.emplace_back("data", make_member(X.values, {stored}));
          members.emplace_back("indices", make_member(X.column, {stored}));
          members.emplace_back("indptr", make_member(X.row_begin, {X.rows + 1}));
          members.emplace_back("shape", make_member(shape, {2}));
          members.emplace_back("format", ZipMember{npy_header("|S3", {}), "csr"});
        } else {
          members.emplace_back("X", make_member(X.values, shape));
        }
      },
      raw.X);
  if (!labels.empty()) members.emplace_back("y", ZipMember{labels, {}});
  ZipWriter zip(path);
  for (const auto& [name, member] : members) zip.add(name, member);
  zip.commit();
}

}  // namespace topwolf
