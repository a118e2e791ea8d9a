// Reads nothing itself: the library loads, this file decides with which options.
#include "data_options.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "core/threads.hpp"
#include "data/byte_source.hpp"

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
  options.precision = arguments.choice("precision") == "float64" ? Precision::float64 : Precision::float32;
  options.label_weights = arguments.has("label-weights");
  options.max_unpacked = arguments.bytes("max-unpacked");
  options.threads = threads_of(arguments);
  if (arguments.has("weights") && arguments.has("label-weights"))
    fail(ErrorKind::option, "--weights and --label-weights both say what a row weighs; give one of them");
  return options;
}

LoadOptions load_options_for(const Arguments& arguments, const std::string& path, const Classifier& model) {
  LoadOptions options = load_options(arguments, path);
  if (!options.index_base) options.index_base = model.index_base;
  options.usual_label_column = model.label_column;
  if (!arguments.has("precision")) options.precision = model.precision;
  options.cols = model.d;
  return options;
}

RawDataset load_for_model(const Arguments& arguments, const std::string& path, const Classifier& model,
                          bool labels_optional, Warnings& warnings) {
  LoadOptions options = load_options_for(arguments, path, model);
  options.labels_optional = labels_optional;
  return load_for_model(options, model, warnings);
}

RawDataset load_for_model(const LoadOptions& options, const Classifier& model, Warnings& warnings) {
  const std::string& path = options.path;
  LoadReport report;
  RawDataset raw = load_raw(options, &report);
  const std::int64_t cols = std::visit([](const auto& store) { return store.cols; }, raw.X);
  if (cols != model.d)
    fail(ErrorKind::data, "{}: the rows have {} features, but the model was trained on {}", path, cols, model.d);
  if (report.dropped_values > 0)
    warnings.add(fmt::format("{}: {} values have an index beyond the model's {} features and are ignored", path,
                             report.dropped_values, model.d));
  apply_normalization(model.normalization, raw.X);
  return raw;
}

void apply_weights(const Arguments& arguments, Dataset& data) {
  if (arguments.has("weights"))
    data.weights = load_weights(arguments.text("weights"), data.X.rows(), arguments.bytes("max-unpacked"));
  const std::string classes = arguments.text("class-weight");
  if (classes == "balanced") {
    weigh_classes(data, balanced_class_weights(data));
  } else if (arguments.has("class-weight")) {
    weigh_classes(data, load_class_weights(classes, data.classes, arguments.bytes("max-unpacked")));
  }
}

bool is_model_file(const std::string& path) {
  if (path.ends_with(".twd")) return false;  // the data cache is a container too
  const std::string begin = peek_bytes(path, 9);
  // A .topwolf file is a safetensors container: 8 bytes of length, then a JSON object.
  const bool container = begin.size() == 9 && begin[8] == '{' && begin.substr(4, 4) == std::string(4, '\0');
  return container || begin == std::string_view("solver_type").substr(0, 9);
}

void check_output(const Arguments& arguments, const std::string& path, const std::vector<std::string>& inputs) {
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
  if (faccessat(AT_FDCWD, place.c_str(), replaced ? W_OK | X_OK : W_OK, AT_EACCESS) != 0)
    fail(ErrorKind::io, "{}: cannot be written: {}: {}", path, place, std::strerror(errno));
  if (replaced && is_read_only(target) && !arguments.has("force"))
    fail(ErrorKind::io, "{}: cannot be written: it is read-only; --force replaces it", path);
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
