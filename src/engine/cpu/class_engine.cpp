// Class features on the CPU: the plain engine and the plain block scores, with phi before and behind them (M1).

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/length.hpp"
#include "core/threads.hpp"
#include "engine/cpu/cpu_engine.hpp"
#include "engine/cpu/face_product.hpp"
#include "engine/host/engine.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// The plain products of steps on the face, with weights (m x D) in double.
class EntryProducts {
 public:
  virtual ~EntryProducts() = default;
  virtual void set_entries(const EntryList& entries) = 0;
  virtual void weigh(const std::vector<double>& U, std::vector<double>& W) = 0;
  virtual void score(const std::vector<double>& W, std::vector<double>& S) = 0;
};

template <class T>
class EntryProductsOf final : public EntryProducts {
 public:
  template <class View>
  EntryProductsOf(const Problem& problem, const View& X, int threads)
      : face_(make_face_product<T>(problem, rows_of(problem, X), threads)),
        bias_(problem.bias),
        m_(problem.m),
        D_(problem.D()) {
    // (m x pitch) for dense rows, (D x pitch) for sparse ones.
    constexpr bool sparse = requires {
      X.row_begin;
    };
    if (sparse) mean_ = problem.mean;
    by_class_ = sparse ? 1 : feature_pitch<T>(D_);
    by_feature_ = sparse ? class_pitch(m_) : 1;
    weights_.assign(static_cast<std::size_t>(sparse ? D_ * by_feature_ : m_ * by_class_), T{0});
  }

  void set_entries(const EntryList& entries) override { face_->set_entries(entries); }

  void weigh(const std::vector<double>& U, std::vector<double>& W) override {
    face_->weigh(U);
    W.resize(static_cast<std::size_t>(m_ * D_));
    const T* from = face_->weights().data();
    for (std::int64_t j = 0; j < m_; ++j) {
      for (std::int64_t f = 0; f < D_; ++f) {
        W[static_cast<std::size_t>(j * D_ + f)] = static_cast<double>(from[j * by_class_ + f * by_feature_]);
      }
    }
    if (mean_) take_off(*mean_, bias_, W);
  }

  void score(const std::vector<double>& of_rows, std::vector<double>& S) override {
    if (mean_) {
      folded_ = of_rows;
      fold(*mean_, bias_, folded_);
    }
    const std::vector<double>& W = mean_ ? folded_ : of_rows;
    for (std::int64_t j = 0; j < m_; ++j) {
      for (std::int64_t f = 0; f < D_; ++f) {
        weights_[static_cast<std::size_t>(j * by_class_ + f * by_feature_)] =
            static_cast<T>(W[static_cast<std::size_t>(j * D_ + f)]);
      }
    }
    face_->score(weights_, S);
  }

 private:
  template <class V>
  static DenseRows rows_of(const Problem& problem, const DenseView<V>& X) {
    return DenseRows(X, numbers(problem.mean));
  }
  static const CsrView<T>& rows_of(const Problem&, const CsrView<T>& X) { return X; }

  const std::unique_ptr<FaceProduct<T>> face_;
  const Bias bias_;
  const std::int64_t m_, D_;
  SharedMean mean_;                     // of sparse rows, which their products leave to us
  std::vector<double> folded_;          // (m x D)
  std::int64_t by_class_, by_feature_;  // the steps of the layout
  AlignedVector<T> weights_;
};

std::unique_ptr<EntryProducts> make_entry_products(const Problem& problem, int threads) {
  return std::visit(
      [&]<class View>(const View& X) -> std::unique_ptr<EntryProducts> {
        return std::make_unique<EntryProductsOf<Working<typename View::Value>>>(problem, X, threads);
      },
      problem.X);
}

// A changes the plain W = A^T X / (lambda N) in few classes; its scores times phi phi^T are those of V.
class ClassScores final : public BlockScores, public FaceScores {
 public:
  // `sums` knows the plain W(A) and must outlive this.
  ClassScores(const Problem& problem, std::shared_ptr<const ClassMap> map, std::unique_ptr<BlockScores> plain,
              Engine& sums, bool gram, int threads)
      : problem_(problem),
        gram_(gram),
        map_(std::move(map)),
        plain_(std::move(plain)),
        sums_(sums),
        products_(make_entry_products(problem, threads)),
        threads_(threads) {}

  std::int64_t group_rows() const override { return plain_->group_rows(); }
  void expect(std::span<const std::int64_t> rows) const override { plain_->expect(rows); }

  void load(std::span<const std::int64_t> rows, std::int64_t group, std::vector<double>& S,
            std::vector<double>& G) override {
    plain_->load(rows, group, S, G);
    map_->couple(S, scratch_);
  }

  bool curved() const override { return true; }
  void spread(std::int64_t, RowView change, std::vector<double>& scores) override {
    map_->spread(change, scores, scratch_);
  }

  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override {
    return plain_->add(rows, change, times);
  }

  // W here is V, which does not determine the plain weights: they are summed anew from A.
  void reset(const std::vector<double>&, const Dual& A) override {
    std::vector<double> W;
    sums_.weights_of(A, W);
    plain_->reset(W, A);
  }
  void scale(double factor) override { plain_->scale(factor); }
  void exchange(State& state) override { plain_->exchange(state); }

  FaceScores* face() override { return this; }
  // A product goes through the weights, and with a Gram matrix costs as much as an epoch.
  std::int64_t epochs_per_ascent() const override { return gram_ ? 16 : plain_->face()->epochs_per_ascent(); }
  void set_entries(const EntryList& entries) override {
    entries_ = &entries;
    products_->set_entries(entries);
    rows_.clear();
    for (std::int64_t i = 0; i < entries.rows(); ++i) {
      if (!entries.empty(i)) rows_.push_back(i);
    }
  }

  void entry_scores(std::vector<double>& S) override {
    S.resize(entries_->size());
    const auto m = static_cast<std::size_t>(map_->m());
    for_blocks([&](std::span<const std::int64_t> rows) {
      load(rows, 1, block_S_, block_G_);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for_entries_of(rows[r],
                       [&](std::size_t e, std::int32_t j) { S[e] = block_S_[r * m + static_cast<std::size_t>(j)]; });
      }
    });
  }

  double product(const std::vector<double>& U, std::vector<double>* S) override {
    U_ = &U;
    products_->weigh(U, W_);
    // The curvature is that of V: phi couples the classes, of which the plain W(U) knows nothing.
    map_->reduce(W_, V_, threads_);
    double norm2 = 0.0;
    for (const double v : V_) norm2 += v * v;
    if (S) {
      map_->lift(V_, W_, threads_);
      products_->score(W_, *S);
    }
    return problem_.lambda * problem_.N * norm2;
  }

  void add_product(double gamma) override {
    for_blocks([&](std::span<const std::int64_t> rows) {
      change_.assign(rows.size(), {});
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for_entries_of(rows[r], [&](std::size_t e, std::int32_t j) { change_[r].push_back({j, (*U_)[e]}); });
      }
      load(rows, 1, block_S_, block_G_);  // adding is for the rows that were loaded
      plain_->add(rows, change_, gamma);
    });
  }

 private:
  template <class Body>
  void for_blocks(const Body& body) {
    const auto size = static_cast<std::size_t>(group_rows());
    for (std::size_t first = 0; first < rows_.size(); first += size) {
      body(std::span<const std::int64_t>(rows_).subspan(first, std::min(size, rows_.size() - first)));
    }
  }

  template <class Body>
  void for_entries_of(std::int64_t i, const Body& body) const {
    for (std::size_t e = entries_->begin(i); e < entries_->end(i); ++e) body(e, entries_->column[e]);
  }

  const Problem& problem_;
  const bool gram_;
  const std::shared_ptr<const ClassMap> map_;
  const std::unique_ptr<BlockScores> plain_;
  Engine& sums_;
  const std::unique_ptr<EntryProducts> products_;
  const int threads_;
  std::vector<double> scratch_;

  const EntryList* entries_ = nullptr;
  const std::vector<double>* U_ = nullptr;  // of the last product
  std::vector<std::int64_t> rows_;          // that have entries
  std::vector<double> W_, V_, block_S_, block_G_;
  std::vector<SparseRow> change_;
};

class ClassEngine final : public HostEngine {
 public:
  ClassEngine(const Problem& problem, std::shared_ptr<const ClassMap> map, GramChoice gram,
              std::unique_ptr<Engine> plain, SharedLengths plain_lengths2, int threads)
      : HostEngine(problem, geometry_of(*map, plain->geometry()), lengths2_of(*map, *plain_lengths2), threads),
        plain_lengths2_(std::move(plain_lengths2)),
        map_(std::move(map)),
        gram_(std::move(gram)),
        plain_(std::move(plain)) {}

  void set_problem(const Problem& problem) override {
    Engine::set_problem(problem);
    plain_->set_problem(problem);
  }
  void set_should_stop(std::function<bool()> should_stop) override {
    Engine::set_should_stop(should_stop);
    plain_->set_should_stop(std::move(should_stop));
  }

  PassSums pass(const std::vector<double>& V, Direction direction, const Dual* A, Dual* U,
                std::vector<double>& V_U) override {
    map_->lift(V, W_, threads());
    const PassSums sums = plain_->pass(W_, direction, A, U, sum_);
    map_->reduce(sum_, V_U, threads());
    return sums;
  }

  AscentSums ascend(const std::vector<double>& V, const Extrapolation& A_mu, double q, Dual& A_next,
                    std::vector<double>& V_next) override {
    map_->lift(V, W_, threads());
    const AscentSums sums = plain_->ascend(W_, A_mu, q, A_next, sum_);
    map_->reduce(sum_, V_next, threads());
    return sums;
  }

  using Engine::loss_sum;
  LossSum loss_sum(const std::vector<double>& V, const AtRows& wanted) override {
    map_->lift(V, W_, threads());
    LossSum out = plain_->loss_sum(W_, wanted);
    // G1: phi V is rounded too, by p roundings of ||phi_j|| ||V||.
    const double rounding = static_cast<double>(map_->p() + 2) * std::numeric_limits<double>::epsilon() / 2;
    double lifted = 2.0 * problem_.loss.rho_sum() * rounding * curvature().lengths * length(V);
    // Its numbers can underflow as well, before they meet x.
    const double flushed = std::numeric_limits<double>::denorm_min() * static_cast<double>(map_->p()) *
                           std::sqrt(static_cast<double>(geometry().dimension));
    lifted += 2.0 * problem_.loss.rho_sum() * flushed * plain_->curvature().lengths;
    out.rounding += lifted;
    out.least = std::max(0.0L, out.least - lifted);
    return out;
  }

  void weights_of(const Dual& A, std::vector<double>& V) override {
    plain_->weights_of(A, sum_);
    map_->reduce(sum_, V, threads());
  }

  void round_weights(std::vector<double>& V) const override { plain_->round_weights(V); }

 protected:
  bool shares_weights() const override { return true; }
  std::unique_ptr<BlockScores> make_block_scores() override {
    auto scores = gram_.wanted ? make_gram_scores(problem_, gram_.shared, threads(), [this] { stop_if_asked(); })
                               : make_weights_scores(problem_, *plain_lengths2_, threads());
    return std::make_unique<ClassScores>(problem_, map_, std::move(scores), *plain_, gram_.wanted, threads());
  }

 private:
  // What the plain engine says, with the roundings and the underflows that phi adds on the way (G1).
  static Geometry geometry_of(const ClassMap& map, Geometry plain) {
    plain.dimension = plain.dimension / map.m() * map.p();
    plain.terms += map.m() + 2;
    plain.coupling = map.coupling();
    plain.growth *= 1.0 + static_cast<double>(map.m()) * (1.0 + std::sqrt(map.longest2()));
    plain.offset *= std::sqrt(map.longest2());
    return plain;
  }
  static std::vector<double> lengths2_of(const ClassMap& map, std::vector<double> plain) {
    const double longest2 = map.longest2();
    for (double& length2 : plain) length2 *= longest2;
    return plain;
  }

  const SharedLengths plain_lengths2_;  // ||x_i||^2
  const std::shared_ptr<const ClassMap> map_;
  const GramChoice gram_;
  const std::unique_ptr<Engine> plain_;
  std::vector<double> W_, sum_;  // (m x D)
};

}  // namespace

std::unique_ptr<Engine> make_class_engine(const Problem& problem, std::shared_ptr<const ClassMap> map,
                                          const GramChoice& gram, SharedLengths lengths2, int threads) {
  auto plain = make_cpu_engine(problem, {}, lengths2, threads);
  return std::make_unique<ClassEngine>(problem, std::move(map), gram, std::move(plain), std::move(lengths2), threads);
}

}  // namespace topwolf
