// The plain engine: the Kronecker map behind the panels that all CPU engines share.
#include "engine/cpu/cpu_engine.hpp"

#include <limits>

#include "core/length.hpp"
#include "engine/cpu/panel_engine.hpp"

namespace topwolf {
namespace {

// psi(x, j) = e_j (x) x: scores and sums are products with the features, of type T.
template <class T>
class KroneckerMap {
 public:
  using Real = T;
  static constexpr bool kronecker = true;
  KroneckerMap(const Problem& problem, GramChoice gram, int threads)
      : X_(problem.X),
        n_(problem.n),
        m_(problem.m),
        d_(problem.d),
        D_(problem.D()),
        bias_(problem.bias),
        mean_(problem.mean),
        gram_(std::move(gram)),
        threads_(threads),
        scorer_(X_, m_, bias_, numbers(mean_)),
        accumulator_(X_, m_, bias_) {}

  Geometry geometry() const {
    Geometry out{m_ * D_, n_, std::numeric_limits<T>::epsilon()};
    if (!mean_) return out;
    // C1: ||x|| is at most ||x - mean|| + ||mean||, of which the first is rounded; sums over rows that are not less
    // their mean, which is then taken off by a few roundings of what it is multiplied with.
    const double mean = length(*mean_);
    out.offset = 3.0 * mean;
    out.terms += 8;
    out.growth = 2.0 + mean / bias_.value();
    return out;
  }
  std::int64_t row_bytes() const { return d_ * static_cast<std::int64_t>(sizeof(T)); }

  void set_weights(const std::vector<double>& W) { scorer_.set_weights(W.data(), threads_); }
  void scores(std::int64_t begin, std::int64_t end, T* S, AlignedVector<T>& scratch) const {
    scorer_.scores(begin, end, S, scratch);
  }
  // Certificates multiply in double whatever the features are, and with the weights of a model; a scorer of its own, so
  // that a pass keeps its weights.
  Scorer<double> exact_scores(const std::vector<double>& W) const {
    Scorer<double> scorer(X_, m_, bias_);
    scorer.set_weights(W.data(), threads_);
    return scorer;
  }
  std::int64_t terms(std::int64_t i) const {
    return std::visit([i](const auto& X) { return row_of(X, i).count; }, X_) + 1;  // and the constant feature
  }
  // ||s_ij|| <= ||x_i|| max_j ||w_j||: what G1's bound on rounding is a multiple of.
  double longest_weights(const std::vector<double>& W) const {
    const auto D = static_cast<std::size_t>(D_);
    double longest = 0.0;
    for (std::size_t from = 0; from < W.size(); from += D) {
      longest = std::max(longest, length(std::span(W).subspan(from, D)));
    }
    return longest;
  }
  void add(const std::vector<std::vector<RowEntry>>& panels, std::vector<double>& W) {
    accumulator_.add(panels, W, threads_);
  }
  void take_off_mean(std::vector<double>& W) const {
    if (mean_) take_off(*mean_, bias_, W);
  }
  std::unique_ptr<BlockScores> block_scores(const Problem& problem, const std::vector<double>& lengths2, int threads,
                                            Pause pause) const {
    return gram_.wanted ? make_gram_scores(problem, gram_.shared, threads, std::move(pause))
                        : make_weights_scores(problem, lengths2, threads);
  }

 private:
  FeatureView X_;
  std::int64_t n_, m_, d_, D_;
  Bias bias_;
  SharedMean mean_;
  GramChoice gram_;
  int threads_;
  Scorer<T> scorer_;
  Accumulator<double> accumulator_;
};

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const Problem& problem, const GramChoice& gram, SharedLengths lengths2,
                                        int threads) {
  const auto make = [&](auto map) -> std::unique_ptr<Engine> {
    return std::make_unique<PanelEngine<decltype(map)>>(problem, std::move(map), std::move(lengths2), threads);
  };
  const bool single = working_precision(stored_precision(problem.X)) == Precision::float32;
  return single ? make(KroneckerMap<float>(problem, gram, threads))
                : make(KroneckerMap<double>(problem, gram, threads));
}

}  // namespace topwolf
