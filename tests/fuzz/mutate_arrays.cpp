// Changes .npy and .npz files from within: the header of an array or its numbers, with the lengths, and in an archive
// the CRC, put right again.
#include <zip.h>

#include <memory>
#include <random>
#include <vector>

#include "data/npy.hpp"
#include "data/zip_writer.hpp"
#include "fuzz.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace topwolf;

std::string mutated(std::string text, std::size_t room) {
  const std::size_t size = text.size();
  text.resize(size + room);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

// As many bytes of data as the header says, where those are few.
void fit_data(const std::string& header, std::string& data) {
  const auto array = fuzz::attempt([&] { return parse_npy_header(header, "array"); });
  if (!array) return;
  const std::int64_t needed = npy_data_size(*array);
  if (needed >= 0 && needed <= 2048) data.resize(static_cast<std::size_t>(needed), '\1');
}

std::string change_array(const std::string& array, std::minstd_rand& random) {
  const auto size = fuzz::attempt([&] { return npy_header_size(array, "array"); });
  if (!size || *size > array.size() || array[6] != 1 || random() % 16 == 0) return mutated(array, 64);
  std::string text = array.substr(10, *size - 10), data = array.substr(*size);
  if (random() % 2 == 0) {
    text = mutated(text, 16);
  } else {
    data = mutated(data, 16);
  }
  const std::string header =
      array.substr(0, 8) + static_cast<char>(text.size() & 0xff) + static_cast<char>((text.size() >> 8) & 0xff) + text;
  if (random() % 4 != 0) fit_data(header, data);
  return header + data;
}

using Members = std::vector<std::pair<std::string, std::string>>;

Members unzip(const std::string& path) {
  Members members;
  const std::unique_ptr<zip_t, decltype(&zip_discard)> zip(zip_open(path.c_str(), ZIP_RDONLY, nullptr), &zip_discard);
  for (zip_int64_t k = 0; zip && k < zip_get_num_entries(zip.get(), 0); ++k) {
    std::string name = zip_get_name(zip.get(), static_cast<zip_uint64_t>(k), 0);
    if (!name.ends_with(".npy")) continue;
    std::string bytes(1 << 16, '\0');
    zip_file_t* const file = zip_fopen_index(zip.get(), static_cast<zip_uint64_t>(k), 0);
    if (file == nullptr) continue;
    const zip_int64_t got = zip_fread(file, bytes.data(), bytes.size());
    zip_fclose(file);
    bytes.resize(static_cast<std::size_t>(std::max<zip_int64_t>(got, 0)));
    members.emplace_back(name.substr(0, name.size() - 4), bytes);
  }
  return members;
}

std::string zipped(const Members& members, const std::string& path) {
  std::vector<ZipMember> contents;
  for (const auto& [name, bytes] : members) contents.push_back({bytes, {}});
  ZipWriter zip(path);
  for (std::size_t k = 0; k < members.size(); ++k) zip.add(members[k].first, contents[k]);
  zip.commit();
  return fuzz::content(path);
}

// Nothing for what is no archive of arrays.
std::optional<std::string> change_archive(std::string_view file, std::minstd_rand& random) {
  Members members = unzip(fuzz::stored(file, "mutated.npz"));
  if (members.empty()) return std::nullopt;
  const std::size_t which = random() % members.size();
  if (random() % 32 == 0) {
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(which));
  } else {
    members[which].second = change_array(members[which].second, random);
  }
  return members.empty() ? std::nullopt : std::optional(zipped(members, fuzz::scratch_file("mutated.npz")));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  const std::string_view file = fuzz::text_of(data, size);
  std::optional<std::string> changed;
  if (file.starts_with("PK") && random() % 16 != 0) changed = change_archive(file, random);
  if (file.starts_with("\x93NUMPY")) changed = change_array(std::string(file), random);
  if (!changed || changed->size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(changed->begin(), changed->end(), data);
  return changed->size();
}
