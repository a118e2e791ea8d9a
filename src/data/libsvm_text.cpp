// Two passes over chunks that end at line ends. The first counts newlines and colons, which bound the rows and the
// pairs, so that the second can write every chunk to its place in the final arrays: no copy, and of a file no more than
// a chunk a thread is in memory beside the result. Where there were blank lines or comments, what follows is moved up.
#include "data/readers.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "core/fail.hpp"
#include "core/threads.hpp"
#include "data/labels.hpp"
#include "data/libsvm_line.hpp"
#include "data/row_files.hpp"

namespace topwolf {

namespace {

struct Chunk {
  std::size_t begin = 0, end = 0;  // bytes of the text
  // Bounds, from the first pass; then the sums over the chunks before.
  std::int64_t lines = 0, colons = 0;
  std::int64_t first_line = 0, first_colon = 0;
  // From the second pass.
  std::int64_t rows = 0, pairs = 0;
  std::int32_t largest_column = -1;
  bool has_index_zero = false;
  LabelTable labels;
};

std::vector<Chunk> cut(const TextSource& text, std::size_t chunk_bytes) {
  std::vector<Chunk> chunks;
  Buffer scratch;
  const std::string_view head = text.piece(0, std::min<std::size_t>(text.size(), 3), scratch);
  for (std::size_t begin = head.size() - skip_byte_order_mark(head).size(); begin < text.size();) {
    Chunk& chunk = chunks.emplace_back();
    chunk.begin = begin;
    chunk.end = begin = text.line_end(std::min(begin + chunk_bytes, text.size()) - 1, scratch);
  }
  return chunks;
}

// Counts in bytes, lane by lane, which a compiler turns into vector instructions; std::count widens every comparison.
std::int64_t count_byte(std::string_view text, char wanted) {
  constexpr std::size_t lanes = 64, longest = 255;
  std::int64_t total = 0;
  while (text.size() >= lanes) {
    unsigned char found[lanes] = {};
    const std::size_t rounds = std::min(text.size() / lanes, longest);
    for (std::size_t r = 0; r < rounds; ++r) {
      for (std::size_t l = 0; l < lanes; ++l) found[l] += static_cast<unsigned char>(text[r * lanes + l] == wanted);
    }
    total = std::accumulate(std::begin(found), std::end(found), total);
    text.remove_prefix(rounds * lanes);
  }
  return total + std::count(text.begin(), text.end(), wanted);
}

void count(const TextSource& text, std::vector<Chunk>& chunks, int threads) {
  parallel_for(static_cast<std::int64_t>(chunks.size()), threads, [&](std::int64_t c) {
    Chunk& chunk = chunks[static_cast<std::size_t>(c)];
    Buffer scratch;
    const std::string_view lines = text.lines(chunk.begin, chunk.end, scratch);
    chunk.lines = count_byte(lines, '\n');
    chunk.colons = count_byte(lines, ':');
  });
  for (std::size_t c = 1; c < chunks.size(); ++c) {
    chunks[c].first_line = chunks[c - 1].first_line + chunks[c - 1].lines;
    chunks[c].first_colon = chunks[c - 1].first_colon + chunks[c - 1].colons;
  }
}

// The chunk's lines once more. What was counted bounds what the parser writes, so it must still hold.
std::string_view read_again(const TextSource& text, const Chunk& chunk, const LineRules& rules, Buffer& scratch) {
  const std::string_view lines = text.lines(chunk.begin, chunk.end, scratch);
  if (count_byte(lines, '\n') != chunk.lines || count_byte(lines, ':') != chunk.colons) {
    fail(ErrorKind::io, "{}: the file was changed while it was read", rules.name);
  }
  return lines;
}

// Where the rows of a chunk go; row_end counts from the chunk's first pair.
template <class T>
struct ChunkRows {
  std::int32_t* column;
  T* value;
  std::int64_t* row_end;
  std::int32_t* label;
};

template <class T>
void parse_chunk(const TextSource& text, Chunk& chunk, const ChunkRows<T>& to, const LineRules& rules) {
  Buffer scratch;
  const std::string_view lines = read_again(text, chunk, rules, scratch);
  LineParser<T> parser(rules, to.column, to.value, chunk.first_line + 1);
  const char* at = lines.data();
  const char* const end = at + lines.size();
  while (at < end) {
    const std::optional<std::string_view> spelling = parser.parse_line(at);
    if (!spelling) continue;
    const std::int64_t row = chunk.rows++;
    to.label[row] = spelling->empty() ? -1 : chunk.labels.add(*spelling);
    to.row_end[row] = parser.pairs();
  }
  chunk.pairs = parser.pairs();
  chunk.largest_column = parser.largest_column();
  chunk.has_index_zero = parser.has_index_zero();
}

// Labels were numbered chunk by chunk: they are numbered again in the order of the file, so that the first spelling of
// a class does not depend on how many chunks there were.
template <class T>
void join(std::vector<Chunk>& chunks, CsrStore<T>& X, RawDataset& raw) {
  LabelTable labels;
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
  for (Chunk& chunk : chunks) {
    std::vector<std::int32_t> number;
    for (const std::string& spelling : chunk.labels.spelling()) number.push_back(labels.add(spelling));
    for (std::int64_t i = 0; i < chunk.rows; ++i) {
      const auto from = static_cast<std::size_t>(chunk.first_line + i);
      const auto to = static_cast<std::size_t>(rows + i);
      X.row_begin[to + 1] = X.row_begin[from + 1] + pairs;
      raw.label[to] = raw.label[from] < 0 ? -1 : number[static_cast<std::size_t>(raw.label[from])];
    }
    if (pairs != chunk.first_colon) {
      // To the front, never over what was not moved yet: pairs <= first_colon.
      std::copy_n(X.column.begin() + chunk.first_colon, chunk.pairs, X.column.begin() + pairs);
      std::copy_n(X.values.begin() + chunk.first_colon, chunk.pairs, X.values.begin() + pairs);
    }
    rows += chunk.rows;
    pairs += chunk.pairs;
    X.cols = std::max(X.cols, std::int64_t{chunk.largest_column} + 1);
  }
  X.rows = rows;
  X.row_begin.resize(static_cast<std::size_t>(rows) + 1);
  X.column.resize(static_cast<std::size_t>(pairs));
  X.values.resize(static_cast<std::size_t>(pairs));
  raw.label.resize(static_cast<std::size_t>(rows));
  raw.spelling = labels.take();
}

LineRules rules_of(const ReadOptions& options, const std::string& name) {
  return {name, options.index_base, options.labels_optional || !options.labels_path.empty(),
          options.label_weights && options.labels_path.empty()};
}

template <class T>
RawDataset parse(const TextSource& text, const ReadOptions& options, const std::string& name, std::size_t chunk_bytes) {
  const int threads = resolve_threads(options.threads);
  std::vector<Chunk> chunks = cut(text, std::max<std::size_t>(chunk_bytes, 1));
  count(text, chunks, threads);
  const std::int64_t lines = chunks.empty() ? 0 : chunks.back().first_line + chunks.back().lines;
  const std::int64_t colons = chunks.empty() ? 0 : chunks.back().first_colon + chunks.back().colons;

  RawDataset raw;
  raw.source = name;
  raw.label.resize(static_cast<std::size_t>(lines));
  CsrStore<T> X;
  X.row_begin.resize(static_cast<std::size_t>(lines) + 1);
  X.column.resize(static_cast<std::size_t>(colons));
  X.values.resize(static_cast<std::size_t>(colons));

  const LineRules rules = rules_of(options, name);
  // The first error of the file is told, whichever thread finds one first.
  parallel_first_error(static_cast<std::int64_t>(chunks.size()), threads, [&](std::int64_t c) {
    Chunk& chunk = chunks[static_cast<std::size_t>(c)];
    parse_chunk<T>(text, chunk,
                   {X.column.data() + chunk.first_colon, X.values.data() + chunk.first_colon,
                    X.row_begin.data() + chunk.first_line + 1, raw.label.data() + chunk.first_line},
                   rules);
  });
  join(chunks, X, raw);
  if (X.rows == 0) fail(ErrorKind::data, "{}: the file has no rows", name);

  // Columns were counted from index 1 unless told otherwise; an index 0 shows that the file counts from 0.
  const bool zero_found = std::any_of(chunks.begin(), chunks.end(), [](const Chunk& c) { return c.has_index_zero; });
  raw.index_base = options.index_base.value_or(zero_found ? 0 : 1);
  if (!options.index_base && zero_found) {
    if (X.cols == most_columns) {  // one too many; who counts from 0 from the start knows where
      ReadOptions from_zero = options;
      from_zero.index_base = 0;
      return parse<T>(text, from_zero, name, chunk_bytes);
    }
    for (std::int32_t& column : X.column) ++column;
    ++X.cols;
  }
  raw.X = std::move(X);
  return raw;
}

// Rows that stay in their text: a chunk is parsed once for its labels and the lengths of its rows, and again whenever
// some of its rows are wanted.
template <class T>
class TextRows final : public RowSource {
 public:
  // Labels, spellings and index base go to `raw`.
  TextRows(const ReadOptions& options, RawDataset& raw)
      : name_(options.path), text_(options.path), rules_(rules_of(options, name_)), chunks_(cut(text_, chunk_bytes)) {
    const int threads = resolve_threads(options.threads);
    count(text_, chunks_, threads);
    std::vector<Parsed> parsed(chunks_.size());
    parallel_first_error(static_cast<std::int64_t>(chunks_.size()), threads, [&](std::int64_t c) {
      Parsed& chunk = parsed[static_cast<std::size_t>(c)];
      chunk = parse(static_cast<std::size_t>(c));
      chunk.column = {};
      chunk.value = {};
    });
    LabelTable labels;
    bool zero_found = false;
    for (Parsed& chunk : parsed) {
      std::vector<std::int32_t> number;
      for (const std::string& spelling : chunk.seen.labels.spelling()) number.push_back(labels.add(spelling));
      const std::int64_t begin = row_begin_.back();
      for (std::size_t i = 0; i < chunk.label.size(); ++i) {
        raw.label.push_back(chunk.label[i] < 0 ? -1 : number[static_cast<std::size_t>(chunk.label[i])]);
        row_begin_.push_back(begin + chunk.row_end[i]);
      }
      first_row_.push_back(static_cast<std::int64_t>(row_begin_.size()) - 1);
      cols_ = std::max(cols_, std::int64_t{chunk.seen.largest_column} + 1);
      zero_found |= chunk.seen.has_index_zero;
      chunk = {};
    }
    raw.spelling = labels.take();
    raw.source = name_;
    if (rows() == 0) fail(ErrorKind::data, "{}: the file has no rows", name_);
    raw.index_base = options.index_base.value_or(zero_found ? 0 : 1);
    // Columns were counted from index 1 unless told otherwise; an index 0 shows that the file counts from 0.
    shift_ = !options.index_base && zero_found ? 1 : 0;
    cols_ += shift_;
    if (cols_ > most_columns) {
      fail(ErrorKind::data, "{}: the rows have {} columns, where at most {} are allowed", name_, cols_, most_columns);
    }
  }

  std::int64_t rows() const override { return static_cast<std::int64_t>(row_begin_.size()) - 1; }
  std::int64_t cols() const override { return cols_; }
  bool sparse() const override { return true; }
  Precision precision() const override { return precision_of<T>; }
  std::int64_t stored(std::int64_t first, std::int64_t rows) const override {
    return row_begin_[static_cast<std::size_t>(first + rows)] - row_begin_[static_cast<std::size_t>(first)];
  }
  void read(std::int64_t first, std::int64_t rows, FeatureStore& to, Place place) const override {
    auto& store = std::get<CsrStore<T>>(to);
    auto c =
        static_cast<std::size_t>(std::upper_bound(first_row_.begin(), first_row_.end(), first) - first_row_.begin()) -
        1;
    for (std::int64_t end = first + rows; first < end; ++c) {
      const Parsed chunk = parse(c);
      text_.check_unchanged();
      const std::int64_t last = std::min(end, first_row_[c + 1]), from = first - first_row_[c];
      const std::int64_t begin = from == 0 ? 0 : chunk.row_end[static_cast<std::size_t>(from) - 1];
      for (; first < last; ++first, ++place.row) {
        const std::int64_t row_end = chunk.row_end[static_cast<std::size_t>(first - first_row_[c])];
        store.row_begin[static_cast<std::size_t>(place.row) + 1] = place.value + row_end - begin;
      }
      const std::int64_t values =
          last == first_row_[c] ? 0 : chunk.row_end[static_cast<std::size_t>(last - first_row_[c]) - 1] - begin;
      std::transform(chunk.column.begin() + begin, chunk.column.begin() + begin + values,
                     store.column.begin() + place.value, [this](std::int32_t column) { return column + shift_; });
      std::copy_n(chunk.value.begin() + begin, values, store.values.begin() + place.value);
      place.value += values;
    }
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

  struct Parsed {
    Chunk seen;
    std::vector<std::int32_t> column, label;
    std::vector<T> value;
    std::vector<std::int64_t> row_end;
  };
  Parsed parse(std::size_t c) const {
    Parsed out{chunks_[c], {}, {}, {}, {}};
    out.column.resize(static_cast<std::size_t>(out.seen.colons));
    out.value.resize(out.column.size());
    out.label.resize(static_cast<std::size_t>(out.seen.lines));
    out.row_end.resize(out.label.size());
    parse_chunk<T>(text_, out.seen, {out.column.data(), out.value.data(), out.row_end.data(), out.label.data()},
                   rules_);
    out.label.resize(static_cast<std::size_t>(out.seen.rows));
    out.row_end.resize(out.label.size());
    return out;
  }

  const std::string name_;
  const TextSource text_;
  const LineRules rules_;
  std::vector<Chunk> chunks_;
  std::vector<std::int64_t> first_row_{0};  // of each chunk, and the end
  std::vector<std::int64_t> row_begin_{0};
  std::int64_t cols_ = 0;
  std::int32_t shift_ = 0;
};

void check_index_base(const ReadOptions& options) {
  if (!options.index_base || *options.index_base == 0 || *options.index_base == 1) return;
  fail(ErrorKind::option, "{} is {}, but only 0 and 1 are allowed", Field{"index_base"}, *options.index_base);
}

}  // namespace

SharedRows open_libsvm_rows(const ReadOptions& options, RawDataset& raw) {
  check_index_base(options);
  if (options.number().of_text() == Precision::float32) return std::make_shared<TextRows<float>>(options, raw);
  return std::make_shared<TextRows<double>>(options, raw);
}

RawDataset parse_libsvm(const TextSource& text, const ReadOptions& options, const std::string& name,
                        std::size_t chunk_bytes) {
  check_index_base(options);
  return options.number().of_text() == Precision::float32 ? parse<float>(text, options, name, chunk_bytes)
                                                          : parse<double>(text, options, name, chunk_bytes);
}

}  // namespace topwolf
