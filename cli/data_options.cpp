// Reads nothing itself: the library loads, this file decides with which options.
#include "data_options.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "core/tensor_file.hpp"
#include "core/threads.hpp"
#include "terminal.hpp"
#include "topwolf/structure.hpp"

namespace topwolf::cli {

int threads_of(const Arguments& arguments) {
  return static_cast<int>(arguments.integer("threads", 0, most_threads).value_or(0));
}

std::optional<int> index_base_of(const Arguments& arguments) {
  const std::string base = arguments.choice("index-base");
  if (base == "auto") return std::nullopt;
  return base == "0" ? 0 : 1;
}

LoadOptions load_options(const Arguments& arguments, const std::string& path) {
  LoadOptions options;
  options.path = path;
  options.labels_path = arguments.text("labels");
  options.label_column = arguments.text("label-column");
  options.index_base = index_base_of(arguments);
  if (arguments.has("precision")) options.precision = parse_name<Precision>(arguments.choice("precision"));
  options.label_weights = arguments.has("label-weights");
  options.max_unpacked = arguments.bytes("max-unpacked");
  options.threads = threads_of(arguments);
  return options;
}

void check_places(const Arguments& arguments) {
  const auto& here = command_row(arguments.command());
  const bool last = here.arguments == "MODEL... DATA";
  if (!here.arguments.starts_with("DATA") && !last) return;
  std::error_code error;
  const auto is_model = [&](const std::string& path) {
    return std::filesystem::is_regular_file(path, error) && is_model_file(path);
  };
  const std::string& first = last ? arguments.positionals().back() : arguments.required_positional(0);
  if (!is_model(first)) return;
  const auto second = arguments.positional(1);
  if (here.arguments == "DATA MODEL" && std::filesystem::is_regular_file(*second, error) && !is_model(*second))
    fail(ErrorKind::data, "{} is the model and {} the data; the data comes first: topwolf {} {} {}", first, *second,
         here.name, *second, first);
  fail(ErrorKind::data, "{}: is a model, but {} wants data there; usage: topwolf {} [options] {}", first, here.name,
       here.name, here.arguments);
}

RowOptions row_options(const Arguments& arguments, const std::string& path) {
  RowOptions options{load_options(arguments, path)};
  options.weights = arguments.text("weights");
  options.class_weight = arguments.text("class-weight");
  options.margins = arguments.text("margins");
  options.margin_default = arguments.real("margin-default");
  check(options);
  return options;
}

Model with_asked_classes(const Arguments& arguments, Model model) {
  if (!arguments.has("class-features")) return model;
  if (model.class_features.rows() == 0)
    fail(ErrorKind::data,
         "--class-features names classes for a model that was trained with class features; this one "
         "was not");
  ClassTable table = load_class_table(arguments.text("class-features"), model.class_features.cols(),
                                      index_base_of(arguments), arguments.bytes("max-unpacked"));
  return {with_classes(model, std::move(table.classes), std::move(table.features)), {}};
}

void check_output(const Arguments& arguments, const std::string& path, const std::vector<std::string>& inputs,
                  std::string_view format) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path == "-")
    fail(ErrorKind::option, "- is no file's name here; /dev/stdout is standard output, and ./- is a file of that name");
  for (const auto& input : inputs)
    if (fs::is_regular_file(path, error) && fs::equivalent(path, input == "-" ? "/dev/stdin" : input, error))
      fail(ErrorKind::option, "{} would be written over {}, which is being read; give another name", path,
           input == "-" ? "standard input" : input);
  if (fs::is_directory(path, error)) fail(ErrorKind::io, "{}: cannot be written: it is a folder", path);
  // A regular file is replaced, for which its folder counts; a device or a pipe is written to.
  const bool replaced = !fs::exists(path, error) || fs::is_regular_file(path, error);
  const std::string target = resolve_links(path);
  std::string place = replaced ? folder_of(target) : path;
  if (place.size() > 1 && place.ends_with('/')) place.pop_back();
  // With a slash behind it a file is no folder, rather than one that may not be entered.
  const std::string asked = replaced ? place + "/" : place;
  if (faccessat(AT_FDCWD, asked.c_str(), replaced ? W_OK | X_OK : W_OK, AT_EACCESS) != 0)
    fail(ErrorKind::io, "{}: cannot be written: {}: {}", path, place, std::strerror(errno));
  if (replaced && is_read_only(target) && !arguments.has("force"))
    fail(ErrorKind::io, "{}: cannot be written: it is read-only; --force replaces it", path);
  // A pipe's reader may never come, and a job cannot be resumed from one.
  if (format == checkpoint_format && (fs::is_fifo(path, error) || fs::is_socket(path, error)))
    fail(ErrorKind::io, "{}: cannot be written: a checkpoint must be a file, which can be read again", path);
  const bool holds_something = fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
  if (!format.empty() && holds_something && !arguments.has("force") && TensorFile::format_of(path) != format)
    fail(ErrorKind::io, "{}: cannot be written: it is there already and is no {} file; --force replaces it", path,
         format);
  keep_results_out_of(path);
}

void check_different(const std::vector<std::string>& outputs) {
  namespace fs = std::filesystem;
  std::set<fs::path> places;
  for (const std::string& output : outputs) {
    std::error_code error;
    const fs::path place = fs::weakly_canonical(fs::absolute(resolve_links(output)), error);
    if (error) continue;  // a circle of links, a name that is too long: writing there says so
    if (!places.insert(place).second)
      fail(ErrorKind::option, "{} is named for two outputs; they must be different files", output);
  }
}

void check_disk(const std::string& path, std::int64_t bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return;
  const fs::space_info space = fs::space(fs::weakly_canonical(fs::absolute(path), error).parent_path(), error);
  if (error || static_cast<std::uintmax_t>(bytes) <= space.available) return;
  fail(ErrorKind::io, "{}: cannot be written: it needs at least {}, but the disk has {} left", path,
       describe_bytes(static_cast<double>(bytes)), describe_bytes(static_cast<double>(space.available)));
}

}  // namespace topwolf::cli
