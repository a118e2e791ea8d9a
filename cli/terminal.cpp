// Streams of the C library: their errors can be asked for, and nothing here needs more.
#include "terminal.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "option_table.hpp"

namespace topwolf::cli {
namespace {

bool to_standard_error = false;

std::FILE* results() {
  return to_standard_error ? stderr : stdout;
}

[[noreturn]] void refuse_write(int error) {
  if (error == EPIPE) throw ClosedPipe{};
  fail(ErrorKind::io, "standard {} cannot be written: {}", to_standard_error ? "error" : "output",
       std::strerror(error));
}

bool is_terminal(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  return isatty(fileno(stream)) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool has_colour(std::FILE* stream) {
  const char* refused = std::getenv("NO_COLOR");
  return is_terminal(stream) && (refused == nullptr || *refused == '\0');
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), results()) != text.size()) refuse_write(errno);
}

void keep_results_out_of(const std::string& output) {
  struct stat there {
  }, here{};
  if (::stat(output.c_str(), &there) != 0 || ::fstat(STDOUT_FILENO, &here) != 0 || S_ISCHR(here.st_mode)) return;
  if (there.st_dev == here.st_dev && there.st_ino == here.st_ino) to_standard_error = true;
}

void finish_output() {
  if (std::fflush(results()) != 0) refuse_write(errno);
}

void write_text(const std::string& path, std::string_view text) {
  if (path.empty()) return print(text);
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

// Narration that nobody listens to is no error, and it takes no memory.
void narrate(std::string_view text) {
  [[maybe_unused]] const std::size_t heard = std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_error(std::string_view sentence) {
  const bool colour = has_colour(stderr);
  narrate(
      fmt::format("{}topwolf:{} {}\n", colour ? "\x1b[31m" : "", colour ? "\x1b[0m" : "", escape_controls(sentence)));
}

void Warnings::add(const std::string& sentence) {
  const bool colour = has_colour(stderr);
  narrate(fmt::format("topwolf: {}warning:{} {}\n", colour ? "\x1b[33m" : "", colour ? "\x1b[0m" : "",
                      escape_controls(sentence)));
  sentences_.push_back(sentence);
}

void Warnings::add(const Sentence& sentence) {
  add(sentence.with(option_for));
}

ProgressStyle progress_style() {
  return {.live = is_terminal(stderr), .colour = has_colour(stderr)};
}

}  // namespace topwolf::cli
