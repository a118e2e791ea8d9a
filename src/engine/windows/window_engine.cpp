// Every pass is the CPU engine's on one window after the other, and a sum over windows. Windows are what they are
// whatever the number of threads, and so are the sums.
#include "engine/windows/window_engine.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/cpu/cpu_engine.hpp"
#include "engine/host/engine.hpp"

namespace topwolf {
namespace {

template <class T>
FeatureView from_row(const DenseView<T>& X, std::int64_t first, std::int64_t count) {
  return DenseView<T>{X.data + first * X.stride, count, X.cols, X.stride};
}
template <class T>
FeatureView from_row(const CsrView<T>& X, std::int64_t first, std::int64_t count) {
  return CsrView<T>{X.row_begin + first, X.column, X.value, count, X.cols};
}

// The problem of the rows of a window, which follow each other in the whole, with an engine of its own.
class Part {
 public:
  Part(const Problem& whole, const std::vector<double>& lengths2, std::int64_t first, const FeatureView& X, int threads)
      : first_(first), count_(std::visit([](const auto& view) { return view.rows; }, X)) {
    const auto begin = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count_);
    problem_ = whole;
    problem_.X = X;
    problem_.n = count_;
    problem_.y = whole.y.subspan(begin, size);
    if (!whole.omega.empty()) problem_.omega = whole.omega.subspan(begin, size);
    if (whole.per_example) {
      const Margins& all = *whole.per_example;
      margins_.values =
          Features(std::visit([&](const auto& view) { return from_row(view, first, count_); }, all.values.view()));
      margins_.other = all.other;
      problem_.per_example = &margins_;
    }
    const auto from = lengths2.begin() + first;
    engine_ = make_cpu_engine(problem_, {}, share({from, from + count_}), threads);
    // What the CPU engine makes is a host engine.
    static_cast<HostEngine&>(*engine_).set_first_row(first);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  Engine& engine() { return *engine_; }
  NewtonRows& newton() { return *engine_->newton(); }

  std::int64_t rows() const { return count_; }
  // The rows of a dual of the whole that are the part's, and back.
  void take(const Dual& A, HostDual& rows) const {
    for (std::int64_t i = 0; i < count_; ++i) rows.assign(i, on_host(A)[first_ + i]);
  }
  void put_into(Dual& A, const HostDual& rows) const {
    for (std::int64_t i = 0; i < count_; ++i) on_host(A).assign(first_ + i, rows[i]);
  }

 private:
  const std::int64_t first_, count_;
  Margins margins_;
  Problem problem_;
  std::unique_ptr<Engine> engine_;
};

void add(const std::vector<double>& part, std::vector<double>& total) {
  std::transform(part.begin(), part.end(), total.begin(), total.begin(), std::plus<>());
}

class WindowEngine final : public HostEngine {
 public:
  WindowEngine(const Problem& problem, const WindowedRows& rows, SharedLengths lengths2, int threads)
      : WindowEngine(problem, rows, Extents(*rows.source, rows.size.extent_bytes), std::move(lengths2), threads,
                     make_cpu_engine(problem, {}, share({}), threads)) {}

  PassSums pass(const std::vector<double>& W, Direction direction, const Dual* A, Dual* U,
                std::vector<double>& W_U) override {
    PassSums sums;
    for_parts(W_U, [&](Part& part, std::vector<double>& W_part) {
      HostDual alpha(part.rows()), u(part.rows());
      if (A) part.take(*A, alpha);
      topwolf::add(part.engine().pass(W, direction, A ? &alpha : nullptr, U ? &u : nullptr, W_part), sums);
      if (U) part.put_into(*U, u);
    });
    return sums;
  }

  AscentSums ascend(const std::vector<double>& W, const Extrapolation& A_mu, double q, Dual& A_next,
                    std::vector<double>& W_next) override {
    AscentSums sums;
    for_parts(W_next, [&](Part& part, std::vector<double>& W_part) {
      HostDual A(part.rows()), A_old(part.rows()), next(part.rows());
      part.take(A_mu.A, A);
      part.take(A_mu.A_old, A_old);
      topwolf::add(part.engine().ascend(W, {A, A_old, A_mu.mu}, q, next, W_part), sums);
      part.put_into(A_next, next);
    });
    return sums;
  }

  using Engine::loss_sum;
  LossSum loss_sum(const std::vector<double>& W, const AtRows& wanted) override {
    LossSum sums;
    if (wanted.ranks) wanted.ranks->clear();
    for_windows([&](Part& part) {
      AtRows here = wanted;
      HostDual alpha(part.rows());
      std::vector<std::int32_t> ranks;
      if (wanted.A) part.take(*wanted.A, alpha), here.A = &alpha;
      if (wanted.ranks) here.ranks = &ranks;
      topwolf::add(part.engine().loss_sum(W, here), sums);
      if (wanted.ranks) wanted.ranks->insert(wanted.ranks->end(), ranks.begin(), ranks.end());
    });
    return sums;
  }

  void weights_of(const Dual& A, std::vector<double>& W) override {
    W.assign(static_cast<std::size_t>(geometry().dimension), 0.0);
    std::vector<double> W_part;
    for_windows([&](Part& part) {
      HostDual alpha(part.rows());
      part.take(A, alpha);
      part.engine().weights_of(alpha, W_part);
      add(W_part, W);
    });
  }

  void round_weights(std::vector<double>& W) const override { no_rows_->round_weights(W); }

  NewtonSums look(const std::vector<double>& W, double extra, Dual& U, std::vector<double>& W_U) override {
    NewtonSums sums;
    for_parts(W_U, [&](Part& part, std::vector<double>& W_part) {
      HostDual u(part.rows());
      topwolf::add(part.newton().look(W, extra, u, W_part), sums);
      part.put_into(U, u);
    });
    return sums;
  }

  void derivative(const Dual& U, double smoothing, std::vector<double>& H) override {
    std::vector<double> H_part;
    H.clear();
    for_windows([&](Part& part) {
      stop_if_asked();
      HostDual u(part.rows());
      part.take(U, u);
      part.newton().derivative(u, smoothing, H_part);
      if (H.empty()) return H.swap(H_part);
      add(H_part, H);
    });
  }

 protected:
  std::unique_ptr<BlockScores> make_block_scores() override {
    return make_window_scores(problem_, rows_, extents_, lengths2(), threads(), [this] { stop_if_asked(); });
  }

 private:
  WindowEngine(const Problem& problem, const WindowedRows& rows, Extents extents, SharedLengths lengths2, int threads,
               std::unique_ptr<Engine> no_rows)
      : HostEngine(problem, geometry_of(*no_rows, extents), std::move(lengths2), threads),
        rows_(rows),
        extents_(std::move(extents)),
        no_rows_(std::move(no_rows)) {}

  // A sum over rows is one over windows besides, of which each may have taken off its mean.
  static Geometry geometry_of(const Engine& no_rows, const Extents& extents) {
    Geometry out = no_rows.geometry();
    out.terms += extents.count();
    return out;
  }

  // Calls body(part) for all windows.
  template <class Body>
  void for_windows(const Body& body) {
    topwolf::for_windows(*rows_.source, extents_, rows_.size.bytes, threads(),
                         [&](std::int64_t first, const FeatureView& X) {
                           Part part(problem_, lengths2(), first, X, threads());
                           body(part);
                         });
  }

  // Calls body(part, W_part), of which parts may be stopped; W becomes the sum of what they leave.
  template <class Body>
  void for_parts(std::vector<double>& W, const Body& body) {
    W.assign(static_cast<std::size_t>(geometry().dimension), 0.0);
    std::vector<double> W_part;
    for_windows([&](Part& part) {
      stop_if_asked();
      part.engine().set_should_stop([this] {
        stop_if_asked();
        return false;
      });
      body(part, W_part);
      add(W_part, W);
    });
  }

  const WindowedRows rows_;
  const Extents extents_;
  const std::unique_ptr<Engine> no_rows_;  // the CPU's, for what it says of all rows
};

}  // namespace

std::unique_ptr<Engine> make_window_engine(const Problem& problem, const WindowedRows& rows, SharedLengths lengths2,
                                           int threads) {
  return std::make_unique<WindowEngine>(problem, rows, std::move(lengths2), threads);
}

}  // namespace topwolf
