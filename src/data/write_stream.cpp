// A .twd file of rows that are read some at a time. All sizes are known before the first row is written, so that every
// row goes to its place: what is written is the file itself. To shuffle, rows are dealt out at random over parts of the
// file, each of which is then read, put in random order, and written back.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/rng.hpp"
#include "core/tensor_file.hpp"
#include "core/threads.hpp"
#include "data/row_files.hpp"
#include "data/window.hpp"
#include "data/write.hpp"
#include "topwolf/on_disk.hpp"

namespace topwolf {
namespace {

// Which part of the file each row is dealt to, by its number; one part where rows stay in order.
class Deal {
 public:
  Deal(const CacheOptions& options, double bytes) : seed_(options.seed) {
    // Half of the memory for the rows that come in, half for the parts, or the part, that they go to.
    if (options.shuffle)
      parts_ = static_cast<std::int64_t>(std::ceil(4.0 * bytes / static_cast<double>(options.memory))) + 1;
    shuffled_ = options.shuffle;
  }
  std::int64_t parts() const { return parts_; }
  bool shuffled() const { return shuffled_; }
  std::int64_t part_of(std::int64_t row) const {
    if (parts_ == 1) return 0;
    return static_cast<std::int64_t>(Rng(seed_ ^ (0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(row) + 1)))
                                         .below(static_cast<std::uint64_t>(parts_)));
  }
  Rng rng_of(std::int64_t part) const {
    return Rng(seed_ + 0x632be59bd9b4e019u * (static_cast<std::uint64_t>(part) + 1));
  }

 private:
  std::uint64_t seed_;
  std::int64_t parts_ = 1;
  bool shuffled_ = false;
};

// Where the rows of a part are in the file, and how far it is filled.
struct Region {
  std::int64_t row = 0, value = 0;    // the first
  std::int64_t rows = 0, values = 0;  // of it, ...
  std::int64_t rows_done = 0, values_done = 0;
};

// The rows that wait to be written to a part.
template <class T>
struct Pile {
  std::vector<std::int32_t> label;
  std::vector<std::int64_t> count;   // sparse: of values, row by row
  std::vector<std::int32_t> column;  // sparse
  std::vector<T> values;
  std::vector<std::int64_t> number;  // of the rows, where their order is wanted
  std::size_t bytes() const {
    return label.size() * sizeof(std::int32_t) + count.size() * sizeof(std::int64_t) +
           column.size() * sizeof(std::int32_t) + values.size() * sizeof(T) + number.size() * sizeof(std::int64_t);
  }
  void clear() { label.clear(), count.clear(), column.clear(), values.clear(), number.clear(); }
};

template <class T, class View>
class Writer {
 public:
  static constexpr bool sparse = requires(View X) { X.row_begin; };

  Writer(RawDataset raw, const std::string& path, const CacheOptions& options)
      : raw_(std::move(raw)),
        source_(*raw_.rows),
        options_(options),
        threads_(resolve_threads(options.threads)),
        extents_(source_, 1 << 20),
        deal_(options, bytes_in_memory(source_)),
        file_(path, tensors(), cache_metadata(raw_, source_.precision(), source_.rows(), source_.cols())) {}

  void write() {
    const auto [bytes, ends] = joined_spellings(raw_);
    file_.put("spelling", 0, bytes);
    file_.put("spelling_end", 0, ends);
    if constexpr (sparse) file_.put("row_begin", 0, std::vector<std::int64_t>{0});
    find_regions();
    if (options_.order) options_.order->resize(raw_.label.size());
    std::vector<Pile<T>> piles(static_cast<std::size_t>(deal_.parts()));
    const std::size_t most = static_cast<std::size_t>(options_.memory) / 4 / piles.size();
    each_window([&](std::int64_t first, const View& X) {
      for (std::int64_t i = 0; i < X.rows; ++i) {
        const auto p = static_cast<std::size_t>(deal_.part_of(first + i));
        add_row(X, i, first + i, raw_.label[static_cast<std::size_t>(first + i)], piles[p]);
        if (piles[p].bytes() >= most) put(piles[p], regions_[p]);
      }
      tell(0.0, deal_.shuffled() ? 0.5 : 0.9, first + X.rows);
    });
    for (std::size_t p = 0; p < piles.size(); ++p) put(piles[p], regions_[p]);
    piles.clear();
    if (deal_.shuffled()) {
      for (std::size_t p = 0; p < regions_.size(); ++p) {
        shuffle(regions_[p], deal_.rng_of(static_cast<std::int64_t>(p)));
        tell(0.5, 0.4, regions_[p].row + regions_[p].rows);
      }
    }
    file_.finish();
  }

 private:
  std::vector<Tensor> tensors() const {
    const std::int64_t n = source_.rows(), stored = source_.stored(0, n);
    std::int64_t letters = 0;
    for (const std::string& spelling : raw_.spelling) letters += static_cast<std::int64_t>(spelling.size());
    const auto of = [](const char* name, std::string_view type, std::int64_t size) {
      return Tensor{name, std::string(type), {size}, nullptr};
    };
    std::vector<Tensor> out{
        of("label", dtype_of<std::int32_t>(), n), of("spelling", dtype_of<std::uint8_t>(), letters),
        of("spelling_end", dtype_of<std::int64_t>(), static_cast<std::int64_t>(raw_.spelling.size())),
        of("values", dtype_of<T>(), stored)};
    if constexpr (sparse) {
      out.push_back(of("row_begin", dtype_of<std::int64_t>(), n + 1));
      out.push_back(of("column", dtype_of<std::int32_t>(), stored));
    }
    return out;
  }

  template <class Body>
  void each_window(const Body& body) {
    for_windows(source_, extents_, static_cast<double>(options_.memory) / 4.0, threads_,
                [&](std::int64_t first, const FeatureView& X) { body(first, std::get<View>(X)); });
  }
  void tell(double from, double share, std::int64_t rows) {
    if (options_.progress)
      options_.progress(from + share * static_cast<double>(rows) / static_cast<double>(source_.rows()));
  }

  static std::int64_t values_of(const View& X, std::int64_t i) {
    if constexpr (sparse) {
      return X.row_begin[i + 1] - X.row_begin[i];
    } else {
      return X.cols;
    }
  }

  void find_regions() {
    regions_.resize(static_cast<std::size_t>(deal_.parts()));
    const auto count = [&](std::int64_t row, std::int64_t values) {
      Region& region = regions_[static_cast<std::size_t>(deal_.part_of(row))];
      ++region.rows;
      region.values += values;
    };
    if (deal_.parts() == 1) {
      regions_[0] = {0, 0, source_.rows(), source_.stored(0, source_.rows())};
    } else if (!sparse) {
      for (std::int64_t i = 0; i < source_.rows(); ++i) count(i, source_.cols());
    } else {  // how long sparse rows are shows when they are read
      each_window([&](std::int64_t first, const View& X) {
        for (std::int64_t i = 0; i < X.rows; ++i) count(first + i, values_of(X, i));
      });
    }
    for (std::size_t p = 1; p < regions_.size(); ++p) {
      regions_[p].row = regions_[p - 1].row + regions_[p - 1].rows;
      regions_[p].value = regions_[p - 1].value + regions_[p - 1].values;
    }
  }

  void add_row(const View& X, std::int64_t i, std::int64_t number, std::int32_t label, Pile<T>& pile) const {
    const std::int64_t count = values_of(X, i);
    if (options_.order) pile.number.push_back(number);
    pile.label.push_back(label);
    if constexpr (sparse) {
      const std::int64_t begin = X.row_begin[i];
      pile.count.push_back(count);
      pile.column.insert(pile.column.end(), X.column + begin, X.column + begin + count);
      pile.values.insert(pile.values.end(), X.value + begin, X.value + begin + count);
    } else {
      const T* const x = X.data + i * X.stride;
      pile.values.insert(pile.values.end(), x, x + count);
    }
  }

  // To the place where the region's next rows go.
  void put(Pile<T>& pile, Region& region) {
    const std::int64_t row = region.row + region.rows_done, value = region.value + region.values_done;
    file_.put("label", row, pile.label);
    if (options_.order) std::copy(pile.number.begin(), pile.number.end(), options_.order->begin() + row);
    file_.put("values", value, pile.values);
    if constexpr (sparse) {
      file_.put("column", value, pile.column);
      std::int64_t end = value;
      for (std::int64_t& bound : pile.count) bound = end += bound;
      file_.put("row_begin", row + 1, pile.count);
    }
    region.rows_done += static_cast<std::int64_t>(pile.label.size());
    region.values_done += static_cast<std::int64_t>(pile.values.size());
    pile.clear();
  }

  void shuffle(const Region& region, Rng rng) {
    const auto rows = static_cast<std::size_t>(region.rows);
    Pile<T> from, to;
    file_.get("label", region.row, rows, from.label);
    file_.get("values", region.value, static_cast<std::size_t>(region.values), from.values);
    from.number.resize(rows);  // 0 where nobody wants to know
    if (options_.order) std::copy_n(options_.order->begin() + region.row, rows, from.number.begin());
    std::vector<std::int64_t> begin{region.value};
    if constexpr (sparse) {
      file_.get("column", region.value, static_cast<std::size_t>(region.values), from.column);
      file_.get("row_begin", region.row + 1, rows, from.count);
      begin.insert(begin.end(), from.count.begin(), from.count.end());
    }
    std::vector<std::int64_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    rng.shuffle(order);
    Region back = region;
    back.rows_done = back.values_done = 0;
    View X{};
    X.rows = region.rows;
    X.cols = source_.cols();
    if constexpr (sparse) {
      for (std::int64_t& bound : begin) bound -= region.value;
      X.row_begin = begin.data();
      X.column = from.column.data();
      X.value = from.values.data();
    } else {
      X.data = from.values.data();
      X.stride = X.cols;
    }
    const std::size_t most = static_cast<std::size_t>(options_.memory) / 8;
    for (const std::int64_t i : order) {
      const auto at = static_cast<std::size_t>(i);
      add_row(X, i, from.number[at], from.label[at], to);
      if (to.bytes() >= most) put(to, back);
    }
    put(to, back);
  }

  RawDataset raw_;
  const RowSource& source_;
  const CacheOptions& options_;
  const int threads_;
  const Extents extents_;
  const Deal deal_;
  TensorFileInPlaces file_;
  std::vector<Region> regions_;
};

}  // namespace

void write_cache(RawDataset raw, const std::string& path, const CacheOptions& options) {
  const IeeeArithmetic ieee;
  if (options.memory < (1 << 20))
    fail(ErrorKind::option, "{} is {}; at least 1M is needed", Field{"memory"}, options.memory);
  if (!raw.rows) raw.rows = rows_in_memory(Features(std::move(raw.X)));
  std::visit(
      [&]<class View>(const View&) { Writer<typename View::Value, View>(std::move(raw), path, options).write(); },
      Features(raw.rows).kind());
}

}  // namespace topwolf
