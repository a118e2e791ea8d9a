// LIBLINEAR's text format for models, read: every classifier, one-vector binary models as two opposite rows. Refuses
// regression and one-class models. Ties go to the lower class, where liblinear-predict takes the first in the file.
#include "model/liblinear_format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/fail.hpp"

namespace topwolf {

namespace {

constexpr std::string_view first_word = "solver_type";
constexpr std::string_view crammer_singer = "MCSVM_CS";
constexpr std::array<std::string_view, 8> classifiers = {
    "L2R_LR",       "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL",
    crammer_singer, "L1R_L2LOSS_SVC",      "L1R_LR",         "L2R_LR_DUAL"};
constexpr std::string_view white_space = " \t\r\n";

// Words between white space, as LIBLINEAR reads its models, and where they stand.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  template <class... Args>
  [[noreturn]] void fail_here(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::data, "{}:{}:{}: {}", path_, line_, begin_ - line_begin_ + 1,
         fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view word(std::string_view what) {
    skip_white_space();
    if (begin_ == text_.size()) fail_here("the file ends where {} should stand", what);
    end_ = std::min(text_.find_first_of(white_space, begin_), text_.size());
    return text_.substr(begin_, end_ - begin_);
  }

  template <class T>
  T number(std::string_view what, T least, T most) {
    const std::string_view token = word(what);
    T value{};
    const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || stop != token.data() + token.size() || !(least <= value && value <= most)) {
      fail_here("{} should be a number from {} to {}, not '{}'", what, least, most, token.substr(0, 40));
    }
    return value;
  }
  double real(std::string_view what) {
    return number(what, std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
  }

  // A file cannot hold more words than half its bytes: claims beyond that must not allocate.
  void check_claim(std::int64_t words, std::string_view what) const {
    if (words > static_cast<std::int64_t>((text_.size() - end_ + 1) / 2)) {
      fail_here("{} {} are claimed, more than the rest of the file can hold", words, what);
    }
  }

  void expect_end() {
    if (end_ == text_.size()) fail_here("the file ends within its last number");
    skip_white_space();
    if (begin_ != text_.size()) fail_here("the weights are complete, but the file goes on");
  }

 private:
  void skip_white_space() {
    for (begin_ = end_; begin_ < text_.size() && white_space.find(text_[begin_]) != white_space.npos; ++begin_) {
      if (text_[begin_] != '\n') continue;
      ++line_;
      line_begin_ = begin_ + 1;
    }
    end_ = begin_;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t begin_ = 0;  // of the last word
  std::size_t end_ = 0;
  std::size_t line_begin_ = 0;
  std::int64_t line_ = 1;
};

struct Header {
  std::string_view solver;
  std::optional<std::int64_t> class_count;
  std::vector<int> labels;
  std::optional<std::int64_t> feature_count;
  std::optional<double> bias;

  bool complete() const { return !solver.empty() && !labels.empty() && feature_count && bias; }
};

std::vector<int> read_labels(Scanner& scanner, std::int64_t count) {
  scanner.check_claim(count, "labels");
  std::vector<int> labels;
  for (std::int64_t i = 0; i < count; ++i) {
    labels.push_back(scanner.number("a label", std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  return labels;
}

std::string_view read_solver(Scanner& scanner) {
  const std::string_view solver = scanner.word("the solver");
  if (std::find(classifiers.begin(), classifiers.end(), solver) == classifiers.end()) {
    scanner.fail_here("the solver '{}' is none of LIBLINEAR's classifiers ({})", solver.substr(0, 40),
                      fmt::join(classifiers, ", "));
  }
  return solver;
}

Header read_header(Scanner& scanner) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  Header header;
  while (true) {
    const std::string_view key = scanner.word("a key or the weights");
    if (key == first_word && header.solver.empty()) {
      header.solver = read_solver(scanner);
    } else if (key == "nr_class" && !header.class_count) {
      header.class_count = scanner.number<std::int64_t>("nr_class", 2, most);
    } else if (key == "label" && header.class_count && header.labels.empty()) {
      header.labels = read_labels(scanner, *header.class_count);
    } else if (key == "nr_feature" && !header.feature_count) {
      header.feature_count = scanner.number<std::int64_t>("nr_feature", 0, most);
    } else if (key == "bias" && !header.bias) {
      header.bias = scanner.real("bias");
    } else if (key == "w" && header.complete()) {
      return header;
    } else {
      scanner.fail_here("'{}' is unknown, comes twice or comes before solver_type, nr_class, label, nr_feature or bias",
                        key.substr(0, 40));
    }
  }
}

// order[j] is the place in the file of the class that is our number j.
std::vector<std::size_t> order_by_value(const std::vector<int>& labels, const Scanner& scanner) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
  for (std::size_t j = 1; j < order.size(); ++j) {
    if (labels[order[j - 1]] == labels[order[j]]) scanner.fail_here("the label {} comes twice", labels[order[j]]);
  }
  return order;
}

// W from the file's weights, one line of `vectors` numbers per feature. With two classes liblinear-predict looks at the
// sign of the first score alone, so the second row is its opposite, whatever the file says; a binary solver's single
// vector is halved so that the scores differ by LIBLINEAR's decision value.
void read_weights(Scanner& scanner, std::int64_t vectors, std::int64_t lines, const std::vector<std::size_t>& order,
                  Classifier& model) {
  const std::int64_t m = model.m();
  std::vector<double> line(static_cast<std::size_t>(std::max(m, vectors)));
  model.W.resize(static_cast<std::size_t>(m * model.D()));
  for (std::int64_t f = 0; f < lines; ++f) {
    for (std::int64_t v = 0; v < vectors; ++v) line[v] = scanner.real("a weight");
    if (vectors == 1) line[0] /= 2.0;
    if (m == 2) line[1] = -line[0];
    if (f >= model.D()) continue;  // the weights of a constant feature that is 0
    for (std::int64_t j = 0; j < m; ++j) model.W[j * model.D() + f] = line[order[j]];
  }
}

}  // namespace

bool looks_like_liblinear(std::string_view text) {
  return text.starts_with(first_word);
}

Model parse_liblinear(std::string_view text, const std::string& path) {
  Scanner scanner(text, path);
  const Header header = read_header(scanner);
  const std::vector<std::size_t> order = order_by_value(header.labels, scanner);
  const std::int64_t vectors = *header.class_count == 2 && header.solver != crammer_singer ? 1 : *header.class_count;
  const std::int64_t lines = *header.feature_count + (*header.bias >= 0.0 ? 1 : 0);
  scanner.check_claim(vectors * lines, "weights");

  Model model;
  model.d = *header.feature_count;
  model.bias = std::max(*header.bias, 0.0);
  model.precision = Precision::float64;
  for (const std::size_t place : order) model.classes.names.push_back(fmt::to_string(header.labels[place]));
  read_weights(scanner, vectors, lines, order, model);
  scanner.expect_end();
  return model;
}

}  // namespace topwolf
