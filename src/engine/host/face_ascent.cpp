#include "engine/host/face_ascent.hpp"

#include <algorithm>
#include <array>

#include "core/threads.hpp"

namespace topwolf {
namespace {

constexpr std::int64_t rows_per_task = 256;

}  // namespace

FaceAscent::FaceAscent(const Problem& problem, FaceScores& scores, const std::vector<double>& lengths2, int threads)
    : problem_(problem),
      scores_(scores),
      lengths2_(lengths2),
      threads_(threads),
      groups_(static_cast<std::size_t>(problem.n)) {
  free_.row_begin.resize(static_cast<std::size_t>(problem.n) + 1);
}

double FaceAscent::ascend(HostDual& A, const std::function<void()>& pause) {
  find_face(A);
  if (free_.size() == 0) return 0.0;
  conjugate_gradients(pause);
  // The step may leave the face; then rows are put back into Q, and what is left of it can be a poor direction. A
  // shorter one leaves less.
  constexpr std::array lengths{1.0, 0.4, 0.16};
  for (const double length : lengths) {
    const Line line = move_rows(A, length);
    // The whole step is better than the best part of it, which would leave entries near 0 that belong at 0.
    const double gamma = line.gain(1.0) > 0.0 ? 1.0 : (length == lengths.back() ? line.gamma() : 0.0);
    if (!(line.gain(gamma) > 0.0)) continue;
    take(A, gamma);
    if (length == 1.0) iterations_ = std::min(most_iterations, 2 * iterations_);
    if (gamma < 1.0) iterations_ = std::max(fewest_iterations, iterations_ / 2);
    return line.gain(gamma) / problem_.N;
  }
  iterations_ = std::max(fewest_iterations, iterations_ / 2);
  return 0.0;
}

// An entry takes a handful of multiplications.
int FaceAscent::threads() const {
  return threads_worth(8.0 * static_cast<double>(free_.size()), threads_);
}

template <class Body>
void FaceAscent::for_rows(const Body& body) const {
  parallel_for((problem_.n + rows_per_task - 1) / rows_per_task, threads(), [&](std::int64_t task) {
    const std::int64_t end = std::min(problem_.n, (task + 1) * rows_per_task);
    for (std::int64_t i = task * rows_per_task; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (groups_[at] > 0) body(at);
    }
  });
}

template <class Body>
double FaceAscent::sum_rows(const Body& body) const {
  return parallel_sum(problem_.n, threads(), rows_per_task, [&](std::int64_t from, std::int64_t to) {
    double sum = 0.0;
    for (std::int64_t i = from; i < to; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (groups_[at] > 0) sum += problem_.weight(i) * body(at);
    }
    return sum;
  });
}

// Rows whose curvature is nothing beside that of others would take steps without end; their own visits place them.
double FaceAscent::least_curvature() const {
  double largest = 0.0;
  for (std::int64_t i = 0; i < problem_.n; ++i) {
    largest = std::max(largest, problem_.factor(i) * lengths2_[static_cast<std::size_t>(i)]);
  }
  constexpr double nothing = 0x1p-40;
  return nothing * largest;
}

// The free entries, and the gradient along them.
void FaceAscent::find_face(const HostDual& A) {
  RowScratch scratch;
  Face face;
  free_.column.clear();
  group_.clear();
  along_.clear();
  residual_.clear();
  const double least = least_curvature();
  for (std::int64_t row = 0; row < problem_.n; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const RowView alpha = A[row];
    groups_[i] = 0;
    if (!alpha.empty() && problem_.weight(row) > 0.0 && problem_.factor(row) * lengths2_[i] > least) {
      topwolf::find_face(problem_.loss, problem_.label(row), alpha, face, scratch);
      groups_[i] = 1 + *std::max_element(face.group.begin(), face.group.end());
    }
    if (groups_[i] > 0) {  // the other entries come along: putting the row back into Q can move them
      for (std::size_t e = 0; e < face.group.size(); ++e) {
        free_.column.push_back(alpha[e].column);
        group_.push_back(face.group[e]);
        along_.push_back(face.along.empty() ? 0.0 : face.along[e]);
        residual_.push_back(alpha[e].value);
      }
    }
    free_.row_begin[i + 1] = static_cast<std::int64_t>(free_.size());
  }
  // The gradient is kept whole, for the slope of the step; what conjugate gradients start from is its part in the face.
  scores_.set_entries(free_);
  scores_.entry_scores(product_);
  gradient_.resize(free_.size());
  for_rows([&](std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    const RowMargins delta = problem_.margins(row);
    for (std::size_t e = free_.begin(i); e < free_.end(i); ++e) {
      gradient_[e] =
          -margin(delta, free_.column[e], problem_.label(row)) - product_[e] - problem_.loss.smoothing * residual_[e];
      residual_[e] = gradient_[e];
    }
    centre(i, residual_);
  });
}

// The part of a row that lies in the face (L7): what sums to 0 in every group and vanishes outside of them, and what
// lies along the direction besides, which is orthogonal to that.
void FaceAscent::centre(std::size_t i, std::vector<double>& values) const {
  const std::size_t begin = free_.begin(i), end = free_.end(i);
  double dot = 0.0, along2 = 0.0;
  for (std::size_t e = begin; e < end; ++e) {
    dot += along_[e] * values[e];
    along2 += along_[e] * along_[e];
  }
  // Some groups at a time: a row of the top-k losses can have as many as it has entries.
  constexpr std::int32_t at_once = 16;
  for (std::int32_t first = 0; first < groups_[i]; first += at_once) {
    std::array<double, at_once> sum{}, count{};
    const auto body = [&](const auto& of_group) {
      for (std::size_t e = begin; e < end; ++e) {
        const std::int32_t g = group_[e] - first;
        if (g >= 0 && g < at_once) of_group(e, static_cast<std::size_t>(g));
      }
    };
    body([&](std::size_t e, std::size_t g) { sum[g] += values[e], count[g] += 1.0; });
    body([&](std::size_t e, std::size_t g) { values[e] -= sum[g] / count[g]; });
  }
  for (std::size_t e = begin; e < end; ++e) {
    if (group_[e] < 0) values[e] = 0.0;
    if (along2 > 0.0) values[e] += dot / along2 * along_[e];
  }
}

// Preconditioned by the diagonal h_i = q_i + smoothing; total_ becomes the step.
void FaceAscent::conjugate_gradients(const std::function<void()>& pause) {
  constexpr double enough = 1e-2;  // of the squared residual at the start
  const double smoothing = problem_.loss.smoothing;
  const auto h = [&](std::size_t i) {
    return problem_.factor(static_cast<std::int64_t>(i)) * lengths2_[i] + smoothing;
  };
  // sum omega <a, b> over the entries, each row through body(i, e).
  const auto sum_entries = [&](const auto& body) {
    return sum_rows([&](std::size_t i) {
      double sum = 0.0;
      for (std::size_t e = free_.begin(i); e < free_.end(i); ++e) {
        sum += body(i, e);
      }
      return sum;
    });
  };
  total_.assign(free_.size(), 0.0);
  direction_.resize(free_.size());
  double left = sum_entries([&](std::size_t i, std::size_t e) {
    direction_[e] = residual_[e] / h(i);
    return residual_[e] * direction_[e];
  });
  const double start = left;
  // As many iterations as the last faces were worth: a face that changes soon does not pay for a precise solution.
  for (std::int64_t t = 0; t < iterations_ && left > enough * start; ++t) {
    pause();
    const double direction2 =
        smoothing > 0.0 ? sum_entries([&](std::size_t, std::size_t e) { return direction_[e] * direction_[e]; }) : 0.0;
    const double curvature = scores_.product(direction_, &product_) + smoothing * direction2;
    if (!(curvature > 0.0)) break;
    const double gamma = left / curvature, before = left;
    left = sum_rows([&](std::size_t i) {
      centre(i, product_);
      double sum = 0.0;
      for (std::size_t e = free_.begin(i); e < free_.end(i); ++e) {
        total_[e] += gamma * direction_[e];
        residual_[e] -= gamma * (product_[e] + smoothing * direction_[e]);
        sum += residual_[e] * residual_[e];
      }
      return sum / h(i);
    });
    sum_entries([&](std::size_t i, std::size_t e) {
      direction_[e] = residual_[e] / h(i) + left / before * direction_[e];
      return 0.0;
    });
  }
}

// The step, shortened to `length`, row by row put back into Q.
FaceAscent::Line FaceAscent::move_rows(const HostDual& A, double length) {
  step_.resize(free_.size());
  target_.resize(free_.size());
  Line line{};
  line.slope = parallel_sum(problem_.n, threads(), rows_per_task, [&](std::int64_t from, std::int64_t to) {
    RowScratch scratch;
    SparseRow wanted, moved;
    double sum = 0.0;
    for (std::int64_t i = from; i < to; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (groups_[at] > 0) sum += problem_.weight(i) * move_row(at, A[i], length, wanted, moved, scratch);
    }
    return sum;
  });
  const double step2 = sum_rows([&](std::size_t i) {
    double sum = 0.0;
    for (std::size_t e = free_.begin(i); e < free_.end(i); ++e) {
      sum += step_[e] * step_[e];
    }
    return sum;
  });
  line.curvature = scores_.product(step_, nullptr) + problem_.loss.smoothing * step2;
  return line;
}

// Where the row goes into target_, the change into step_; returns the slope.
double FaceAscent::move_row(std::size_t i, RowView alpha, double length, SparseRow& wanted, SparseRow& moved,
                            RowScratch& scratch) {
  const std::size_t begin = free_.begin(i);
  wanted.assign(alpha.begin(), alpha.end());
  for (std::size_t e = 0; e < alpha.size(); ++e) wanted[e].value += length * total_[begin + e];
  project_within(problem_.loss, wanted, problem_.label(static_cast<std::int64_t>(i)), moved, scratch);
  double slope = 0.0;
  auto next = moved.begin();
  for (std::size_t e = 0; e < alpha.size(); ++e) {
    const bool kept = next != moved.end() && next->column == alpha[e].column;
    target_[begin + e] = kept ? (next++)->value : 0.0;
    step_[begin + e] = target_[begin + e] - alpha[e].value;
    slope += step_[begin + e] * gradient_[begin + e];
  }
  return slope;
}

// A + gamma step_ lies between two points of Q; a whole step ends exactly where the projection did.
void FaceAscent::take(HostDual& A, double gamma) {
  scores_.add_product(gamma);
  for_rows([&](std::size_t i) {
    const std::size_t begin = free_.begin(i);
    const std::span<Entry> alpha = A.entries(static_cast<std::int64_t>(i));
    for (std::size_t e = 0; e < alpha.size(); ++e) {
      alpha[e].value = gamma == 1.0 ? target_[begin + e] : alpha[e].value + gamma * step_[begin + e];
    }
    A.drop_zeros(static_cast<std::int64_t>(i));
  });
}

}  // namespace topwolf
