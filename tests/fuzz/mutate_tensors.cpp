// Changes tensor files (models, duals, data) from within: the metadata, the table of tensors or the numbers, with the
// length of the header and the checksum put right again. Left to itself a fuzzer never gets past them.
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "core/hash.hpp"
#include "fuzz.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using nlohmann::json;

struct Parts {
  json table;  // without its metadata
  std::string metadata;
  std::string numbers;
};

std::optional<Parts> take_apart(std::string_view file) {
  std::uint64_t length = 0;
  if (file.size() < 8) return std::nullopt;
  std::memcpy(&length, file.data(), 8);
  if (length > file.size() - 8) return std::nullopt;
  Parts parts;
  parts.table = json::parse(file.substr(8, length), nullptr, false);
  if (!parts.table.is_object() || !parts.table.contains("__metadata__")) return std::nullopt;
  const json& own = parts.table["__metadata__"];
  if (!own.is_object() || !own.contains("topwolf") || !own["topwolf"].is_string()) return std::nullopt;
  parts.metadata = own["topwolf"];
  parts.table.erase("__metadata__");
  parts.numbers = file.substr(8 + length);
  return parts;
}

std::string put_together(const Parts& parts) {
  constexpr auto replace = json::error_handler_t::replace;
  const json metadata = json::parse(json(parts.metadata).dump(-1, ' ', false, replace));
  topwolf::Hasher checksum;
  checksum.add(parts.numbers);
  checksum.add(metadata.get<std::string>());
  checksum.add(parts.table.dump(-1, ' ', false, replace));
  json header = parts.table;
  header["__metadata__"] = {{"topwolf", metadata}, {"checksum", checksum.hex()}};
  std::string text = header.dump(-1, ' ', false, replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + text + parts.numbers;
}

std::string mutated(std::string text, std::size_t room) {
  const std::size_t size = text.size();
  text.resize(size + room);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

// Another value in one place of a tree.
void change_value(json& tree, std::minstd_rand& random) {
  static const json values[] = {0,
                                1,
                                2,
                                3,
                                -1,
                                255,
                                2147483647,
                                2147483648,
                                4294967296,
                                1e308,
                                -1e308,
                                1e-310,
                                0.5,
                                true,
                                false,
                                nullptr,
                                "",
                                "F32",
                                "F64",
                                "I32",
                                "I64",
                                "U8",
                                "float32",
                                "maxabs",
                                "none",
                                "text",
                                INT64_MAX,
                                json::array(),
                                json::object(),
                                json::array({0, 0})};
  json flat = tree.flatten();
  if (flat.empty() || !tree.is_structured()) return;
  auto place = flat.begin();
  std::advance(place, random() % flat.size());
  if (random() % 6 == 0) {
    flat.erase(place.key());
  } else {
    place.value() = values[random() % std::size(values)];
  }
  try {
    tree = flat.unflatten();
  } catch (const json::exception&) {  // an empty object has no place among flat values
  }
}

void change(Parts& parts, std::minstd_rand& random) {
  const std::size_t size = parts.numbers.size();
  switch (random() % 6) {
    case 0:
      parts.metadata = mutated(parts.metadata, 64);
      break;
    case 1:
    case 2:
      if (json metadata = json::parse(parts.metadata, nullptr, false); !metadata.is_discarded()) {
        change_value(metadata, random);
        parts.metadata = metadata.dump(-1, ' ', false, json::error_handler_t::replace);
      }
      break;
    case 3:
      change_value(parts.table, random);
      break;
    default:
      // As many as before, so that they still fit the table.
      parts.numbers = mutated(parts.numbers, 0);
      parts.numbers.resize(size);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  std::optional<Parts> parts = take_apart(topwolf::fuzz::text_of(data, size));
  if (!parts || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  change(*parts, random);
  std::string file;
  try {
    file = put_together(*parts);
  } catch (const json::exception&) {  // what was changed has made a table of tensors impossible
  }
  if (file.empty() || file.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(file.begin(), file.end(), data);
  return file.size();
}
