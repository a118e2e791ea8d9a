// What held-out rows are judged by, as text and back.

#include "report/metric.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/fail.hpp"

namespace topwolf {
namespace {

// All of the text, or nothing.
template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

// "top5" or "cost".
std::optional<std::int64_t> place_of(std::string_view name) {
  if (name == "cost") return 0;
  if (!name.starts_with("top")) return std::nullopt;
  const auto k = number_of<std::int64_t>(name.substr(3));
  return k && *k >= 1 ? k : std::nullopt;
}

// "top5" or "0.3*top5".
std::optional<MetricTerm> term_of(std::string_view text) {
  const auto star = text.find('*');
  const bool weighted = star != std::string_view::npos;
  const auto weight = weighted ? number_of<double>(trimmed(text.substr(0, star))) : std::optional(1.0);
  const auto k = place_of(trimmed(weighted ? text.substr(star + 1) : text));
  return weight && k ? std::optional(MetricTerm{*k, *weight}) : std::nullopt;
}

std::string name_of(std::int64_t k) {
  return k == 0 ? "cost" : fmt::format("top{}", k);
}

}  // namespace

bool Metric::costs() const {
  return std::any_of(terms.begin(), terms.end(), [](const MetricTerm& term) { return term.k == 0; });
}

std::int64_t Metric::largest_k() const {
  std::int64_t largest = 0;
  for (const MetricTerm& term : terms) largest = std::max(largest, term.k);
  return largest;
}

void check(const Metric& metric) {
  if (metric.terms.empty()) fail(ErrorKind::option, "{} names no error", Field{"metric"});
  for (auto term = metric.terms.begin(); term != metric.terms.end(); ++term) {
    if (term->k < 0) fail(ErrorKind::option, "a k of {} is {}, but it must be at least 1", Field{"metric"}, term->k);
    if (!std::isfinite(term->weight) || term->weight <= 0.0) {
      fail(ErrorKind::option, "{} gives {} the weight {}, but it must be finite and above 0", Field{"metric"},
           name_of(term->k), term->weight);
    }
    if (std::any_of(metric.terms.begin(), term, [&](const MetricTerm& other) { return other.k == term->k; })) {
      fail(ErrorKind::option, "{} names {} twice", Field{"metric"}, name_of(term->k));
    }
  }
}

Metric parse_metric(std::string_view text) {
  Metric metric;
  metric.terms.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    const std::optional<MetricTerm> term = term_of(text.substr(begin, end - begin));
    if (!term) {
      fail(ErrorKind::option,
           "{} is '{}', but it must be top1, top5 or top with any other number, cost, or a mix of them such as "
           "0.7*top1+0.3*top5",
           Field{"metric"}, text);
    }
    metric.terms.push_back(*term);
    begin = end + 1;
  }
  check(metric);
  double largest = 0.0, sum = 0.0;  // the weights may add up to more than a double holds
  for (const MetricTerm& term : metric.terms) largest = std::max(largest, term.weight);
  for (const MetricTerm& term : metric.terms) sum += term.weight / largest;
  for (MetricTerm& term : metric.terms)
    term.weight = std::max(term.weight / largest / sum, std::numeric_limits<double>::min());
  return metric;
}

std::string to_string(const Metric& metric) {
  const bool alike = std::all_of(metric.terms.begin(), metric.terms.end(),
                                 [&](const MetricTerm& term) { return term.weight == metric.terms.front().weight; });
  std::string text;
  for (const MetricTerm& term : metric.terms) {
    if (!text.empty()) text += '+';
    text += alike ? name_of(term.k) : fmt::format("{:.6g}*{}", term.weight, name_of(term.k));
  }
  return text;
}

}  // namespace topwolf
