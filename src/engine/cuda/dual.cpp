#include "engine/cuda/dual.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "engine/cuda/kernels.hpp"

namespace topwolf::cuda {

template <class Body>
void CudaDual::for_pieces(const Body& body) const {
  constexpr std::int64_t piece = 1024;
  const std::int64_t n = rows_.rows();
  parallel_for((n + piece - 1) / piece, threads_, [&](std::int64_t part) {
    for (std::int64_t i = part * piece; i < std::min(n, (part + 1) * piece); ++i) body(i);
  });
}

const HostDual& CudaDual::host() const {
  if (!host_has_it_) fetch();
  return rows_;
}

HostDual& CudaDual::on_host() {
  if (!host_has_it_) fetch();
  device_had_it_ = device_has_it_;
  device_has_it_ = false;
  return rows_;
}

DualView CudaDual::view(std::int64_t slots) const {
  if (!device_has_it_ || slots_ < slots) {
    if (!host_has_it_) fetch();
    send(slots);
  }
  return {column_.data(), value_.data(), count_.data(), slots_};
}

DualView CudaDual::on_device(std::int64_t slots) {
  const DualView out = view(slots);
  host_has_it_ = false;
  return out;
}

// Only entries travel, not the empty slots.
void CudaDual::fetch() const {
  const std::int64_t n = rows_.rows();
  device_.choose();
  const std::vector<std::int32_t> count = count_.get();
  std::vector<std::int64_t> begin(static_cast<std::size_t>(n + 1), 0);
  for (std::size_t i = 0; i < count.size(); ++i) begin[i + 1] = begin[i] + count[i];
  const Buffer<std::int64_t> rows(device_, begin);
  const Buffer<std::int32_t> packed_column(device_, begin.back());
  const Buffer<double> packed_value(device_, begin.back());
  pack_dual(device_.stream(), {column_.data(), value_.data(), count_.data(), slots_}, n, rows.data(),
            packed_column.data(), packed_value.data());
  const std::vector<std::int32_t> column = packed_column.get();
  const std::vector<double> value = packed_value.get();
  for_pieces([&](std::int64_t i) {
    SparseRow row;
    for (auto e = static_cast<std::size_t>(begin[static_cast<std::size_t>(i)]);
         e < static_cast<std::size_t>(begin[static_cast<std::size_t>(i) + 1]); ++e) {
      row.push_back({column[e], value[e]});
    }
    rows_.assign(i, row);
  });
  host_has_it_ = true;
}

void CudaDual::send(std::int64_t slots) const {
  const std::int64_t n = rows_.rows();
  std::vector<std::int64_t> begin{0};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto size = static_cast<std::int64_t>(rows_[i].size());
    slots = std::max(slots, size);
    begin.push_back(begin.back() + size);
  }
  std::vector<std::int32_t> column(static_cast<std::size_t>(begin.back()));
  std::vector<double> value(column.size());
  for_pieces([&](std::int64_t i) {
    auto at = static_cast<std::size_t>(begin[static_cast<std::size_t>(i)]);
    for (const Entry& entry : rows_[i]) {
      column[at] = entry.column;
      value[at++] = entry.value;
    }
  });
  device_.choose();
  if (slots != slots_) {
    column_ = {};  // the memory that they leave may be what the next ones take
    value_ = {};
    count_ = Buffer<std::int32_t>(device_, n);
    column_ = Buffer<std::int32_t>(device_, n * slots);
    value_ = Buffer<double>(device_, n * slots);
    slots_ = slots;
  }
  const Buffer<std::int64_t> rows(device_, begin);
  const Buffer<std::int32_t> packed_column(device_, column);
  const Buffer<double> packed_value(device_, value);
  unpack_dual(device_.stream(), {column_.data(), value_.data(), count_.data(), slots_}, n, rows.data(),
              packed_column.data(), packed_value.data());
  device_.wait();
  device_has_it_ = true;
}

}  // namespace topwolf::cuda
