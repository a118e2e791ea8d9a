// The checks ride on the parser's callback, so that a hostile text is left at the first offence, before it is a tree.
#include "core/strict_json.hpp"

#include <set>
#include <vector>

#include "core/fail.hpp"

namespace topwolf {

namespace {

// Our own files nest four deep.
constexpr int deepest_nesting = 16;

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, const std::string& path, const std::string& what) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto inspect = [&](int depth, Event event, nlohmann::json& value) {
    if (depth > deepest_nesting) {
      fail(ErrorKind::data, "{}: {} nests deeper than {} levels", path, what, deepest_nesting);
    }
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
      fail(ErrorKind::data, "{}: {} has the key {} twice", path, what, value.dump());
    }
    return true;
  };
  // The parser takes a NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail(ErrorKind::data, "{}: {} has a NUL at byte {} of its {}", path, what, nul + 1, text.size());
  }
  try {
    return nlohmann::json::parse(text, inspect);
  } catch (const nlohmann::json::parse_error& error) {
    fail(ErrorKind::data, "{}: {} is not well-formed JSON at byte {} of its {}", path, what, error.byte, text.size());
  } catch (const nlohmann::json::exception&) {
    fail(ErrorKind::data, "{}: {} has a number that no double can hold", path, what);
  }
}

bool says(const nlohmann::json& object, const char* key, std::string_view text) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() && found->get_ref<const std::string&>() == text;
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace topwolf
