// Labels in a file of their own.
#include "data/label_file.hpp"

#include "core/fail.hpp"
#include "data/byte_source.hpp"
#include "data/npy.hpp"
#include "data/text.hpp"

namespace topwolf {

Labels read_label_file(const std::string& path, UnpackLimit max_unpacked) {
  const Buffer bytes = read_bytes(path, max_unpacked);
  const std::string name = display_name(path);
  if (is_npy(bytes.view())) return npy_labels(parse_npy(bytes.view(), name), name);
  return parse_label_lines(bytes.view(), name);
}

Labels parse_label_lines(std::string_view text, const std::string& name) {
  text = skip_byte_order_mark(text);
  check_no_nul(text, name);
  Labels labels;
  LabelTable table;
  std::size_t rows = 0;  // up to the last line that has a label
  for_lines(text, [&](std::int64_t number, std::string_view line) {
    const std::string_view label = trim_blanks(line);
    labels.label.push_back(label.empty() ? -1 : table.add(label));
    if (label.empty()) return;
    rows = labels.label.size();
    if (!is_finite_or_text(label)) {
      fail(ErrorKind::data, "{}:{}:{}: the label {} is not finite", name, number, label.data() - line.data() + 1,
           quote(label));
    }
  });
  labels.label.resize(rows);
  labels.spelling = table.take();
  return labels;
}

}  // namespace topwolf
