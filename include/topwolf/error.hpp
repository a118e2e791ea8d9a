// The one exception the library throws, and the sentences that it says. A sentence is precise (what was given, what is
// allowed, where) and speaks of the library's own fields, such as TrainOptions::max_iterations; a front end whose users
// know them by other names (--max-iterations, max_iter) puts these in their place.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace topwolf {

// What a front end calls a field, or a field with a value ("" where the field alone is meant): "--solver lsfw".
using FieldName = std::function<std::string(std::string_view field, std::string_view value)>;

// One sentence, which may name fields of options.
class Sentence {
 public:
  // None.
  Sentence() = default;
  // `marked`: each field, or field=value, stands between two characters 0x1f.
  explicit Sentence(std::string marked) : marked_(std::move(marked)) {}

  // Whether nothing is said.
  bool empty() const { return marked_.empty(); }
  // With the library's names: "max_iterations is 0, but ...", "scores = weights needs 1.2 GB".
  std::string text() const;
  // The same.
  operator std::string() const { return text(); }
  // With somebody else's.
  std::string with(const FieldName& name) const;
  // The first field that it names; "": none.
  std::string field() const;
  // As it was given.
  const std::string& marked() const { return marked_; }

 private:
  std::string marked_;
};

// Told at once what did not go as asked but ends nothing.
using Warn = std::function<void(const Sentence&)>;

// From its kind a front end chooses its exit code or exception type.
enum class ErrorKind {
  option,    // an option's value, or a conflict between options
  data,      // bad data, options that do not fit the data, or a corrupt model
  io,        // something cannot be read or written
  memory,    // not enough memory
  internal,  // a defect of topwolf itself
};

// What the library throws.
class Error : public std::runtime_error {
 public:
  // what() is the sentence's text.
  Error(ErrorKind kind, Sentence sentence)
      : std::runtime_error(sentence.text()),
        kind_(kind),
        sentence_(std::make_shared<const Sentence>(std::move(sentence))) {}
  // The same; the sentence may have marks.
  Error(ErrorKind kind, std::string sentence) : Error(kind, Sentence(std::move(sentence))) {}

  // What went wrong, roughly.
  ErrorKind kind() const noexcept { return kind_; }
  // What went wrong, exactly; with() gives fields other names.
  const Sentence& sentence() const noexcept { return *sentence_; }
  // The field that the error is about; "": none.
  std::string field() const { return sentence_->field(); }

 private:
  ErrorKind kind_;
  std::shared_ptr<const Sentence> sentence_;  // shared, so that copying an exception throws none
};

}  // namespace topwolf
