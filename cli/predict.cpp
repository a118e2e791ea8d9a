// topwolf predict: the best classes of every row as lines of text.
#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "commands.hpp"
#include "core/fail.hpp"
#include "data_options.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

std::string to_lines(const TopK& best, const ClassList& classes, bool with_scores) {
  std::string text;
  const auto k = static_cast<std::size_t>(best.k);
  for (std::size_t i = 0; i < best.classes.size(); ++i) {
    text += classes.names[static_cast<std::size_t>(best.classes[i])];
    if (with_scores) fmt::format_to(std::back_inserter(text), "\t{:.9g}", best.scores[i]);
    text += (i + 1) % k == 0 ? '\n' : '\t';
  }
  return text;
}

}  // namespace

int run_predict(const Arguments& arguments) {
  const std::string& path = arguments.required_positional(0);
  const std::string output = arguments.text("output");
  const std::int64_t k = arguments.integer("k", 1, std::numeric_limits<std::int64_t>::max()).value_or(1);
  if (!output.empty()) check_output(output, {path, arguments.required_positional(1), arguments.text("labels")});
  const Model model = load_model(arguments.required_positional(1));
  if (k > model.m())
    fail(ErrorKind::data, "-k is {}, but the model has {} classes; 1 to {} is allowed", k, model.m(), model.m());
  Warnings warnings;
  const Features X(load_for_model(arguments, path, model, true, warnings).X);
  const TopK best = predict_top_k(model, X, k, threads_of(arguments));
  write_text(output, to_lines(best, model.classes, arguments.has("scores")));
  return 0;
}

}  // namespace topwolf::cli
