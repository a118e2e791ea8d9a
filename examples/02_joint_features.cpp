// A joint feature map of one's own: what a text and the name of a label have in common. Because nothing in psi is tied
// to one label, labels that no training text had can be scored as well.

#include <cctype>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <topwolf/topwolf.hpp>
#include <vector>

namespace {

using Tokens = std::set<std::string>;

// Words, cut to their first four letters: "insured" and "insurance" meet.
Tokens tokens_of(const std::string& text) {
  Tokens tokens;
  std::istringstream words(text);
  for (std::string word; words >> word;) tokens.insert(word.substr(0, 4));
  return tokens;
}

// psi(x, j): how many words the text shares with the name of label j, that number over the length of the name, and for
// every word of any name whether it is shared.
class TokenOverlap {
 public:
  TokenOverlap(const std::vector<std::string>& texts, const std::vector<std::string>& labels,
               std::map<std::string, std::int64_t>& word_number)
      : word_number_(word_number) {
    for (const std::string& text : texts) texts_.push_back(tokens_of(text));
    for (const std::string& label : labels) labels_.push_back(tokens_of(label));
    for (const Tokens& label : labels_) {
      for (const std::string& word : label) word_number_.emplace(word, static_cast<std::int64_t>(word_number_.size()));
    }
  }

  std::int64_t examples() const { return static_cast<std::int64_t>(texts_.size()); }
  std::int64_t classes() const { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t dimension() const { return 2 + static_cast<std::int64_t>(word_number_.size()); }

  void scores(std::int64_t i, std::span<const double> w, std::span<double> s) const {
    for (std::int64_t j = 0; j < classes(); ++j) {
      double sum = 0.0;
      for_features(i, j, [&](std::size_t feature, double value) { sum += w[feature] * value; });
      s[static_cast<std::size_t>(j)] = sum;
    }
  }

  void accumulate(std::int64_t i, std::span<const topwolf::Entry> alpha, std::span<double> sum) const {
    for (const auto& [j, a] : alpha) {
      for_features(i, j, [&, a = a](std::size_t feature, double value) { sum[feature] += a * value; });
    }
  }

 private:
  template <class Body>
  void for_features(std::int64_t i, std::int64_t j, const Body& body) const {
    const Tokens &text = texts_[static_cast<std::size_t>(i)], &label = labels_[static_cast<std::size_t>(j)];
    double shared = 0.0;
    for (const std::string& word : label) {
      if (!text.contains(word)) continue;
      shared += 1.0;
      body(2 + static_cast<std::size_t>(word_number_.at(word)), 1.0);
    }
    body(0, shared);
    body(1, shared / static_cast<double>(label.size()));
  }

  std::vector<Tokens> texts_, labels_;
  std::map<std::string, std::int64_t>& word_number_;
};

}  // namespace

int main() {
  std::map<std::string, std::int64_t> words;  // shared by training and prediction
  const std::vector<std::string> labels{"car insurance", "car loan", "home insurance", "home loan", "credit card"};
  const std::vector<std::string> texts{
      "is my car insured when abroad",     "the insurance of the new car",     "lend me money for a car",
      "a loan to buy a used car",          "water damage in our home insured", "insure a home against fire",
      "borrow for a home loan in spring",  "which home loan has low rates",    "my card was stolen",
      "raise the limit of the credit card"};
  const std::vector<std::string> later{"travel insurance", "car insurance", "travel card"};
  for (const std::string& label : later) {
    for (const std::string& word : tokens_of(label)) words.emplace(word, static_cast<std::int64_t>(words.size()));
  }
  const TokenOverlap psi(texts, labels, words);

  topwolf::TrainOptions options;
  options.C = 10.0;
  const topwolf::JointResult result = topwolf::train_joint(psi, {{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, {}, {}}, options);
  std::printf("%s after %lld passes: objective %.4f, relative gap %.1e\n",
              std::string(topwolf::to_string(result.status)).c_str(), static_cast<long long>(result.iterations),
              result.certificate.primal, result.certificate.relative_gap());

  // Two of these labels were never seen.
  const TokenOverlap other({"insured while i travel"}, later, words);
  const std::vector<double> scores = topwolf::joint_scores(other, result.w);
  for (std::size_t j = 0; j < later.size(); ++j) std::printf("%-18s %7.3f\n", later[j].c_str(), scores[j]);
  return 0;
}
