// The unfinished file beside a target. Whoever writes it holds a lock on it, so that one that a killed process left can
// be told from one that is being written; and its name is where a signal handler finds it.
#pragma once

#include <string>

namespace topwolf {

class Temporary {
 public:
  Temporary() = default;  // none
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();  // removes the file, if it is still there under its name

  // Makes it in this folder ("out/"), and removes what dead processes left there. A descriptor to write to, which the
  // caller closes after rename_to(), for it holds the lock; -1 and errno where there can be none.
  int make(const std::string& folder);
  // False and errno where it fails.
  bool rename_to(const std::string& target);

  bool exists() const { return !path_.empty(); }

 private:
  void name_it(const std::string& folder);
  void forget();

  std::string path_;  // empty: there is none
  int slot_ = -1;     // in the list for signal handlers
};

// Removes every temporary of this process; for a signal handler that ends it.
void remove_temporaries() noexcept;

}  // namespace topwolf
