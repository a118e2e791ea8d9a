// Rows go by in panels: gathered as numbers that can be multiplied, then scores, row functions and sums, all on the
// device. Where a row function has no kernel (smoothing in passes, softmax, gradient steps) the scores of a panel come
// back and the host's row functions do the same, on all threads.
#include "engine/cuda/cuda_engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <variant>

#include "core/fail.hpp"
#include "core/length.hpp"
#include "core/threads.hpp"
#include "engine/cuda/block_ascent.hpp"
#include "engine/cuda/dual.hpp"
#include "engine/cuda/kernels.hpp"
#include "engine/cuda/problem.hpp"
#include "engine/host/engine.hpp"

namespace topwolf {
namespace cuda {
namespace {

// An oracle is a function of this process, which no kernel can call.
void refuse_oracle(const Problem& problem) {
  if (!problem.loss.oracle) return;
  fail(ErrorKind::option, "{} has no losses by their oracle; {} has them", Field{"device", "cuda"},
       Field{"device", "cpu"});
}

// R: what passes multiply.
template <class R>
class CudaEngine final : public HostEngine {
 public:
  CudaEngine(const Problem& problem, int index, SharedLengths lengths2, int threads)
      : HostEngine(problem, geometry_of(problem), std::move(lengths2), threads),
        device_(index),
        rows_(device_, problem, this->lengths2(), threads),
        scratch_(device_, problem.m),
        on_device_(std::in_place, device_, problem, rows_),
        panel_(panel_rows(problem, rows_.view().pitch)),
        W_(device_, weights_size()),
        sum_(device_, weights_size()),
        W_given_(device_, problem.m * problem.D()),
        working_W_(device_, weights_size()),
        rows_as_given_(device_, panel_ * pitch()),
        working_rows_(device_, panel_ * pitch()),
        S_(device_, panel_ * problem.m),
        working_S_(device_, panel_ * problem.m),
        entries_of_classes_(device_, panel_ * problem.m),
        per_row_(device_, 2 * problem.n),
        rank_(device_, problem.n) {}

  void set_problem(const Problem& problem) override {
    refuse_oracle(problem);
    HostEngine::set_problem(problem);
    device_.choose();
    on_device_.emplace(device_, problem_, rows_);
  }

  PassSums pass(const std::vector<double>& W, Direction direction, const Dual* A, Dual* U,
                std::vector<double>& W_U) override {
    if (problem_.loss.smoothing == 0.0 && !problem_.loss.entropic() && !U) return vertex_pass(W, W_U);
    const HostDual* const alpha = A ? &cuda_dual(*A).host() : nullptr;
    HostDual* const directions = U ? &cuda_dual(*U).on_host() : nullptr;
    return pass_on_host<PassSums>(W, W_U, [&](std::int64_t i, R* s, RowSpace& space, PassSums& sums) {
      pass_row(problem_, i, s, direction, alpha ? (*alpha)[i] : RowView(), space, sums);
      if (directions) directions->assign(i, space.u);
      return RowView(space.u);
    });
  }

  AscentSums ascend(const std::vector<double>& W, const Extrapolation& A_mu, double q, Dual& A_next,
                    std::vector<double>& W_next) override {
    const HostDual &A = cuda_dual(A_mu.A).host(), &A_old = cuda_dual(A_mu.A_old).host();
    HostDual& next = cuda_dual(A_next).on_host();
    return pass_on_host<AscentSums>(W, W_next, [&](std::int64_t i, R* s, RowSpace& space, AscentSums& sums) {
      ascend_row(problem_, i, s, A[i], A_old[i], A_mu.mu, q, space.u, space, sums);
      next.assign(i, space.u);
      return RowView(space.u);
    });
  }

  using Engine::loss_sum;
  LossSum loss_sum(const std::vector<double>& W, const AtRows& wanted) override {
    device_.choose();
    put_weights(W, W_);
    const double longest = longest_weights(W);
    const bool plain = problem_.loss.smoothing == 0.0 && !problem_.loss.entropic();
    return plain ? certify_on_device(longest, wanted) : certify_on_host(longest, wanted);
  }

  void weights_of(const Dual& A, std::vector<double>& W) override {
    device_.choose();
    sum_.clear();
    const DualView alpha = cuda_dual(A).view(1);
    for_panels([&](std::int64_t begin, std::int64_t count) {
      gather(device_.stream(), rows_.view(), begin, count, false, rows_as_given_.data());
      spread_dual(device_.stream(), on_device_->view(), alpha, begin, count, entries_of_classes_.data());
      add_to_sum(count);
    });
    take_sum(W);
  }

  void round_weights(std::vector<double>& W) const override {
    for (double& w : W) w = static_cast<double>(static_cast<R>(w));
  }

  BlockAscent& block_ascent() override {
    if (!ascent_) ascent_ = make_block_ascent<R>(device_, rows_, scratch_, on_device_, problem_);
    return *ascent_;
  }

  void derivative(const Dual& U, double smoothing, std::vector<double>& H) override {
    HostEngine::derivative(cuda_dual(U).host(), smoothing, H);
  }

  // ---- Duals: what needs no scores is done on the host

  std::unique_ptr<Dual> make_dual() override { return std::make_unique<CudaDual>(device_, problem_.n, threads()); }
  void mix(double of_U, const Dual& U, double of_A, Dual& A) override {
    const HostDual& from = cuda_dual(U).host();
    HostEngine::mix(of_U, from, of_A, cuda_dual(A).on_host());
  }
  void scale(double t, Dual& A) override { HostEngine::scale(t, cuda_dual(A).on_host()); }
  DualSums sums(const Dual& A) override { return HostEngine::sums(cuda_dual(A).host()); }
  InsideSums put_inside(Dual& A) override {
    bool changed = false;
    const InsideSums found = put_rows_inside(cuda_dual(A).on_host(), changed);
    if (!changed) cuda_dual(A).stayed_the_same();
    return found;
  }
  void project(const SparseRows& rows, Dual& A) override { HostEngine::project(rows, cuda_dual(A).on_host()); }
  SparseRows rows_of(const Dual& A) override { return HostEngine::rows_of(cuda_dual(A).host()); }
  void exchange(State& state, std::string_view name, Dual& A) override {
    HostEngine::exchange(state, name, cuda_dual(A).on_host());
  }

 private:
  // As the CPU's engine: sums are over rows as they are, from which the mean is taken off at the end (C1).
  static Geometry geometry_of(const Problem& problem) {
    Geometry out{problem.m * problem.D(), problem.n, std::numeric_limits<R>::epsilon()};
    if (!problem.mean) return out;
    const double mean = length(*problem.mean);
    out.offset = 3.0 * mean;
    out.terms += 8;
    out.growth = 2.0 + mean / problem.bias.value();
    return out;
  }

  // As many rows as their copies, scores and entries take about half a gigabyte for.
  static std::int64_t panel_rows(const Problem& problem, std::int64_t pitch) {
    constexpr std::int64_t bytes = std::int64_t{1} << 29;
    return std::clamp<std::int64_t>(bytes / (12 * pitch + 24 * problem.m), 1, std::min(problem.n, most_summed_rows));
  }

  std::int64_t pitch() const { return rows_.view().pitch; }
  std::int64_t weights_size() const { return problem_.m * pitch(); }

  template <class Body>
  void for_panels(const Body& body) const {
    for (std::int64_t begin = 0; begin < problem_.n; begin += panel_) {
      body(begin, std::min(panel_, problem_.n - begin));
    }
  }

  // (m x D) numbers become (m x pitch) numbers of another type.
  template <class T>
  void put_weights(const std::vector<double>& W, const Buffer<T>& to) {
    W_given_.put(W.data(), W_given_.size());
    RowsView given;
    given.type = Stored::float64;
    given.value = W_given_.data();
    given.n = problem_.m;
    given.stride = given.d = given.D = problem_.D();
    given.pitch = pitch();
    gather(device_.stream(), given, 0, problem_.m, false, to.data());
  }

  // Scores in R of rows less their mean, and the rows as they are, for the sums.
  void score_panel(std::int64_t begin, std::int64_t count) {
    gather(device_.stream(), rows_.view(), begin, count, true, working_rows_.data());
    gather(device_.stream(), rows_.view(), begin, count, false, rows_as_given_.data());
    device_.scores(working_rows_.data(), working_W_.data(), count, problem_.m, pitch(), working_S_.data());
  }

  void add_to_sum(std::int64_t count) {
    sum_by_class<double, double, double>(device_.stream(), entries_of_classes_.data(), problem_.m, count,
                                         rows_as_given_.data(), problem_.D(), pitch(), true, sum_.data(), nullptr);
  }

  void take_sum(std::vector<double>& W) {
    const std::int64_t D = problem_.D();
    W.resize(static_cast<std::size_t>(problem_.m * D));
    const auto width = static_cast<std::size_t>(D) * sizeof(double);
    check(cudaMemcpy2DAsync(W.data(), width, sum_.data(), static_cast<std::size_t>(pitch()) * sizeof(double), width,
                            static_cast<std::size_t>(problem_.m), cudaMemcpyDeviceToHost, device_.stream()),
          "copying weights from it");
    device_.wait();
    const double scale = 1.0 / (problem_.lambda * problem_.N);
    for (double& w : W) w *= scale;
    if (problem_.mean) take_off(*problem_.mean, problem_.bias, W);
  }

  PassSums vertex_pass(const std::vector<double>& W, std::vector<double>& W_U) {
    device_.choose();
    put_weights(W, working_W_);
    sum_.clear();
    double* const phi = per_row_.data();
    for_panels([&](std::int64_t begin, std::int64_t count) {
      stop_if_asked();
      score_panel(begin, count);
      vertex_rows(device_.stream(), on_device_->view(), scratch_.view(), working_S_.data(), begin, count, phi,
                  phi + problem_.n, entries_of_classes_.data());
      add_to_sum(count);
    });
    take_sum(W_U);
    const std::vector<double> found = per_row_.get();
    PassSums sums;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      sums.phi += problem_.weight(i) * found[static_cast<std::size_t>(i)];
      sums.c_u += problem_.weight(i) * found[static_cast<std::size_t>(problem_.n + i)];
    }
    return sums;
  }

  // visit(i, s, space, sums) returns the row whose products with x_i are summed. Rows are cut into pieces, and the sums
  // of pieces are added in order, whatever the number of threads.
  template <class Sums, class Visit>
  Sums pass_on_host(const std::vector<double>& W, std::vector<double>& W_sum, const Visit& visit) {
    constexpr std::int64_t piece = 64;
    device_.choose();
    put_weights(W, working_W_);
    sum_.clear();
    Sums total;
    std::vector<R> S;
    std::vector<PanelEntry> all;
    for_panels([&](std::int64_t begin, std::int64_t count) {
      stop_if_asked();
      score_panel(begin, count);
      S.resize(static_cast<std::size_t>(count * problem_.m));
      working_S_.get(S.data(), count * problem_.m);
      const std::int64_t pieces = (count + piece - 1) / piece;
      std::vector<Sums> sums(static_cast<std::size_t>(pieces));
      std::vector<std::vector<PanelEntry>> entries(static_cast<std::size_t>(pieces));
      parallel_for(pieces, threads(), [&](std::int64_t p) {
        RowSpace space;
        const auto at = static_cast<std::size_t>(p);
        for (std::int64_t r = p * piece; r < std::min(count, (p + 1) * piece); ++r) {
          const double omega = problem_.weight(begin + r);
          for (const auto& [j, value] : visit(begin + r, S.data() + r * problem_.m, space, sums[at])) {
            entries[at].push_back({static_cast<std::int32_t>(r), j, omega * value});
          }
        }
      });
      for (const Sums& one : sums) add(one, total);
      all.clear();
      for (const auto& one : entries) all.insert(all.end(), one.begin(), one.end());
      const Buffer<PanelEntry> sent(device_, all);
      spread_entries(device_.stream(), sent.data(), sent.size(), problem_.m, count, entries_of_classes_.data());
      add_to_sum(count);
      device_.wait();
    });
    take_sum(W_sum);
    return total;
  }

  // ---- Certificates: scores in double of rows as they are

  // ||s_ij|| <= ||x_i|| max_j ||w_j||: what G1's bound on rounding is a multiple of.
  double longest_weights(const std::vector<double>& W) const {
    const auto D = static_cast<std::size_t>(problem_.D());
    double longest = 0.0;
    for (std::size_t from = 0; from < W.size(); from += D) {
      longest = std::max(longest, length(std::span(W).subspan(from, D)));
    }
    return longest;
  }

  void certified_scores(std::int64_t begin, std::int64_t count) {
    gather(device_.stream(), rows_.view(), begin, count, false, rows_as_given_.data());
    device_.scores(rows_as_given_.data(), W_.data(), count, problem_.m, pitch(), S_.data());
  }

  void weigh(std::int64_t i, const LossSum& row, LossSum& sums) const {
    const long double omega = problem_.weight(i);
    add({omega * row.sum, omega * row.rounding, omega * row.least}, sums);
  }

  LossSum certify_on_device(double longest, const AtRows& wanted) {
    std::optional<DualView> alpha;
    if (wanted.ascent) alpha = cuda_dual(*wanted.A).view(1);
    double* const share = wanted.ascent ? ascent_->shares() : nullptr;
    for_panels([&](std::int64_t begin, std::int64_t count) {
      certified_scores(begin, count);
      certify_rows(device_.stream(), on_device_->view(), scratch_.view(), S_.data(), begin, count, per_row_.data(),
                   rank_.data(), alpha ? &*alpha : nullptr, share);
    });
    if (wanted.ranks) *wanted.ranks = rank_.get();
    std::vector<double> phi(static_cast<std::size_t>(problem_.n));
    per_row_.get(phi.data(), problem_.n);
    LossSum sums;
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      weigh(i, certified_loss(problem_, i, phi[static_cast<std::size_t>(i)], reach(i) * longest, problem_.D()), sums);
    }
    return sums;
  }

  LossSum certify_on_host(double longest, const AtRows& wanted) {
    if (wanted.ranks) wanted.ranks->resize(static_cast<std::size_t>(problem_.n));
    const HostDual* const alpha = wanted.ascent ? &cuda_dual(*wanted.A).host() : nullptr;
    std::vector<double> S, share(wanted.ascent ? static_cast<std::size_t>(problem_.n) : 0);
    std::vector<LossSum> rows(static_cast<std::size_t>(problem_.n));
    for_panels([&](std::int64_t begin, std::int64_t count) {
      certified_scores(begin, count);
      S.resize(static_cast<std::size_t>(count * problem_.m));
      S_.get(S.data(), count * problem_.m);
      constexpr std::int64_t piece = 64;
      parallel_for((count + piece - 1) / piece, threads(), [&](std::int64_t p) {
        RowSpace space;
        for (std::int64_t r = p * piece; r < std::min(count, (p + 1) * piece); ++r) {
          const std::int64_t i = begin + r;
          const auto at = static_cast<std::size_t>(i);
          const double* const s = S.data() + r * problem_.m;
          rows[at] = certified_row(problem_, i, s, reach(i) * longest, problem_.D(), space, wanted.least);
          if (wanted.ranks) (*wanted.ranks)[at] = rank(s, problem_.m, problem_.label(i));
          if (alpha) {
            share[at] = gap_share(problem_.loss, problem_.margins(i), s, problem_.m, problem_.label(i), (*alpha)[i],
                                  space.u, space.scratch);
          }
        }
      });
    });
    LossSum sums;
    for (std::int64_t i = 0; i < problem_.n; ++i) weigh(i, rows[static_cast<std::size_t>(i)], sums);
    if (wanted.ascent) ascent_->see(share);
    return sums;
  }

  const Device device_;
  const DeviceRows rows_;
  const DeviceScratch scratch_;
  std::optional<DeviceProblem> on_device_;
  const std::int64_t panel_;           // rows
  Buffer<double> W_, sum_;             // (m x pitch)
  Buffer<double> W_given_;             // (m x D)
  Buffer<R> working_W_;                // (m x pitch)
  Buffer<double> rows_as_given_;       // (panel x pitch)
  Buffer<R> working_rows_;             // (panel x pitch), less the mean
  Buffer<double> S_;                   // (panel x m)
  Buffer<R> working_S_;                // (panel x m)
  Buffer<double> entries_of_classes_;  // (m x panel)
  Buffer<double> per_row_;             // phi and <c, u>
  Buffer<std::int32_t> rank_;
  std::unique_ptr<CudaBlockAscent> ascent_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Engine> make_cuda_engine(const Problem& problem, int device, SharedLengths lengths2, int threads) {
  cuda::refuse_oracle(problem);
  if (working_precision(stored_precision(problem.X)) == Precision::float32) {
    return std::make_unique<cuda::CudaEngine<float>>(problem, device, std::move(lengths2), threads);
  }
  return std::make_unique<cuda::CudaEngine<double>>(problem, device, std::move(lengths2), threads);
}

}  // namespace topwolf
