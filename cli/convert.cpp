// topwolf convert: data from one format to another, models from and to LIBLINEAR's.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "commands.hpp"
#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "data_options.hpp"
#include "problem_options.hpp"
#include "terminal.hpp"
#include "topwolf/topwolf.hpp"

namespace topwolf::cli {
namespace {

void convert_model(const Arguments& arguments, const std::string& from, const std::string& to) {
  for (const auto* name : {"labels", "label-column", "output-labels"})
    if (arguments.has(name)) fail(ErrorKind::option, "--{} is for data, but {} is a model", name, from);
  const bool native = arguments.has("to") ? arguments.choice("to") == "topwolf" : to.ends_with(".topwolf");
  const Model model = load_model(from);
  if (native) {
    save_model(model, to);
  } else {
    save_liblinear(model, to);
  }
}

// A few sparse rows of many columns may be terabytes as a dense file.
void check_size(const Arguments& arguments, const RawDataset& raw, const std::string& to) {
  constexpr std::int64_t large = std::int64_t{1} << 30;
  const std::int64_t bytes = least_written(raw, to);
  const bool sparse = std::visit(
      [](const auto& X) {
        return requires {
          X.row_begin;
        };
      },
      raw.X);
  if (sparse && writes_dense(to) && bytes > large && !arguments.has("yes"))
    fail(ErrorKind::option,
         "{} would take at least {}, as it holds the zeros of sparse rows too; --yes writes it, and .npz, .twd "
         "and "
         ".svm leave them out",
         to, describe_bytes(static_cast<double>(bytes)));
  check_disk(to, bytes);
}

std::int64_t least_on_disk(const RowSource& rows) {
  const std::int64_t value = is_half(rows.precision()) ? 2 : rows.precision() == Precision::float32 ? 4 : 8;
  return rows.stored(0, rows.rows()) * value;
}

// Some rows at a time, wherever they can be read so.
void write_rows(const Arguments& arguments, const LoadOptions& options, const std::string& to) {
  CacheOptions cache;
  cache.shuffle = arguments.has("shuffle");
  cache.seed = seed_of(arguments);
  cache.memory = arguments.bytes("memory").value_or(cache.memory);
  cache.threads = options.threads;
  Stopwatch clock;
  double told = 0.0;
  constexpr double quiet_s = 2.0;
  cache.progress = [&](double done) {
    if (arguments.has("quiet") || clock.seconds() - told < quiet_s) return;
    told = clock.seconds();
    narrate(fmt::format("{:.0f} % written\n", 100.0 * done));
  };
  RawDataset raw = open_raw(options);
  check_disk(to, raw.rows ? least_on_disk(*raw.rows) : least_written(raw, to));
  write_cache(std::move(raw), to, cache);
}

void convert_data(const Arguments& arguments, const std::string& from, const std::string& to) {
  if (arguments.has("to"))
    fail(ErrorKind::option, "--to is for models, but {} is data, whose format follows from the name {}", from, to);
  const LoadOptions options = load_options(arguments, from);
  const std::string labels = arguments.text("output-labels");
  if (!labels.empty()) {
    check_output(arguments, labels, {from, options.labels_path});
    check_different({to, labels});
  }
  // What is no file, such as a pipe, is written from front to end.
  std::error_code error;
  const bool file = !std::filesystem::exists(to, error) || std::filesystem::is_regular_file(to, error);
  if (to.ends_with(".twd") && labels.empty() && file) return write_rows(arguments, options, to);
  if (arguments.has("shuffle") || arguments.has("memory"))
    fail(ErrorKind::option, "--shuffle and --memory are for rows that go to a .twd file, but {} is another", to);
  const RawDataset raw = load_raw(options);
  check_size(arguments, raw, to);
  if (to.ends_with(".npy") && labels.empty() && !raw.spelling.empty())
    Warnings().add(fmt::format("{} holds features only: the labels are left out; --output-labels FILE keeps them", to));
  write_dataset(raw, to, labels);
}

}  // namespace

int run_convert(const Arguments& arguments) {
  const std::string& from = arguments.required_positional(0);
  const std::string& to = arguments.required_positional(1);
  check_output(arguments, to, {from, arguments.text("labels")});
  if (is_model_file(from)) {
    convert_model(arguments, from, to);
  } else {
    convert_data(arguments, from, to);
  }
  return 0;
}

}  // namespace topwolf::cli
