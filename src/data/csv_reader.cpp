// Records and cells of CSV text.
#include "data/csv_reader.hpp"

#include <algorithm>
#include <array>

#include "core/fail.hpp"
#include "data/text.hpp"

namespace topwolf {

namespace {

// The most frequent one in the first line with content, outside of quotes.
char find_delimiter(std::string_view text) {
  constexpr std::string_view candidates = ",;\t";
  std::array<int, candidates.size()> counts{};
  bool quoted = false;
  bool content = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' && content) break;
    content |= c != '\n' && c != '\r' && c != ' ';
    const std::size_t which = candidates.find(c);
    if (which != std::string_view::npos) ++counts[which];
  }
  return candidates[static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

}  // namespace

CsvReader::CsvReader(std::string_view text, const std::string& name)
    : text_(skip_byte_order_mark(text)), name_(name), delimiter_(find_delimiter(text_)) {
  check_no_nul(text_, name);
}

bool CsvReader::at_line_end() const {
  const std::string_view rest = text_.substr(at_, 2);
  return rest.empty() || rest == "\r\n" || rest.front() == '\n' || rest == "\r";
}

void CsvReader::end_line() {
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  at_ = std::min(at_ + 1, text_.size());
  ++line_;
  line_begin_ = at_;
}

bool CsvReader::next(std::vector<CsvCell>& cells) {
  while (at_ < text_.size()) {
    cells.clear();
    unquoted_.clear();
    cells.push_back(read_cell());
    while (!at_line_end()) {
      ++at_;
      cells.push_back(read_cell());
    }
    // A line of blanks is no row of one empty cell.
    const bool blank = cells.size() == 1 && cells[0].text.empty();
    end_line();
    if (!blank) return true;
  }
  return false;
}

// Leaves at_ on the delimiter or the end of the line.
CsvCell CsvReader::read_cell() {
  CsvCell cell{{}, line_, static_cast<std::int64_t>(at_ - line_begin_) + 1};
  if (at_ < text_.size() && text_[at_] == '"') {
    cell.text = read_quoted(cell);
    return cell;
  }
  // A quote inside a cell that does not begin with one is a character like others.
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n') ++at_;
  if (at_ > begin && text_[at_ - 1] == '\r' && (at_ == text_.size() || text_[at_] == '\n')) --at_;
  const std::string_view raw = text_.substr(begin, at_ - begin);
  cell.text = trim_blanks(raw);
  if (!cell.text.empty()) cell.column += cell.text.data() - raw.data();
  return cell;
}

std::string_view CsvReader::read_quoted(const CsvCell& cell) {
  const std::size_t begin = ++at_;
  bool doubled = false;
  while (true) {
    at_ = text_.find('"', at_);
    if (at_ == std::string_view::npos) {
      fail(ErrorKind::data, "{}:{}:{}: the quote that opens here is never closed", name_, cell.line, cell.column);
    }
    if (text_.substr(at_, 2) != "\"\"") break;
    doubled = true;
    at_ += 2;
  }
  const std::string_view inside = text_.substr(begin, at_ - begin);
  ++at_;
  // A cell may hold line ends; places in messages count on after them.
  const auto newlines = std::count(inside.begin(), inside.end(), '\n');
  if (newlines > 0) {
    line_ += newlines;
    line_begin_ = begin + inside.rfind('\n') + 1;
  }
  if (at_ < text_.size() && text_[at_] != delimiter_ && !at_line_end()) {
    fail(ErrorKind::data, "{}:{}:{}: a closing quote must be followed by a delimiter or the end of the line", name_,
         line_, at_ - line_begin_ + 1);
  }
  if (!doubled) return inside;
  // Only where quotes were doubled is there a copy; all other cells are views of the text.
  std::string& plain = unquoted_.emplace_back();
  for (std::size_t k = 0; k < inside.size(); ++k) {
    plain += inside[k];
    if (inside[k] == '"') ++k;
  }
  return plain;
}

}  // namespace topwolf
