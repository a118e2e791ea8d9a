// topwolf convert: data from one format to another, models from and to LIBLINEAR's.
#include "commands.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "data_options.hpp"
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

void convert_data(const Arguments& arguments, const std::string& from, const std::string& to) {
  if (arguments.has("to"))
    fail(ErrorKind::option, "--to is for models, but {} is data, whose format follows from the name {}", from, to);
  const LoadOptions options = load_options(arguments, from);
  const std::string labels = arguments.text("output-labels");
  if (!labels.empty()) {
    check_output(arguments, labels, {from, options.labels_path});
    check_different({to, labels});
  }
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
