#include "data/window.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/threads.hpp"

namespace topwolf {
namespace {

template <class Visit>
auto visit_empty_store(const RowSource& source, const Visit& visit) {
  const bool wide = source.precision() == Precision::float64;
  if (source.sparse()) return wide ? visit(CsrStore<double>{}) : visit(CsrStore<float>{});
  if (source.precision() == Precision::float16) return visit(DenseStore<Float16>{});
  if (source.precision() == Precision::bfloat16) return visit(DenseStore<BFloat16>{});
  return wide ? visit(DenseStore<double>{}) : visit(DenseStore<float>{});
}

double value_bytes(const RowSource& source) {
  const double value = visit_empty_store(
      source, []<class Store>(const Store&) { return static_cast<double>(sizeof(typename Store::Value)); });
  return source.sparse() ? value + sizeof(std::int32_t) : value;
}

double row_bytes(const RowSource& source) {
  return source.sparse() ? sizeof(std::int64_t) : 0.0;
}

// Room for so many rows and values; what is there already stays, so that memory is cleared once.
template <class Store>
void make_room(Store& store, std::int64_t rows, std::int64_t values) {
  const auto grow = [](auto& vector, std::int64_t size) {
    if (static_cast<std::int64_t>(vector.size()) >= size) return;
    vector = {};  // nothing in it is worth a copy, and two of it may be more than there is memory for
    vector.resize(static_cast<std::size_t>(size));
  };
  grow(store.values, values);
  if constexpr (requires { store.row_begin; }) {
    grow(store.row_begin, rows + 1);
    grow(store.column, values);
    store.row_begin[0] = 0;
  }
}

template <class T>
FeatureView view_of(const DenseStore<T>& store, std::int64_t rows, std::int64_t cols) {
  return DenseView<T>{store.values.data(), rows, cols, cols};
}
template <class T>
FeatureView view_of(const CsrStore<T>& store, std::int64_t rows, std::int64_t cols) {
  return CsrView<T>{store.row_begin.data(), store.column.data(), store.values.data(), rows, cols};
}

// Where the extents of the window that begins with extent `first` end.
std::int64_t window_end(const Extents& extents, std::int64_t first, double bytes) {
  std::int64_t end = first + 1;
  double used = extents.bytes(first);
  while (end < extents.count() && used + extents.bytes(end) <= bytes) used += extents.bytes(end++);
  return end;
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(end - begin));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

}  // namespace

Extents::Extents(const RowSource& source, double extent_bytes)
    : n_(source.rows()), value_bytes_(value_bytes(source)), row_bytes_(row_bytes(source)) {
  if (n_ == 0) return;
  const double all = bytes_in_memory(source);
  rows_ = static_cast<std::int64_t>(
      std::clamp(extent_bytes / std::max(1.0, all) * static_cast<double>(n_), 1.0, static_cast<double>(n_)));
  for (std::int64_t first = 0; first < n_; first += rows_) {
    stored_.push_back(source.stored(first, std::min(rows_, n_ - first)));
  }
}

double Extents::largest_bytes() const {
  double largest = 0.0;
  for (std::int64_t e = 0; e < count(); ++e) largest = std::max(largest, bytes(e));
  return largest;
}

Window::Window(const RowSource& source)
    : source_(source),
      store_(visit_empty_store(source, [](auto store) -> FeatureStore { return store; })),
      view_(std::visit([&](auto& store) { return make_room(store, 0, 0), view_of(store, 0, source.cols()); }, store_)) {
}

void Window::fill(const Extents& extents, std::span<const std::int64_t> which, int threads) {
  std::vector<RowSource::Place> places;
  RowSource::Place end;
  for (const std::int64_t e : which) {
    places.push_back(end);
    end.row += extents.size(e);
    end.value += extents.stored(e);
  }
  std::visit(
      [&](auto& store) {
        make_room(store, end.row, end.value);
        store.rows = end.row;
        store.cols = source_.cols();
        view_ = view_of(store, end.row, store.cols);
      },
      store_);
  parallel_first_error(static_cast<std::int64_t>(which.size()), threads, [&](std::int64_t k) {
    const auto at = static_cast<std::size_t>(k);
    source_.read(extents.begin(which[at]), extents.size(which[at]), store_, places[at]);
  });
}

void expect(const RowSource& source, const Extents& extents, std::span<const std::int64_t> which) {
  for (const std::int64_t e : which) source.expect(extents.begin(e), extents.size(e));
}

void for_windows(const RowSource& source, const Extents& extents, double bytes, int threads, const WindowBody& body) {
  Window window(source);
  for (std::int64_t first = 0; first < extents.count();) {
    const std::int64_t end = window_end(extents, first, bytes);
    window.fill(extents, range(first, end), threads);
    if (end < extents.count()) expect(source, extents, range(end, window_end(extents, end, bytes)));
    body(extents.begin(first), window.view());
    first = end;
  }
}

void for_windows(const Features& X, int threads, const WindowBody& body, const WindowSize& size) {
  if (!X.source()) return body(0, X.view());
  const Extents extents(*X.source(), size.extent_bytes);
  for_windows(*X.source(), extents, size.bytes, threads, body);
}

Features in_memory(const RowSource& source, int threads) {
  const Extents extents(source, WindowSize{}.extent_bytes);
  const auto window = std::make_shared<Window>(source);
  window->fill(extents, range(0, extents.count()), threads);
  return Features(window->view(), window);
}

double bytes_in_memory(const RowSource& source) {
  const std::int64_t n = source.rows();
  return value_bytes(source) * static_cast<double>(source.stored(0, n)) +
         row_bytes(source) * static_cast<double>(n + 1);
}

}  // namespace topwolf
