// Text that comes from files, for terminals and lines: what would move the cursor, change colours or end a line or a
// field is written as JSON writes it, \n, \t, \r or \u001b.
#pragma once

#include <string>
#include <string_view>

namespace topwolf {

// Control characters (U+0000 to U+001F, U+007F to U+009F) and the separators U+2028 and U+2029.
std::string escape_controls(std::string_view text);

// The backslash as well, so that it can be undone: \\ is one.
std::string escape_field(std::string_view text);

}  // namespace topwolf
