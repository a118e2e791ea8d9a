// The one exception the library throws. It carries one precise sentence (what was given, what is
// allowed, where) and a kind, from which a front end chooses its exit code or exception type.
#pragma once

#include <stdexcept>
#include <string>

namespace topwolf {

enum class ErrorKind {
  option,    // an option's value, or a conflict between options
  data,      // bad data, options that do not fit the data, or a corrupt model
  io,        // something cannot be read or written
  memory,    // not enough memory
  internal,  // a defect of topwolf itself
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace topwolf
