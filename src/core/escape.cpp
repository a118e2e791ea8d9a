// Control characters are looked for in UTF-8, because C1 and the line separators have two and three bytes there.
#include "core/escape.hpp"

#include <fmt/format.h>

#include <iterator>

namespace topwolf {
namespace {

struct Control {
  unsigned code;     // 0 where `size` is 0
  std::size_t size;  // in bytes; 0: no control character
};

Control control_at(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return {byte(0), 1};
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return {byte(1), 2};
  if (byte(0) == 0xe2 && byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9)) return {0x2000 + byte(2) - 0x80, 3};
  return {0, 0};
}

std::string escape(std::string_view text, bool backslash) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Control control = control_at(text.substr(at));
    if (control.size == 0) {
      if (text[at] == '\\' && backslash) out += '\\';
      out += text[at++];
      continue;
    }
    at += control.size;
    if (control.code == '\n') {
      out += "\\n";
    } else if (control.code == '\t') {
      out += "\\t";
    } else if (control.code == '\r') {
      out += "\\r";
    } else {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", control.code);
    }
  }
  return out;
}

}  // namespace

std::string escape_controls(std::string_view text) {
  return escape(text, false);
}

std::string escape_field(std::string_view text) {
  return escape(text, true);
}

}  // namespace topwolf
