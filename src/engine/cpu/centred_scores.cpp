#include "engine/cpu/centred_scores.hpp"

#include <numeric>

namespace topwolf {

CentredScores::CentredScores(const Problem& problem, const std::vector<double>& lengths2, int threads,
                             const MakePlain& plain)
    : problem_(problem),
      lengths2_(lengths2),
      plain_lengths2_(squared_lengths(problem.X, problem.bias, threads)),
      with_mean_(products_with(problem.X, *problem.mean, threads)),
      mean2_(std::inner_product(problem.mean->begin(), problem.mean->end(), problem.mean->begin(), 0.0)),
      plain_(plain(plain_lengths2_)) {
  sums_.clear(problem.m);
}

void CentredScores::Sums::clear(std::int64_t m) {
  v.assign(static_cast<std::size_t>(m), 0.0);
  p.assign(static_cast<std::size_t>(m), 0.0);
}

void CentredScores::Sums::add(double factor, const Sums& other) {
  for (std::size_t j = 0; j < v.size(); ++j) v[j] += factor * other.v[j], p[j] += factor * other.p[j];
}

// What the score of class j lacks.
double CentredScores::correction(const Sums& sums, std::int64_t i, std::int64_t j) const {
  const auto at = static_cast<std::size_t>(j);
  return sums.v[at] * (mean2_ - with_mean(i)) - sums.p[at];
}

double CentredScores::norm2_correction(const Sums& sums) const {
  double sum = 0.0;
  for (std::size_t j = 0; j < sums.v.size(); ++j) sum += sums.v[j] * (sums.v[j] * mean2_ - 2.0 * sums.p[j]);
  return problem_.lambda * problem_.N * sum;
}

void CentredScores::load(std::span<const std::int64_t> rows, std::int64_t group, std::vector<double>& S,
                         std::vector<double>& G) {
  plain_->load(rows, group, S, G);
  double* s = S.data();
  const auto size = static_cast<std::size_t>(group);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double with_row = mean2_ - with_mean(rows[r]);
    for (std::size_t j = 0; j < sums_.v.size(); ++j) *s++ += sums_.v[j] * with_row - sums_.p[j];
    for (std::size_t p = r / size * size; p < r; ++p) G[r * size + p % size] += with_row - with_mean(rows[p]);
    G[r * size + r % size] = lengths2_[static_cast<std::size_t>(rows[r])];
  }
}

double CentredScores::add(std::span<const std::int64_t> rows, const std::vector<SparseRow>& change, double times) {
  const double plain = plain_->add(rows, change, times);
  moved_.clear(problem_.m);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double factor = times * problem_.factor(rows[r]);
    for (const auto& [j, value] : change[r]) moved_.add(j, factor * value, with_mean(rows[r]));
  }
  sums_.add(1.0, moved_);
  return plain + norm2_correction(moved_);
}

void CentredScores::reset(const std::vector<double>& W, const Dual& A) {
  std::vector<double> V = W;
  put_back(*problem_.mean, problem_.bias, V);
  const std::vector<double>& mean = *problem_.mean;
  const auto d = static_cast<std::ptrdiff_t>(mean.size());
  for (std::int64_t j = 0; j < problem_.m; ++j) {
    const auto row = V.begin() + j * (d + 1);
    sums_.v[static_cast<std::size_t>(j)] = row[d] / problem_.bias.value();
    sums_.p[static_cast<std::size_t>(j)] = std::inner_product(row, row + d, mean.begin(), 0.0);
  }
  plain_->reset(V, A);
}

void CentredScores::scale(double factor) {
  plain_->scale(factor);
  if (factor == 0.0) return sums_.clear(problem_.m);
  for (double& v : sums_.v) v *= factor;
  for (double& p : sums_.p) p *= factor;
}

void CentredScores::exchange(State& state) {
  plain_->exchange(state);
  state("mean_v", sums_.v, {problem_.m});
  state("mean_p", sums_.p, {problem_.m});
}

void CentredScores::set_entries(const EntryList& entries) {
  entries_ = &entries;
  plain_->face()->set_entries(entries);
}

void CentredScores::correct_entries(const Sums& sums, std::vector<double>& S) const {
  for_entries(*entries_, [&](std::int64_t i, std::size_t e) { S[e] += correction(sums, i, entries_->column[e]); });
}

void CentredScores::entry_scores(std::vector<double>& S) {
  plain_->face()->entry_scores(S);
  correct_entries(sums_, S);
}

double CentredScores::product(const std::vector<double>& U, std::vector<double>* S) {
  const double plain = plain_->face()->product(U, S);
  along_.clear(problem_.m);
  for_entries(*entries_, [&](std::int64_t i, std::size_t e) {
    along_.add(entries_->column[e], problem_.factor(i) * U[e], with_mean(i));
  });
  if (S) correct_entries(along_, *S);
  return plain + norm2_correction(along_);
}

void CentredScores::add_product(double gamma) {
  plain_->face()->add_product(gamma);
  sums_.add(gamma, along_);
}

}  // namespace topwolf
