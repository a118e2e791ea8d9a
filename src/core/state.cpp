// A state is a list of named arrays. Names of parts are joined by dots, so that a part is a range of the list.
#include "core/state.hpp"

namespace topwolf {

State State::read(const TensorFile& file) {
  State state;
  state.restoring_ = true;
  state.path_ = file.path();
  for (const std::string& name : file.names()) {
    const std::span<const char> bytes = file.bytes(name);
    state.arrays_[name] = {file.dtype(name), {bytes.begin(), bytes.end()}};
  }
  return state;
}

void State::add(std::string_view name, const State& part) {
  for (const auto& [key, array] : part.arrays_) arrays_[prefix_ + std::string(name) + "." + key] = array;
}

State State::part(std::string_view name) const {
  State part;
  part.restoring_ = true;
  part.path_ = path_;
  const std::string begin = prefix_ + std::string(name) + ".";
  for (auto at = arrays_.lower_bound(begin); at != arrays_.end() && at->first.starts_with(begin); ++at) {
    part.arrays_[at->first.substr(begin.size())] = at->second;
  }
  return part;
}

void State::write(const std::string& path, const std::string& metadata_json) const {
  std::vector<Tensor> tensors;
  for (const auto& [name, array] : arrays_) {
    const std::size_t element = array.dtype == "U8" ? 1 : array.dtype.ends_with("64") ? 8 : 4;
    tensors.push_back(
        {name, array.dtype, {static_cast<std::int64_t>(array.bytes.size() / element)}, array.bytes.data()});
  }
  write_tensor_file(path, tensors, metadata_json);
}

std::string State::pack() const {
  std::string bytes;
  const auto text = [&](std::string_view part) {
    const auto size = static_cast<std::int64_t>(part.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
  };
  for (const auto& [name, array] : arrays_) {
    text(name);
    text(array.dtype);
    text({array.bytes.data(), array.bytes.size()});
  }
  return bytes;
}

State State::unpack(std::string_view bytes, std::string from) {
  State state;
  state.restoring_ = true;
  state.path_ = std::move(from);
  const auto text = [&] {
    std::int64_t size = -1;
    if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
    if (size < 0 || static_cast<std::size_t>(size) > bytes.size() - sizeof size) state.refuse("a part of it");
    const std::string_view part = bytes.substr(sizeof size, static_cast<std::size_t>(size));
    bytes.remove_prefix(sizeof size + part.size());
    return part;
  };
  while (!bytes.empty()) {
    const std::string name(text()), dtype(text());
    const std::string_view values = text();
    state.arrays_[name] = {dtype, {values.begin(), values.end()}};
  }
  return state;
}

void State::put(std::string_view name, std::string_view dtype, const void* data, std::size_t size) {
  const char* bytes = static_cast<const char*>(data);
  arrays_[prefix_ + std::string(name)] = {std::string(dtype), {bytes, bytes + size}};
}

const State::Array& State::find(std::string_view name, std::string_view dtype) const {
  const auto found = arrays_.find(prefix_ + std::string(name));
  if (found == arrays_.end() || found->second.dtype != dtype) refuse(name);
  return found->second;
}

void State::refuse(std::string_view name) const {
  fail(ErrorKind::data, "{}: is no checkpoint of this job: '{}{}' is missing or not what it should be", path_, prefix_,
       name);
}

}  // namespace topwolf
