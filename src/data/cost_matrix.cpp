// Size first, then every entry: a matrix of the wrong size is most likely for other data.
#include "topwolf/structure.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/fail.hpp"
#include "data/byte_source.hpp"
#include "data/npy.hpp"
#include "data/text.hpp"

namespace topwolf {
namespace {

constexpr std::string_view blanks = " \t\r";

// The end of the number that starts at begin, and the start of the next one: a comma, or blanks, stand between two.
struct Cell {
  std::size_t end;
  std::size_t next;
};

Cell find_cell(std::string_view line, std::size_t begin) {
  const std::size_t end = std::min(line.find_first_of(" \t\r,", begin), line.size());
  std::size_t next = std::min(line.find_first_not_of(blanks, end), line.size());
  if (next < line.size() && line[next] == ',') {
    next = line.find_first_not_of(blanks, next + 1);
    // A comma at the end of the line announces a number that is not there.
    if (next == std::string_view::npos) next = line.size() + 1;
  }
  return {end, next == line.size() ? std::string_view::npos : next};
}

std::int64_t parse_row(std::string_view line, const std::string& place, std::vector<double>& values) {
  std::int64_t count = 0;
  for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos; ++count) {
    const bool missing = begin > line.size();
    const Cell cell = missing ? Cell{begin, std::string_view::npos} : find_cell(line, begin);
    const std::string_view text = missing ? std::string_view{} : line.substr(begin, cell.end - begin);
    const auto number = parse_number<double>(text);
    if (text.empty() || number.fault != NumberFault::none)
      fail(ErrorKind::data, "{}:{}: {}", place, begin + 1, describe_fault(number.fault, text, sizeof(double)));
    values.push_back(number.value);
    begin = cell.next;
  }
  return count;
}

std::vector<double> parse_text(std::string_view bytes, const std::string& path, std::int64_t m) {
  check_no_nul(bytes, path);
  const std::string_view text = skip_byte_order_mark(bytes);
  std::vector<double> values;
  std::int64_t rows = 0;
  for_lines(text, [&](std::int64_t number, std::string_view line) {
    const std::string_view content = trim_blanks(line);
    if (content.empty() || content.starts_with('#')) return;
    ++rows;
    const std::int64_t columns = parse_row(line, fmt::format("{}:{}", path, number), values);
    if (columns != m)
      fail(ErrorKind::data, "{}:{}: row {} of the cost matrix has {} entries, but the data has {} classes", path,
           number, rows, columns, m);
  });
  if (rows != m) fail(ErrorKind::data, "{}: the cost matrix has {} rows, but the data has {} classes", path, rows, m);
  return values;
}

std::vector<double> parse_array(std::string_view bytes, const std::string& path, std::int64_t m) {
  const NpyArray array = parse_npy(bytes, path);
  if (array.shape != std::vector<std::int64_t>{m, m})
    fail(ErrorKind::data, "{}: the cost matrix has the shape ({}), but the data has {} classes and needs ({}, {})",
         path, fmt::join(array.shape, ", "), m, m, m);
  return npy_numbers<double>(array, path);
}

}  // namespace

// Checked again when a loss is resolved, which may come from elsewhere; here the message has the file's name.
std::vector<double> load_cost_matrix(const std::string& path, std::int64_t m, UnpackLimit max_unpacked) {
  const Buffer bytes = read_bytes(path, max_unpacked);
  auto matrix = is_npy(bytes.view()) ? parse_array(bytes.view(), path, m) : parse_text(bytes.view(), path, m);
  for (std::int64_t y = 0; y < m; ++y) {
    for (std::int64_t j = 0; j < m; ++j) {
      const double value = matrix[static_cast<std::size_t>(y * m + j)];
      if (!(std::isfinite(value) && value >= 0.0))
        fail(ErrorKind::data, "{}: row {}, column {} of the cost matrix is {}; it must be finite and at least 0", path,
             y + 1, j + 1, value);
      if (y == j && value != 0.0)
        fail(ErrorKind::data, "{}: row {}, column {} of the cost matrix is {}; the diagonal must be 0", path, y + 1,
             j + 1, value);
    }
  }
  return matrix;
}

}  // namespace topwolf
