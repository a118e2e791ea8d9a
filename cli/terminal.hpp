// Standard output for results, standard error for narration, files for what is asked for by name. A write that fails is
// an Error{io}; a reader that went away ends the program quietly.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "report/progress.hpp"
#include "topwolf/error.hpp"

namespace topwolf::cli {

// Thrown when the reader of a pipe has gone.
struct ClosedPipe {};

// Results, on standard output unless a file is written there. Text is buffered; finish_output reports what could not be
// written.
void print(std::string_view text);
void finish_output();

// Where this output is standard output itself, by whatever name, results go to standard error: a file that has a
// summary within it is none. A terminal or /dev/null can take both.
void keep_results_out_of(const std::string& output);

// A whole text to a file, or to standard output for "".
void write_text(const std::string& path, std::string_view text);

// Narration, on standard error.
void narrate(std::string_view text);

// "topwolf: sentence" on standard error, whatever characters it quotes.
void print_error(std::string_view sentence);

// Warnings go to standard error at once and are kept for --json.
class Warnings {
 public:
  void add(const std::string& sentence);
  void add(const Sentence& sentence);  // of the library, with the names of the options
  Warn teller() {
    return [this](const Sentence& sentence) { add(sentence); };
  }
  const std::vector<std::string>& sentences() const { return sentences_; }

 private:
  std::vector<std::string> sentences_;
};

// How progress is shown on standard error.
ProgressStyle progress_style();

}  // namespace topwolf::cli
