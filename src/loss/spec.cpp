// From what a user asks for to the loss that the solvers use: names, defaults and checks.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/fail.hpp"
#include "loss/oracle.hpp"
#include "topwolf/loss.hpp"

namespace topwolf {
namespace {

void check_rho(const std::vector<double>& rho, std::int64_t m) {
  for (std::size_t r = 0; r < rho.size(); ++r) {
    if (!std::isfinite(rho[r]) || rho[r] < 0.0) {
      fail(ErrorKind::option, "{} must be finite and at least 0, but entry {} is {}", Field{"rho"}, r + 1, rho[r]);
    }
    if (r > 0 && rho[r] > rho[r - 1]) {
      fail(ErrorKind::option, "{} must not increase, but entry {} ({}) is larger than entry {} ({})", Field{"rho"},
           r + 1, rho[r], r, rho[r - 1]);
    }
  }
  if (rho.front() <= 0.0) fail(ErrorKind::option, "the first entry of {} must be above 0", Field{"rho"});
  constexpr double largest_sum = 1e150;  // its square is a double
  const double sum = std::accumulate(rho.begin(), rho.end(), 0.0);
  if (!(sum <= largest_sum))
    fail(ErrorKind::option, "{} sums to {}, but at most {} is allowed", Field{"rho"}, sum, largest_sum);
  for (std::size_t r = static_cast<std::size_t>(m - 1); r < rho.size(); ++r) {
    if (rho[r] > 0.0) {
      fail(ErrorKind::data, "{} is {} at place {}, but with {} classes only the first {} places may be above 0",
           Field{"rho"}, rho[r], r + 1, m, m - 1);
    }
  }
}

std::vector<double> default_rho(std::int64_t m) {
  std::vector<double> rho{5, 4, 3, 2, 1};
  if (static_cast<std::int64_t>(rho.size()) > m - 1) rho.resize(static_cast<std::size_t>(m - 1));
  const double sum = std::accumulate(rho.begin(), rho.end(), 0.0);
  for (double& weight : rho) weight /= sum;
  return rho;
}

std::vector<double> resolve_rho(const LossSpec& spec, std::int64_t m) {
  switch (traits(spec.name).ranks) {
    case Ranks::largest:
      return {1.0};
    case Ranks::mean: {
      const std::int64_t k = spec.k.value_or(std::min<std::int64_t>(5, m - 1));
      if (k < 1) fail(ErrorKind::option, "{} is {}, but it must be at least 1", Field{"k"}, k);
      if (k > m - 1)
        fail(ErrorKind::data, "{} is {}, but with {} classes it must be from 1 to {}", Field{"k"}, k, m, m - 1);
      return std::vector<double>(static_cast<std::size_t>(k), 1.0 / static_cast<double>(k));
    }
    case Ranks::given: {
      if (spec.rho.empty()) return default_rho(m);
      check_rho(spec.rho, m);
      std::vector<double> rho = spec.rho;
      // K counts those that are not 0: everything costs time in K.
      while (rho.back() == 0.0) rho.pop_back();
      return rho;
    }
  }
  fail(ErrorKind::internal, "the loss {} has no weights over the ranks", to_string(spec.name));
}

// Its reach stands where rho does.
Loss resolve_oracle(const LossSpec& spec, std::int64_t m) {
  if (!spec.oracle) {
    fail(ErrorKind::data, "the loss {} is known by its oracle alone, which is a program's own and not here",
         spec.title);
  }
  check_oracle(*spec.oracle, m);
  Loss loss;
  loss.rho = {spec.oracle->reach()};
  loss.smoothing = spec.smoothing;
  loss.oracle = spec.oracle;
  loss.classes = m;
  return loss;
}

// 0: the loss has none.
double resolve_temperature(const LossSpec& spec) {
  if (!traits(spec.name).takes_temperature) {
    if (!spec.temperature) return 0.0;
    fail(ErrorKind::option, "the loss {} takes no {}", to_string(spec.name), Field{"temperature"});
  }
  if (spec.smoothing != 0.0) {
    fail(ErrorKind::option, "the loss {} is smooth already and takes no {}; {} says how smooth", to_string(spec.name),
         Field{"smoothing"}, Field{"temperature"});
  }
  constexpr double least = 1e-6, most = 1e6;  // where softmax is the max hinge, and where all classes are alike
  const double temperature = spec.temperature.value_or(1.0);
  if (!(temperature >= least && temperature <= most)) {
    fail(ErrorKind::option, "{} is {}, but it must be between {} and {}", Field{"temperature"}, temperature, least,
         most);
  }
  return temperature;
}

void check_cost_matrix(const std::vector<double>& cost, std::int64_t m) {
  if (static_cast<std::int64_t>(cost.size()) != m * m) {
    fail(ErrorKind::data, "the cost matrix has {} entries, but {} classes need {} x {}", cost.size(), m, m, m);
  }
  for (std::int64_t y = 0; y < m; ++y) {
    for (std::int64_t j = 0; j < m; ++j) {
      const double value = cost[static_cast<std::size_t>(y * m + j)];
      if (!std::isfinite(value) || value < 0.0) {
        fail(ErrorKind::data, "the cost matrix must be finite and at least 0, but row {}, column {} is {}", y + 1,
             j + 1, value);
      }
      if (y == j && value != 0.0) {
        fail(ErrorKind::data, "the cost matrix must have a zero diagonal, but row {} has {} there", y + 1, value);
      }
    }
  }
}

}  // namespace

std::string to_string(const LossSpec& spec) {
  std::string text(spec.name == LossName::oracle ? spec.title : to_string(spec.name));
  if (spec.k) text += fmt::format(":{}", *spec.k);
  if (!spec.rho.empty() && spec.name != LossName::oracle) text += fmt::format(" ({})", fmt::join(spec.rho, ", "));
  if (spec.temperature) text += fmt::format(", temperature {}", *spec.temperature);
  if (spec.smoothing > 0.0) text += fmt::format(", smoothing {}", spec.smoothing);
  return text;
}

LossSpec parse_loss(std::string_view text) {
  LossSpec spec;
  const auto colon = text.find(':');
  std::string name(text.substr(0, colon));
  std::replace(name.begin(), name.end(), '_', '-');
  const auto known = parse_name<LossName>(name);
  if (!known || *known == LossName::oracle) {
    fail(ErrorKind::option, "unknown loss '{}'; choose one of {}", text, fmt::join(loss_names, ", "));
  }
  spec.name = *known;
  if (colon == std::string_view::npos) return spec;

  const std::string_view digits = text.substr(colon + 1);
  std::int64_t k = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), k);
  if (error != std::errc{} || end != digits.data() + digits.size() || k < 1) {
    fail(ErrorKind::option, "'{}' is not a loss with a k; write it as usunier:20", text);
  }
  if (!traits(spec.name).takes_k()) fail(ErrorKind::option, "the loss {} takes no k, but '{}' was given", name, text);
  spec.k = k;
  return spec;
}

std::string_view condition_of(const LossSpec& spec) {
  return spec.name == LossName::oracle ? ", if the oracle is right" : "";
}

LossSpec loss_by_oracle(std::shared_ptr<const LossOracle> oracle) {
  LossSpec spec;
  spec.name = LossName::oracle;
  spec.title = oracle->name();
  spec.oracle = std::move(oracle);
  return spec;
}

Loss resolve_loss(const LossSpec& spec, std::int64_t m) {
  if (m < 2) fail(ErrorKind::data, "there are {} classes, but a classifier needs at least two", m);
  if (spec.k && !traits(spec.name).takes_k())
    fail(ErrorKind::option, "the loss {} takes no {}", to_string(spec.name), Field{"k"});
  if (!spec.rho.empty() && !traits(spec.name).takes_rho() && spec.name != LossName::oracle) {
    fail(ErrorKind::option, "the loss {} takes no {}; use weighted-top-k or weighted-usunier", to_string(spec.name),
         Field{"rho"});
  }
  // Below, the envelope is the loss, and (c - s) / smoothing overflows; above, the square of alpha vanishes.
  constexpr double least_smoothing = 1e-12, most_smoothing = 1e100;
  if (!(spec.smoothing == 0.0 || (spec.smoothing >= least_smoothing && spec.smoothing <= most_smoothing))) {
    fail(ErrorKind::option, "{} is {}, but it must be 0, or between {} and {}", Field{"smoothing"}, spec.smoothing,
         least_smoothing, most_smoothing);
  }
  if (!spec.cost_matrix.empty()) check_cost_matrix(spec.cost_matrix, m);
  const double temperature = resolve_temperature(spec);
  if (spec.name == LossName::oracle) return resolve_oracle(spec, m);
  Loss loss{traits(spec.name).family, resolve_rho(spec, m), spec.smoothing, temperature};
  return loss;
}

}  // namespace topwolf
