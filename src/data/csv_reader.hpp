// Records and cells of CSV text (RFC 4180); knows nothing of numbers or labels. Lines without content are no records.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace topwolf {

struct CsvCell {
  std::string_view text;  // unquoted, or without blanks around it; valid until the next record
  std::int64_t line = 0;
  std::int64_t column = 0;  // byte in the line, from 1
};

class CsvReader {
 public:
  // The delimiter (comma, semicolon or tab) is the one that the first line has most of.
  CsvReader(std::string_view text, const std::string& name);

  // False at the end of the text.
  bool next(std::vector<CsvCell>& cells);

 private:
  CsvCell read_cell();
  std::string_view read_quoted(const CsvCell& cell);
  bool at_line_end() const;
  void end_line();

  std::string_view text_;
  const std::string& name_;
  char delimiter_ = ',';
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::size_t line_begin_ = 0;
  std::deque<std::string> unquoted_;  // cells of this record that had doubled quotes
};

}  // namespace topwolf
