#include "engine/class_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/fail.hpp"
#include "core/length.hpp"
#include "core/threads.hpp"
#include "engine/blas.hpp"
#include "engine/face_product.hpp"
#include "kernels/typed.hpp"

namespace topwolf {
namespace {

// Calls body(j, column, value) for the non-zeros of phi, row by row.
template <class Body>
void for_nonzeros(const FeatureView& phi, const Body& body) {
  struct Rows {
    const Body& body;
    void operator()(const DenseView<double>& view) const {
      for (std::int64_t j = 0; j < view.rows; ++j) {
        for (std::int64_t c = 0; c < view.cols; ++c) {
          const double value = view.data[j * view.stride + c];
          if (value != 0.0) body(j, c, value);
        }
      }
    }
    void operator()(const CsrView<double>& view) const {
      for (std::int64_t j = 0; j < view.rows; ++j) {
        for (std::int64_t e = view.row_begin[j]; e < view.row_begin[j + 1]; ++e) {
          if (view.value[e] != 0.0) body(j, view.column[e], view.value[e]);
        }
      }
    }
    void operator()(const DenseView<float>&) const { refuse(); }
    void operator()(const CsrView<float>&) const { refuse(); }
    [[noreturn]] static void refuse() { fail(ErrorKind::internal, "class features are not in float64"); }
  };
  std::visit(Rows{body}, phi);
}

// Columns per task: one strip of W and of V stays in the cache while phi goes by.
constexpr std::int64_t strip = 256;

template <class Body>
void for_strips(std::int64_t D, std::size_t nonzeros, int threads, const Body& body) {
  SingleThreadedBlas blas;
  const double work = static_cast<double>(nonzeros) * static_cast<double>(D);
  parallel_for((D + strip - 1) / strip, threads_worth(work, threads),
               [&](std::int64_t task) { body(task * strip, std::min(D, (task + 1) * strip)); });
}

void add_scaled(double factor, const double* from, std::int64_t count, double* to) {
  for (std::int64_t f = 0; f < count; ++f) to[f] += factor * from[f];
}

class ClassEngine final : public Engine {
 public:
  ClassEngine(const Problem& problem, std::shared_ptr<const ClassMap> map, std::unique_ptr<Engine> plain, int threads)
      : Engine(geometry_of(*map, plain->geometry())),
        problem_(problem),
        map_(std::move(map)),
        plain_(std::move(plain)),
        threads_(threads) {}

  void set_should_stop(std::function<bool()> should_stop) override {
    Engine::set_should_stop(should_stop);
    plain_->set_should_stop(std::move(should_stop));
  }

  PassSums pass(const std::vector<double>& V, Direction direction, const DualRows* A, DualRows* U,
                std::vector<double>& V_U) override {
    map_->lift(V, W_, threads_);
    const PassSums sums = plain_->pass(W_, direction, A, U, sum_);
    map_->reduce(sum_, V_U, threads_);
    return sums;
  }

  AscentSums ascend(const std::vector<double>& V, const Extrapolation& at, double q, DualRows& A_next,
                    std::vector<double>& V_next) override {
    map_->lift(V, W_, threads_);
    const AscentSums sums = plain_->ascend(W_, at, q, A_next, sum_);
    map_->reduce(sum_, V_next, threads_);
    return sums;
  }

  using Engine::loss_sum;
  LossSum loss_sum(const std::vector<double>& V, const AtRows& wanted) override {
    map_->lift(V, W_, threads_);
    LossSum out = plain_->loss_sum(W_, wanted);
    // G1: phi V is rounded too, by p roundings of ||phi_j|| ||V||.
    const double rounding = static_cast<double>(map_->p() + 2) * std::numeric_limits<double>::epsilon() / 2;
    double lengths = 0.0;  // of phi_j and x_i together
    for (std::int64_t i = 0; i < problem_.n; ++i) {
      lengths += problem_.weight(i) * std::sqrt(geometry().lengths2[static_cast<std::size_t>(i)]);
    }
    out.rounding += 2.0 * problem_.loss.rho_sum() * rounding * lengths * length(V);
    return out;
  }

  void weights_of(const DualRows& A, std::vector<double>& V) override {
    plain_->weights_of(A, sum_);
    map_->reduce(sum_, V, threads_);
  }

  void round_weights(std::vector<double>& V) const override { plain_->round_weights(V); }

 private:
  static Geometry geometry_of(const ClassMap& map, Geometry plain) {
    plain.dimension = plain.dimension / map.m() * map.p();
    plain.terms += map.m() + 2;
    plain.coupling = map.coupling();
    const double longest2 = map.longest2();
    for (double& length2 : plain.lengths2) length2 *= longest2;
    return plain;
  }

  const Problem& problem_;
  const std::shared_ptr<const ClassMap> map_;
  const std::unique_ptr<Engine> plain_;
  const int threads_;
  std::vector<double> W_, sum_;  // (m x D)
};

// The plain products of steps on the face, with weights (m x D) in double.
class EntryProducts {
 public:
  virtual ~EntryProducts() = default;
  virtual void set_entries(const EntryList& entries) = 0;
  virtual void weigh(const std::vector<double>& P, std::vector<double>& W) = 0;
  virtual void score(const std::vector<double>& W, std::vector<double>& S) = 0;
};

template <class T>
class EntryProductsOf final : public EntryProducts {
 public:
  template <class View>
  EntryProductsOf(const Problem& problem, const View& X, int threads)
      : face_(make_face_product(problem, X, threads)), m_(problem.m), D_(problem.D()) {
    // (m x D) for dense rows, (D x pitch) for sparse ones.
    constexpr bool sparse = requires {
      X.row_begin;
    };
    by_class_ = sparse ? 1 : D_;
    by_feature_ = sparse ? class_pitch(m_) : 1;
    weights_.assign(static_cast<std::size_t>(sparse ? D_ * by_feature_ : m_ * D_), T{0});
  }

  void set_entries(const EntryList& entries) override { face_->set_entries(entries); }

  void weigh(const std::vector<double>& P, std::vector<double>& W) override {
    face_->weigh(P);
    W.resize(static_cast<std::size_t>(m_ * D_));
    const T* from = face_->weights().data();
    for (std::int64_t j = 0; j < m_; ++j) {
      for (std::int64_t f = 0; f < D_; ++f) {
        W[static_cast<std::size_t>(j * D_ + f)] = static_cast<double>(from[j * by_class_ + f * by_feature_]);
      }
    }
  }

  void score(const std::vector<double>& W, std::vector<double>& S) override {
    for (std::int64_t j = 0; j < m_; ++j) {
      for (std::int64_t f = 0; f < D_; ++f) {
        weights_[static_cast<std::size_t>(j * by_class_ + f * by_feature_)] =
            static_cast<T>(W[static_cast<std::size_t>(j * D_ + f)]);
      }
    }
    face_->score(weights_, S);
  }

 private:
  const std::unique_ptr<FaceProduct<T>> face_;
  const std::int64_t m_, D_;
  std::int64_t by_class_, by_feature_;  // the steps of the layout
  std::vector<T> weights_;
};

std::unique_ptr<EntryProducts> make_entry_products(const Problem& problem, int threads) {
  return std::visit(
      [&](const auto& X) -> std::unique_ptr<EntryProducts> {
        if constexpr (requires { X.row_begin; }) {
          return std::make_unique<EntryProductsOf<std::remove_cvref_t<decltype(*X.value)>>>(problem, X, threads);
        } else {
          return std::make_unique<EntryProductsOf<std::remove_cvref_t<decltype(*X.data)>>>(problem, X, threads);
        }
      },
      problem.X);
}

// A changes the plain W = A^T X / (lambda N) in few classes; its scores times phi phi^T are those of V.
class ClassScores final : public BlockScores, public FaceScores {
 public:
  ClassScores(const Problem& problem, std::shared_ptr<const ClassMap> map, std::unique_ptr<BlockScores> plain,
              bool gram, int threads)
      : problem_(problem),
        gram_(gram),
        map_(std::move(map)),
        plain_(std::move(plain)),
        sums_(make_cpu_engine(problem, threads)),
        products_(make_entry_products(problem, threads)),
        threads_(threads) {}

  std::int64_t block_rows() const override { return plain_->block_rows(); }
  void expect(std::span<const std::int64_t> rows) const override { plain_->expect(rows); }

  void load(std::span<const std::int64_t> rows, std::vector<double>& S, std::vector<double>& G) override {
    plain_->load(rows, S, G);
    map_->couple(S, scratch_);
  }

  bool curved() const override { return true; }
  void spread(std::int64_t, const SparseRow& change, std::vector<double>& scores) override {
    map_->spread(change, scores, scratch_);
  }

  void add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change) override {
    plain_->add(rows, change);
  }

  void reset(const std::vector<double>&, const DualRows& A) override {
    std::vector<double> W;
    sums_->weights_of(A, W);
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
    for (std::size_t i = 0; i + 1 < entries.row_begin.size(); ++i) {
      if (entries.row_begin[i] < entries.row_begin[i + 1]) rows_.push_back(static_cast<std::int64_t>(i));
    }
  }

  void entry_scores(std::vector<double>& S) override {
    S.resize(entries_->size());
    const auto m = static_cast<std::size_t>(map_->m());
    for_blocks([&](std::span<const std::int64_t> rows) {
      load(rows, block_S_, block_G_);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for_entries_of(rows[r],
                       [&](std::size_t e, std::int32_t j) { S[e] = block_S_[r * m + static_cast<std::size_t>(j)]; });
      }
    });
  }

  double product(const std::vector<double>& P, std::vector<double>* S) override {
    P_ = &P;
    products_->weigh(P, W_);
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
        for_entries_of(rows[r], [&](std::size_t e, std::int32_t j) { change_[r].push_back({j, gamma * (*P_)[e]}); });
      }
      if (block_rows() > 1) load(rows, block_S_, block_G_);  // adding is for the block that was loaded
      plain_->add(rows, change_);
    });
  }

 private:
  template <class Body>
  void for_blocks(const Body& body) {
    const auto size = static_cast<std::size_t>(block_rows());
    for (std::size_t first = 0; first < rows_.size(); first += size) {
      body(std::span<const std::int64_t>(rows_).subspan(first, std::min(size, rows_.size() - first)));
    }
  }

  template <class Body>
  void for_entries_of(std::int64_t i, const Body& body) const {
    const auto at = static_cast<std::size_t>(i);
    for (std::int64_t e = entries_->row_begin[at]; e < entries_->row_begin[at + 1]; ++e) {
      body(static_cast<std::size_t>(e), entries_->column[static_cast<std::size_t>(e)]);
    }
  }

  const Problem& problem_;
  const bool gram_;
  const std::shared_ptr<const ClassMap> map_;
  const std::unique_ptr<BlockScores> plain_;
  const std::unique_ptr<Engine> sums_;  // for the plain W(A)
  const std::unique_ptr<EntryProducts> products_;
  const int threads_;
  SingleThreadedBlas blas_;
  std::vector<double> scratch_;

  const EntryList* entries_ = nullptr;
  const std::vector<double>* P_ = nullptr;  // of the last product
  std::vector<std::int64_t> rows_;          // that have entries
  std::vector<double> W_, V_, block_S_, block_G_;
  std::vector<SparseRow> change_;
};

}  // namespace

ClassMap::ClassMap(const FeatureView& phi) {
  std::visit([&](const auto& view) { m_ = view.rows, p_ = view.cols; }, phi);
  begin_.assign(static_cast<std::size_t>(m_ + 1), 0);
  for_nonzeros(phi, [&](std::int64_t j, std::int64_t c, double value) {
    ++begin_[static_cast<std::size_t>(j) + 1];
    column_.push_back(static_cast<std::int32_t>(c));
    value_.push_back(value);
  });
  for (std::size_t j = 1; j < begin_.size(); ++j) begin_[j] += begin_[j - 1];
  if (4.0 * static_cast<double>(value_.size()) > static_cast<double>(m_) * static_cast<double>(p_)) {
    dense_.assign(static_cast<std::size_t>(m_ * p_), 0.0);
    transposed_ = dense_;
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      dense_[static_cast<std::size_t>(j * p_ + c)] = transposed_[static_cast<std::size_t>(c * m_ + j)] = value;
    });
  }
}

void ClassMap::prepare_products() {
  constexpr double most_bytes = 256e6;
  const double m = static_cast<double>(m_);
  if (!K_.empty() || m * m > 4.0 * static_cast<double>(value_.size()) || 8.0 * m * m > most_bytes) return;
  std::vector<double> K(static_cast<std::size_t>(m_ * m_));
  if (!dense_.empty()) {
    const SingleThreadedBlas blas;
    multiply_transposed(m_, m_, p_, dense_.data(), p_, dense_.data(), p_, K.data(), m_);
  } else {
    std::vector<double> row, scratch;
    for (std::int64_t j = 0; j < m_; ++j) {
      spread({{static_cast<std::int32_t>(j), 1.0}}, row, scratch);
      std::copy(row.begin(), row.end(), K.begin() + j * m_);
    }
  }
  K_ = std::move(K);
}

double ClassMap::longest2() const {
  std::vector<double> lengths2(static_cast<std::size_t>(m_), 0.0);
  for_stored(
      [&](std::int64_t j, std::int64_t, double value) { lengths2[static_cast<std::size_t>(j)] += value * value; });
  return *std::max_element(lengths2.begin(), lengths2.end());
}

// The largest sum of a row of |phi| |phi|^T bounds the norm.
double ClassMap::coupling() const {
  const double longest = longest2();
  if (!(longest > 0.0)) return 1.0;
  std::vector<double> columns(static_cast<std::size_t>(p_), 0.0), rows(static_cast<std::size_t>(m_), 0.0);
  for_stored(
      [&](std::int64_t, std::int64_t c, double value) { columns[static_cast<std::size_t>(c)] += std::abs(value); });
  for_stored([&](std::int64_t j, std::int64_t c, double value) {
    rows[static_cast<std::size_t>(j)] += std::abs(value) * columns[static_cast<std::size_t>(c)];
  });
  const double largest = *std::max_element(rows.begin(), rows.end());
  return std::max(1.0, largest / longest);
}

void ClassMap::lift(const std::vector<double>& V, std::vector<double>& W, int threads) const {
  const std::int64_t D = static_cast<std::int64_t>(V.size()) / p_;
  W.assign(static_cast<std::size_t>(m_ * D), 0.0);
  for_strips(D, value_.size(), threads, [&](std::int64_t from, std::int64_t to) {
    if (!dense_.empty()) {
      multiply(m_, to - from, p_, dense_.data(), p_, V.data() + from, D, W.data() + from, D);
      return;
    }
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      add_scaled(value, V.data() + c * D + from, to - from, W.data() + j * D + from);
    });
  });
}

void ClassMap::reduce(const std::vector<double>& W, std::vector<double>& V, int threads) const {
  const std::int64_t D = static_cast<std::int64_t>(W.size()) / m_;
  V.assign(static_cast<std::size_t>(p_ * D), 0.0);
  for_strips(D, value_.size(), threads, [&](std::int64_t from, std::int64_t to) {
    if (!dense_.empty()) {
      multiply(p_, to - from, m_, transposed_.data(), m_, W.data() + from, D, V.data() + from, D);
      return;
    }
    for_stored([&](std::int64_t j, std::int64_t c, double value) {
      add_scaled(value, W.data() + j * D + from, to - from, V.data() + c * D + from);
    });
  });
}

void ClassMap::couple(std::vector<double>& rows, std::vector<double>& scratch) const {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / m_;
  if (!K_.empty()) {
    scratch.resize(rows.size());
    multiply_transposed(count, m_, m_, rows.data(), m_, K_.data(), m_, scratch.data(), m_);
    rows.swap(scratch);
    return;
  }
  for (std::int64_t r = 0; r < count; ++r) {
    double* const row = rows.data() + r * m_;
    scratch.assign(static_cast<std::size_t>(p_), 0.0);
    for_stored(
        [&](std::int64_t j, std::int64_t c, double value) { scratch[static_cast<std::size_t>(c)] += value * row[j]; });
    std::fill(row, row + m_, 0.0);
    for_stored(
        [&](std::int64_t j, std::int64_t c, double value) { row[j] += value * scratch[static_cast<std::size_t>(c)]; });
  }
}

void ClassMap::spread(const SparseRow& change, std::vector<double>& scores, std::vector<double>& scratch) const {
  scores.assign(static_cast<std::size_t>(m_), 0.0);
  if (!K_.empty()) {
    for (const auto& [j, value] : change) add_scaled(value, K_.data() + j * m_, m_, scores.data());
    return;
  }
  for (const auto& [j, value] : change) scores[static_cast<std::size_t>(j)] = value;
  couple(scores, scratch);
}

bool is_identity(const FeatureView& phi) {
  std::int64_t m = 0, p = 0, ones = 0;
  std::visit([&](const auto& view) { m = view.rows, p = view.cols; }, phi);
  bool only_ones = m == p;
  for_nonzeros(phi, [&](std::int64_t j, std::int64_t c, double value) {
    only_ones = only_ones && j == c && value == 1.0;
    ++ones;
  });
  return only_ones && ones == m;
}

std::unique_ptr<Engine> make_class_engine(const Problem& problem, std::shared_ptr<const ClassMap> map, int threads) {
  return std::make_unique<ClassEngine>(problem, std::move(map), make_cpu_engine(problem, threads), threads);
}

std::unique_ptr<BlockScores> make_class_scores(const Problem& problem, std::shared_ptr<const ClassMap> map,
                                               std::unique_ptr<BlockScores> plain, bool gram, int threads) {
  return std::make_unique<ClassScores>(problem, std::move(map), std::move(plain), gram, threads);
}

}  // namespace topwolf
