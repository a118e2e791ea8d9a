// Any psi on the CPU, row by row.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/fail.hpp"
#include "core/length.hpp"
#include "core/threads.hpp"
#include "engine/cpu/cpu_engine.hpp"
#include "engine/cpu/panel_engine.hpp"

namespace topwolf {
namespace {

// ||v||^2 for v = sum_j alpha_j psi(x_i, j), or its scores: v is put into `sum`, which is 0, and taken out again.
template <class Use>
void with_sum(const JointMap& psi, std::int64_t i, SparseRow alpha, std::vector<double>& sum, const Use& use) {
  psi.accumulate(i, alpha, sum);
  use();
  for (Entry& entry : alpha) entry.value = -entry.value;
  psi.accumulate(i, alpha, sum);
}

double longest2(const JointMap& psi, std::int64_t i, std::vector<double>& sum, std::vector<double>& s) {
  double longest = 0.0;
  for (std::int64_t j = 0; j < psi.classes(); ++j) {
    with_sum(psi, i, {{static_cast<std::int32_t>(j), 1.0}}, sum, [&] {
      psi.scores(i, sum, s);
      const double length2 = s[static_cast<std::size_t>(j)];
      // What is not a number stays.
      if (!std::isnan(longest) && !(length2 <= longest)) longest = length2;
    });
  }
  return longest;
}

// Row by row, from w in double.
class JointScores final : public BlockScores, public FaceScores {
 public:
  JointScores(const Problem& problem, const JointMap& psi, int threads)
      : problem_(problem),
        psi_(psi),
        threads_(threads),
        w_(static_cast<std::size_t>(psi.dimension()), 0.0),
        sum_(w_),
        product_(w_) {}

  std::int64_t group_rows() const override { return 1; }

  void load(std::span<const std::int64_t> rows, std::int64_t, std::vector<double>& S, std::vector<double>& G) override {
    S.resize(static_cast<std::size_t>(problem_.m));
    psi_.scores(rows[0], w_, S);
    G.assign(1, 1.0);
  }

  bool curved() const override { return true; }
  void spread(std::int64_t i, RowView change, std::vector<double>& scores) override {
    scores.resize(static_cast<std::size_t>(problem_.m));
    // What is taken out leaves rounding behind, which must not pile up; to wipe a long vector each time would cost more
    // than the scores.
    constexpr std::int64_t often = 256, short_for_a_class = 64;
    if (psi_.dimension() <= short_for_a_class * problem_.m || ++uses_ % often == 0) {
      std::fill(sum_.begin(), sum_.end(), 0.0);
    }
    with_sum(psi_, i, {change.begin(), change.end()}, sum_, [&] { psi_.scores(i, sum_, scores); });
  }

  double add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) override {
    add_row(rows[0], change[0], times, w_);
    return 0.0;  // its rows never step at once
  }

  void reset(const std::vector<double>& W, const Dual&) override {
    w_ = W;
    std::fill(sum_.begin(), sum_.end(), 0.0);
  }
  void scale(double factor) override {
    for (double& w : w_) w = factor == 0.0 ? 0.0 : w * factor;
  }

  FaceScores* face() override { return this; }
  void set_entries(const EntryList& entries) override { entries_ = &entries; }
  void entry_scores(std::vector<double>& S) override { score_entries(w_, S); }
  double product(const std::vector<double>& U, std::vector<double>* S) override {
    std::fill(product_.begin(), product_.end(), 0.0);
    for (std::int64_t i = 0; i < entries_->rows(); ++i) {
      if (entries_->empty(i)) continue;
      row_.clear();
      for (std::size_t e = entries_->begin(i); e < entries_->end(i); ++e) row_.push_back({entries_->column[e], U[e]});
      add_row(i, row_, 1.0, product_);
    }
    if (S) score_entries(product_, *S);
    double norm2 = 0.0;
    for (const double w : product_) norm2 += w * w;
    return problem_.lambda * problem_.N * norm2;
  }
  void add_product(double gamma) override {
    for (std::size_t p = 0; p < w_.size(); ++p) w_[p] += gamma * product_[p];
  }

  void exchange(State& state) override { state("scores", w_, {psi_.dimension()}); }

 private:
  // D2.
  void add_row(std::int64_t i, RowView change, double times, std::vector<double>& w) {
    weighted_.assign(change.begin(), change.end());
    for (Entry& entry : weighted_) entry.value *= times * problem_.factor(i);
    psi_.accumulate(i, weighted_, w);
  }

  void score_entries(const std::vector<double>& w, std::vector<double>& S) {
    S.resize(entries_->size());
    constexpr std::int64_t piece = 16;
    const std::int64_t rows = entries_->rows();
    parallel_for((rows + piece - 1) / piece, threads_, [&](std::int64_t part) {
      std::vector<double> s(static_cast<std::size_t>(problem_.m));
      for (std::int64_t i = part * piece; i < std::min(rows, (part + 1) * piece); ++i) {
        if (entries_->empty(i)) continue;
        psi_.scores(i, w, s);
        for (std::size_t e = entries_->begin(i); e < entries_->end(i); ++e) {
          S[e] = s[static_cast<std::size_t>(entries_->column[e])];
        }
      }
    });
  }

  const Problem& problem_;
  const JointMap& psi_;
  const int threads_;
  std::vector<double> w_;
  std::vector<double> sum_;  // 0, up to rounding, but while a row is looked at
  std::int64_t uses_ = 0;
  std::vector<double> product_;
  SparseRow row_, weighted_;
  const EntryList* entries_ = nullptr;
};

// Any psi, by its two verbs, in double.
class AnyMap {
 public:
  using Real = double;
  static constexpr bool kronecker = false;
  explicit AnyMap(const JointMap& psi) : psi_(&psi) {}

  Geometry geometry() const {
    // Every class of every example may add to the same number.
    return {psi_->dimension(), psi_->examples() * psi_->classes(), std::numeric_limits<double>::epsilon(),
            static_cast<double>(psi_->classes())};
  }
  std::int64_t row_bytes() const { return psi_->classes() * static_cast<std::int64_t>(sizeof(double)); }

  void set_weights(const std::vector<double>& W) { W_ = &W; }
  void scores(std::int64_t begin, std::int64_t end, double* S, AlignedVector<double>&) const {
    const auto m = static_cast<std::size_t>(psi_->classes());
    for (std::int64_t i = begin; i < end; ++i, S += m) psi_->scores(i, *W_, {S, m});
  }
  AnyMap exact_scores(const std::vector<double>& W) const {
    AnyMap at(*psi_);
    at.set_weights(W);
    return at;
  }
  std::int64_t terms(std::int64_t) const { return psi_->dimension(); }
  double longest_weights(const std::vector<double>& W) const { return length(W); }
  void add(const std::vector<std::vector<RowEntry>>& panels, std::vector<double>& W) {
    // One after the other: a row has few entries, and takes far less time here than its m scores.
    for (const auto& panel : panels) {
      for (std::size_t first = 0; first < panel.size();) {
        row_.clear();
        std::size_t e = first;
        for (; e < panel.size() && panel[e].row == panel[first].row; ++e)
          row_.push_back({panel[e].column, panel[e].value});
        psi_->accumulate(panel[first].row, row_, W);
        first = e;
      }
    }
  }
  void take_off_mean(std::vector<double>&) const {}  // psi has none
  std::unique_ptr<BlockScores> block_scores(const Problem& problem, const std::vector<double>&, int threads,
                                            const Pause&) const {
    return std::make_unique<JointScores>(problem, *psi_, threads);
  }

 private:
  const JointMap* psi_;
  const std::vector<double>* W_ = nullptr;
  SparseRow row_;
};

// max_j ||psi(x_i, j)||^2 of every example: psi's own word, or from its two verbs.
std::vector<double> squared_lengths(const JointMap& psi, int threads) {
  const std::int64_t n = psi.examples();
  std::vector<double> lengths2(static_cast<std::size_t>(n));
  struct Space {
    std::vector<double> sum, s;
  };
  std::vector<Space> space(static_cast<std::size_t>(threads));
  parallel_for(n, threads, [&](std::int64_t i) {
    if (const auto known = psi.squared_length(i)) {
      lengths2[static_cast<std::size_t>(i)] = *known;
      return;
    }
    Space& mine = space[static_cast<std::size_t>(thread_number())];
    mine.sum.resize(static_cast<std::size_t>(psi.dimension()), 0.0);
    mine.s.resize(static_cast<std::size_t>(psi.classes()));
    lengths2[static_cast<std::size_t>(i)] = longest2(psi, i, mine.sum, mine.s);
  });
  return lengths2;
}

void check_lengths(const std::vector<double>& lengths2) {
  const auto bad =
      std::find_if_not(lengths2.begin(), lengths2.end(), [](double x) { return std::isfinite(x) && x >= 0.0; });
  if (bad != lengths2.end()) {
    fail(ErrorKind::data, "psi of example {} holds a number that is not finite, or too large to be squared",
         bad - lengths2.begin() + 1);
  }
}

}  // namespace

std::unique_ptr<Engine> make_joint_engine(const Problem& problem, const JointMap& psi, int threads) {
  std::vector<double> lengths2 = squared_lengths(psi, threads);
  check_lengths(lengths2);
  return std::make_unique<PanelEngine<AnyMap>>(problem, AnyMap(psi), share(std::move(lengths2)), threads);
}

}  // namespace topwolf
