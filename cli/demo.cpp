// topwolf demo: two losses on generated data, side by side. What it shows is what train and evaluate would show.
#include <fmt/format.h>

#include "commands.hpp"
#include "core/escape.hpp"
#include "data_options.hpp"
#include "demo_data.hpp"
#include "problem_options.hpp"
#include "report/progress.hpp"
#include "signals.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

const std::vector<std::int64_t> places{1, 3, 5, 10};

TrainResult train_one(const Arguments& arguments, const Dataset& data, const std::string& loss) {
  TrainOptions options;
  options.should_stop = [] { return held_signal() != 0; };
  options.loss = parse_loss(loss);
  options.threads = threads_of(arguments);
  print(fmt::format("\n{} at C = 1\n", describe_loss(options.loss)));
  finish_output();
  ProgressTable table(stderr, progress_style(), target_gap(options));
  TrainResult result = train(data, options, [&](const IterationRecord& record) {
    if (!arguments.has("quiet")) table.observe(record);
    return held_signal() == 0;
  });
  table.finish();
  print(fmt::format("{} in {:.1f} s: {}\n", status_sentence(result.status, result.iterations), result.seconds,
                    certificate_sentence(result.certificate)));
  result.model.provenance.command = arguments.command_line();
  return result;
}

std::string errors_row(std::string_view name, const Classifier& classifier, const Dataset& test, int threads) {
  std::string row = fmt::format("{:<16}", name);
  for (const double error : top_k_errors(Predictor(classifier), test.X, test.y, places, threads))
    row += fmt::format("{:>9.1f} %", 100.0 * error);
  return row + "\n";
}

}  // namespace

int run_demo(const Arguments& arguments) {
  const std::string path = arguments.has("output") ? arguments.text("output") : "demo.topwolf";
  check_output(arguments, path, {}, model_format);
  const std::uint64_t seed = seed_of(arguments);
  const DemoData data = generate_demo_data(seed);
  print(
      fmt::format("generated (seed {}): {} classes in {} groups of {} look-alikes, {} features, {} + {} rows a class\n",
                  seed, data.train.classes.size(), demo_groups, demo_classes_a_group, demo_features, demo_rows_a_class,
                  demo_rows_a_class));
  hold_signals();
  const TrainResult max_hinge = train_one(arguments, data.train, "max-hinge");
  if (held_signal() != 0) return 128 + held_signal();
  const TrainResult usunier = train_one(arguments, data.train, "usunier:20");
  const int threads = threads_of(arguments);
  print(fmt::format("\n{:<16}{:>11}{:>11}{:>11}{:>11}\n", "test error", "top-1", "top-3", "top-5", "top-10"));
  print(errors_row("max-hinge", max_hinge.model, data.test, threads));
  print(errors_row("usunier, k = 20", usunier.model, data.test, threads));
  check_output(arguments, path, {}, model_format);
  save_model(usunier.model, path);
  print(fmt::format("\nusunier's model written to {}; now on your own data:\n", escape_controls(path)));
  print("  topwolf train --loss usunier:20 YOUR_TRAINING_DATA my.topwolf\n");
  print("  topwolf evaluate YOUR_TEST_DATA my.topwolf\n");
  if (held_signal() != 0) return 128 + held_signal();
  return max_hinge.status == Status::converged && usunier.status == Status::converged ? 0 : 5;
}

}  // namespace topwolf::cli
