#include "engine/shards/message.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/fail.hpp"

namespace topwolf {
namespace {

template <class T>
void append(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

// A number as it lies in memory; lists and texts with their length before them.
struct Writer {
  std::string& bytes;

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(const T& value) const { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(const std::vector<T>& values) const {
    (*this)(static_cast<std::int64_t>(values.size()));
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void operator()(const std::vector<std::string>& texts) const {
    (*this)(static_cast<std::int64_t>(texts.size()));
    for (const std::string& text : texts) (*this)(std::vector<char>(text.begin(), text.end()));
  }
};

struct Reader {
  std::string_view& bytes;

  void take(void* to, std::size_t size) const {
    if (size > bytes.size()) fail(ErrorKind::data, "what a shard was sent is cut short");
    if (size > 0) std::memcpy(to, bytes.data(), size);
    bytes.remove_prefix(size);
  }
  // Of a list whose elements take so many bytes at least.
  std::size_t length(std::size_t element) const {
    std::int64_t count = 0;
    take(&count, sizeof count);
    if (count < 0 || static_cast<std::size_t>(count) > bytes.size() / element)
      fail(ErrorKind::data, "what a shard was sent is cut short");
    return static_cast<std::size_t>(count);
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(T& value) const { take(&value, sizeof value); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(std::vector<T>& values) const {
    values.resize(length(sizeof(T)));
    take(values.data(), values.size() * sizeof(T));
  }
  void operator()(std::vector<std::string>& texts) const {
    texts.resize(length(sizeof(std::int64_t)));
    for (std::string& text : texts) {
      text.resize(length(1));
      take(text.data(), text.size());
    }
  }
};

template <class Message>
std::string packed(Message& message) {
  std::string bytes;
  message.fields(Writer{bytes});
  return bytes;
}

template <class Message>
Message unpacked(std::string_view bytes) {
  Message message;
  message.fields(Reader{bytes});
  return message;
}

}  // namespace

void add(const ShardAnswer& right, ShardAnswer& left) {
  left.lost |= right.lost;
  if (left.lost) return;  // their sizes need not fit
  std::transform(left.W.begin(), left.W.end(), right.W.begin(), left.W.begin(), std::plus<>());
  std::transform(left.sums.begin(), left.sums.end(), right.sums.begin(), left.sums.begin(), std::plus<>());
  std::transform(left.most.begin(), left.most.end(), right.most.begin(), left.most.begin(),
                 [](double a, double b) { return std::max(a, b); });
  append(right.ranks, left.ranks);
  append(right.states, left.states);
  const std::int64_t before = left.rows.row_begin.back();
  for (std::size_t r = 1; r < right.rows.row_begin.size(); ++r) {
    left.rows.row_begin.push_back(before + right.rows.row_begin[r]);
  }
  append(right.rows.column, left.rows.column);
  append(right.rows.values, left.rows.values);
  if (right.worst > left.worst) left.worst = right.worst, left.worst_row = right.worst_row;
}

std::string pack(ShardQuestion question) {
  return packed(question);
}

std::string pack(ShardAnswer answer) {
  return packed(answer);
}

ShardVerb verb_of(std::string_view question) {
  ShardVerb verb{};
  Reader{question}(verb);  // comes first
  return verb;
}

ShardQuestion unpack_question(std::string_view bytes) {
  return unpacked<ShardQuestion>(bytes);
}

ShardAnswer unpack_answer(std::string_view bytes) {
  return unpacked<ShardAnswer>(bytes);
}

}  // namespace topwolf
