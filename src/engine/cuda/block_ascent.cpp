#include "engine/cuda/block_ascent.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "engine/cuda/dual.hpp"
#include "engine/cuda/kernels.hpp"

namespace topwolf::cuda {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// gamma is the thermometer (B2): half as many rows at once where its mean is below the first, twice as many above the
// second. Both are lower than the CPU's: what gains three quarters as much in half the time is worth it here.
constexpr double poor_gamma = 0.75, good_gamma = 0.9;
// Batches between two looks at what they were worth.
constexpr std::int64_t batches_per_look = 16;
constexpr std::int64_t most_rows = 4096;
static_assert(most_rows <= most_summed_rows);

template <class R>
class Ascent final : public CudaBlockAscent {
 public:
  Ascent(const Device& device, const DeviceRows& rows, const DeviceScratch& scratch,
         const std::optional<DeviceProblem>& on_device, const Problem& problem)
      : device_(device),
        rows_(rows),
        scratch_(scratch),
        on_device_(on_device),
        problem_(problem),
        m_(problem.m),
        pitch_(rows.view().pitch),
        room_(std::min(most_rows, std::max<std::int64_t>(16, static_cast<std::int64_t>(std::bit_floor(
                                                                 static_cast<std::uint64_t>(problem.n / 4 + 1)))))),
        W_(device, m_ * pitch_),
        sums_(device, m_ * pitch_),
        X_(device, room_ * pitch_),
        S_(device, room_ * m_),
        V_(device, room_ * m_),
        share_(device, problem.n),
        loss_(device, problem.n),
        rest_(device, problem.n),
        due_(device, problem.n),
        order_(device, problem.n),
        counts_(device, 2 * (problem.n / 1024 + 1)),
        chosen_(device, 2),
        state_(device, 1),
        next_count_(device, room_),
        slope_(device, room_),
        smooth_(device, room_),
        norm2_(device, m_),
        parts_(device, sum_parts),
        progress_(device, 1) {
    W_.clear();
    sums_.clear();
  }

  void begin(const BlockOptions& options, double scores_times) override {
    device_.choose();
    if (scores_times == 0.0) {
      W_.clear();
    } else if (scores_times != 1.0) {
      device_.scale(scores_times, m_ * pitch_, W_.data());
    }
    seed_ = options.seed;
    most_ = options.block_rows > 0 ? std::min(room_, options.block_rows) : room_;
    // Below this a batch takes as long as with more rows, whatever their steps are worth together.
    least_ = std::min(most_, std::clamp<std::int64_t>(problem_.n / rows_per_least_row, 1, most_least_rows));
    // Few rows among many classes: a row meets few others that step in the same ones.
    batch_ = std::clamp<std::int64_t>(m_ / classes_per_first_row, least_, most_);
    slots_ = std::min(m_, std::max<std::int64_t>(few_slots, 2 * problem_.loss.entries(m_)));
    gamma_sum_ = 0.0;
    gamma_count_ = 0;
    const auto n = static_cast<std::size_t>(problem_.n);
    see(std::vector<double>(n, infinity));
    loss_.put(std::vector<double>(n, 0.0).data(), problem_.n);
    rest_.clear();
    wake();
    epoch_ = rows_chosen_ = resting_ = visited_ = cramped_ = 0;
    quiet_ = 0.0;
  }

  void reset(const std::vector<double>& W, const Dual&) override {
    std::vector<R> padded(static_cast<std::size_t>(m_ * pitch_), R{0});
    const auto D = static_cast<std::size_t>(problem_.D());
    for (std::size_t j = 0; j < static_cast<std::size_t>(m_); ++j) {
      for (std::size_t c = 0; c < D; ++c)
        padded[j * static_cast<std::size_t>(pitch_) + c] = static_cast<R>(W[j * D + c]);
    }
    device_.choose();
    W_.put(padded.data(), W_.size());
  }

  Epoch begin_epoch(std::int64_t epoch) override {
    device_.choose();
    grow_slots();
    epoch_ = epoch;
    const double left = gap();
    // A twentieth of the mean share: those who rest had, when they were seen, a twentieth of the gap between them at
    // most.
    quiet_ = std::isfinite(left) ? 0.05 * left : 0.0;
    fast_ = products_for(left) == Products::fast;
    choose_rows(device_.stream(), on_device_->view(), visits(), static_cast<std::int32_t>(epoch), seed_, counts_.data(),
                chosen_.data());
    const std::vector<std::int64_t> chosen = chosen_.get();
    rows_chosen_ = chosen[0];
    resting_ = chosen[1];
    visited_ = 0;
    return {rows_chosen_, resting_};
  }

  Step step(Dual& A) override {
    Step out;
    if (visited_ >= rows_chosen_) {
      rows_chosen_ = visited_ = 0;
      return out;
    }
    device_.choose();
    const DualView alpha = cuda_dual(A).on_device(slots_);
    slots_ = alpha.slots;
    make_room(alpha.slots);
    progress_.clear();
    const EpochState state{visited_, rows_chosen_, quiet_, static_cast<std::int32_t>(epoch_)};
    state_.put(&state, 1);
    const std::int64_t begin = visited_;
    for (std::int64_t b = 0; b < batches_per_look && visited_ < rows_chosen_; ++b) {
      check(cudaGraphLaunch(batch_graph(alpha), device_.stream()), "starting a batch");
      visited_ = std::min(rows_chosen_, visited_ + batch_);
    }
    const Progress done = progress_.get().front();
    out.rows = visited_ - begin;
    out.gain = done.gain / problem_.N;
    out.moved = done.moved != 0;
    cramped_ += done.cramped;
    steer(done);
    return out;
  }

  double gap() const override { return weighted_mean(share_); }

  void wake() override { due_.clear(); }

  double* shares() override { return share_.data(); }
  void see(const std::vector<double>& shares) override { share_.put(shares.data(), problem_.n); }

  void exchange(State& state) override {
    device_.choose();
    state.count("ascent_epoch", epoch_);
    state.count("chosen", rows_chosen_, problem_.n);
    state.count("visited", visited_, rows_chosen_);
    state.count("resting", resting_, problem_.n);
    state.count("batch", batch_, room_);
    state.count("least", least_, room_);
    state.count("most", most_, room_);
    state.count("slots", slots_, m_);
    state.count("cramped", cramped_);
    state("gamma_sum", gamma_sum_);
    state.count("gamma_count", gamma_count_);
    state("quiet", quiet_);
    state("fast", fast_);
    auto seed = static_cast<std::int64_t>(seed_);
    state("seed", seed);
    seed_ = static_cast<std::uint64_t>(seed);
    if (state.restoring() && (batch_ < 1 || slots_ < 1)) state.refuse("batch");
    exchange(state, "share", share_);
    exchange(state, "loss", loss_);
    exchange(state, "rest", rest_);
    exchange(state, "due", due_);
    std::vector<std::int32_t> order = order_.get();
    state("order", order, {problem_.n});
    for (std::int64_t k = 0; state.restoring() && k < rows_chosen_; ++k) {
      const std::int32_t i = order[static_cast<std::size_t>(k)];
      if (i < 0 || i >= problem_.n) state.refuse("order");
    }
    order_.put(order.data(), problem_.n);
    exchange(state, "scores", W_);
  }

 private:
  static constexpr std::int64_t few_slots = 32;
  static constexpr std::int64_t rows_per_least_row = 2048, most_least_rows = 64, classes_per_first_row = 16;

  template <class T>
  void exchange(State& state, std::string_view name, Buffer<T>& values) {
    std::vector<T> here = values.get();
    state(name, here, {values.size()});
    if (state.restoring()) values.put(here.data(), values.size());
  }

  VisitsView visits() const { return {share_.data(), loss_.data(), rest_.data(), due_.data(), order_.data()}; }

  double weighted_mean(const Buffer<double>& values) const {
    device_.choose();
    weighted_sum(device_.stream(), on_device_->view(), values.data(), parts_.data());
    const std::vector<double> parts = parts_.get();
    return std::accumulate(parts.begin(), parts.end(), 0.0) / problem_.N;
  }

  // Rounded products choose directions well enough while the gap is far larger than what they are off by, which is what
  // they are for where products take time.
  Products products_for(double left) const {
    constexpr double enough = 0.02, large = 1e6;
    const double numbers = static_cast<double>(m_) * static_cast<double>(pitch_);
    const bool far = !std::isfinite(left) || left > enough * weighted_mean(loss_);
    return numbers >= large && far ? Products::fast : Products::exact;
  }

  void make_room(std::int64_t slots) {
    if (next_column_.size() == room_ * slots) return;
    next_column_ = Buffer<std::int32_t>(device_, room_ * slots);
    next_value_ = Buffer<double>(device_, room_ * slots);
  }

  // A row that would need more entries than there are slots steps in part of its classes. That is as good while few
  // rows do; in the long run they get room.
  void grow_slots() {
    const bool many = 1000 * cramped_ > problem_.n || (cramped_ > 0 && epoch_ % 8 == 0);
    if (epoch_ >= 3 && many) slots_ = std::min(m_, 2 * slots_);
    cramped_ = 0;
  }

  // What runs for a batch, as one thing to start: it changes with the problem, the size of the batch and the memory of
  // A, not from batch to batch.
  cudaGraphExec_t batch_graph(const DualView& A) {
    const BatchKey key{on_device_->view(), A, next_column_.data(), batch_, fast_};
    if (graph_ && key == graph_key_) return graph_.get();
    graph_.reset();
    check(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal), "preparing a batch");
    run_batch(A);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(device_.stream(), &graph), "preparing a batch");
    cudaGraphExec_t ready = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "preparing a batch");
    graph_.reset(ready);
    graph_key_ = key;
    return ready;
  }

  void run_batch(const DualView& A) {
    BatchView batch;
    batch.epoch = state_.data();
    batch.rows = batch_;
    batch.next_column = next_column_.data();
    batch.next_value = next_value_.data();
    batch.next_count = next_count_.data();
    batch.slope = slope_.data();
    batch.smooth = smooth_.data();
    batch.norm2 = norm2_.data();
    const cudaStream_t stream = device_.stream();
    const ProblemView& problem = on_device_->view();
    gather_batch(stream, rows_.view(), visits(), batch, X_.data());
    device_.scores(X_.data(), W_.data(), batch_, m_, pitch_, S_.data(), fast_ ? Products::fast : Products::exact);
    step_rows(stream, problem, scratch_.view(), S_.data(), visits(), batch, A, V_.data(), progress_.data());
    sum_by_class<R, R, R>(stream, V_.data(), m_, batch_, X_.data(), problem_.D(), pitch_, false, sums_.data(),
                          norm2_.data());
    take_together(stream, problem, batch, progress_.data());
    move_rows(stream, problem, visits(), batch, A, sums_.data(), pitch_, W_.data(), progress_.data());
  }

  void steer(const Progress& done) {
    gamma_sum_ += done.gamma_sum;
    gamma_count_ += done.batches;
    constexpr std::int64_t batches_per_judgement = 8;
    if (gamma_count_ < batches_per_judgement) return;
    const double mean = gamma_sum_ / static_cast<double>(gamma_count_);
    if (mean < poor_gamma) batch_ = std::max(least_, batch_ / 2);
    if (mean > good_gamma) batch_ = std::min(most_, 2 * batch_);
    gamma_sum_ = 0.0;
    gamma_count_ = 0;
  }

  // What a graph was made for.
  struct BatchKey {
    ProblemView problem;
    DualView A;
    const void* next = nullptr;
    std::int64_t batch = 0;
    bool fast = false;
    bool operator==(const BatchKey&) const = default;
  };
  struct DestroyGraph {
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  };

  const Device& device_;
  const DeviceRows& rows_;
  const DeviceScratch& scratch_;
  const std::optional<DeviceProblem>& on_device_;
  const Problem& problem_;
  const std::int64_t m_, pitch_, room_;  // rows of a batch, at most

  // Of a run.
  std::uint64_t seed_ = 0;
  std::int64_t least_ = 1, most_ = 1, batch_ = 1;  // rows that step at once
  std::int64_t slots_ = 1;                         // of a row of A
  std::int64_t cramped_ = 0;                       // rows of the epoch that would have needed more
  double gamma_sum_ = 0.0;
  std::int64_t gamma_count_ = 0;
  Buffer<R> W_, sums_;                       // (m x pitch)
  Buffer<R> X_, S_, V_;                      // (batch x pitch), (batch x m), (m x batch)
  Buffer<double> share_, loss_;              // n
  Buffer<std::int32_t> rest_, due_, order_;  // n
  Buffer<std::int64_t> counts_, chosen_;
  Buffer<EpochState> state_;

  // Of an epoch.
  std::int64_t epoch_ = 0, rows_chosen_ = 0, resting_ = 0, visited_ = 0;
  double quiet_ = 0.0;
  bool fast_ = false;

  // Of a batch.
  Buffer<std::int32_t> next_column_, next_count_;
  Buffer<double> next_value_, slope_, smooth_, norm2_, parts_;
  Buffer<Progress> progress_;
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph> graph_;
  BatchKey graph_key_;
};

}  // namespace

template <class R>
std::unique_ptr<CudaBlockAscent> make_block_ascent(const Device& device, const DeviceRows& rows,
                                                   const DeviceScratch& scratch,
                                                   const std::optional<DeviceProblem>& on_device,
                                                   const Problem& problem) {
  return std::make_unique<Ascent<R>>(device, rows, scratch, on_device, problem);
}
template std::unique_ptr<CudaBlockAscent> make_block_ascent<float>(const Device&, const DeviceRows&,
                                                                   const DeviceScratch&,
                                                                   const std::optional<DeviceProblem>&, const Problem&);
template std::unique_ptr<CudaBlockAscent> make_block_ascent<double>(const Device&, const DeviceRows&,
                                                                    const DeviceScratch&,
                                                                    const std::optional<DeviceProblem>&,
                                                                    const Problem&);

}  // namespace topwolf::cuda
