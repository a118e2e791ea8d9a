// Fields stand between two marks; what is between every second pair of marks is text.
#include "core/fail.hpp"

namespace topwolf {

std::string Sentence::with(const FieldName& name) const {
  std::string out;
  bool in_field = false;
  for (std::size_t begin = 0; begin <= marked_.size(); in_field = !in_field) {
    const std::size_t end = std::min(marked_.find(field_mark, begin), marked_.size());
    const std::string_view part = std::string_view(marked_).substr(begin, end - begin);
    if (in_field && end < marked_.size()) {
      const std::size_t equals = std::min(part.find('='), part.size());
      out += name(part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
    } else {
      out += part;
    }
    begin = end + 1;
  }
  return out;
}

std::string Sentence::text() const {
  return with([](std::string_view field, std::string_view value) {
    return value.empty() ? std::string(field) : fmt::format("{} = {}", field, value);
  });
}

std::string Sentence::field() const {
  std::string first;
  with([&](std::string_view field, std::string_view) {
    if (first.empty()) first = field;
    return std::string();
  });
  return first;
}

}  // namespace topwolf
