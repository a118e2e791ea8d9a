// Metadata read field by field: each is asked for by name and type, and a sentence says which one is missing or wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/fail.hpp"

namespace topwolf {

// A view of an object and of the path for messages; both outlive it.
class Fields {
 public:
  Fields(const nlohmann::json& object, const std::string& path) : object_(object), path_(path) {}

  bool has(const char* key) const { return object_.contains(key); }

  const nlohmann::json& at(const char* key, bool right_type(const nlohmann::json&), const char* type) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !right_type(*found)) {
      fail(ErrorKind::data, "{}: the model's metadata should have {} called '{}'", path_, type, key);
    }
    return *found;
  }

  double number(const char* key) const {
    const auto is_number = [](const nlohmann::json& value) { return value.is_number(); };
    return at(key, is_number, "a number").get<double>();
  }

  // What does not fit T is not an integer to us.
  template <class T = std::int64_t>
  T integer(const char* key) const {
    const auto fits = [](const nlohmann::json& value) {
      return value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                        : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
    };
    return at(key, fits, sizeof(T) == 4 ? "a 32-bit integer" : "a 64-bit integer").template get<T>();
  }

  bool flag(const char* key) const {
    const auto is_flag = [](const nlohmann::json& value) { return value.is_boolean(); };
    return at(key, is_flag, "true or false").get<bool>();
  }

  std::string text(const char* key) const {
    const auto is_text = [](const nlohmann::json& value) { return value.is_string(); };
    return at(key, is_text, "a text").get<std::string>();
  }

  template <class T>
  std::vector<T> list(const char* key) const {
    const auto is_list = [](const nlohmann::json& value) {
      return value.is_array() && std::all_of(value.begin(), value.end(), [](const nlohmann::json& item) {
               return std::is_same_v<T, double> ? item.is_number() : item.is_string();
             });
    };
    return at(key, is_list, std::is_same_v<T, double> ? "a list of numbers" : "a list of texts")
        .template get<std::vector<T>>();
  }

  Fields object(const char* key) const {
    const auto is_object = [](const nlohmann::json& value) { return value.is_object(); };
    return {at(key, is_object, "an object"), path_};
  }

  template <class E>
  E name(const char* key) const {
    const std::string given = text(key);
    const std::optional<E> value = parse_name<E>(given);
    if (!value) {
      fail(ErrorKind::data, "{}: the model's {} should be one of {}, not '{}'", path_, key,
           fmt::join(Names<E>::all, ", "), given);
    }
    return *value;
  }

  const std::string& path() const { return path_; }

 private:
  const nlohmann::json& object_;
  const std::string& path_;
};

}  // namespace topwolf
