// A progress bar on stderr, only on a terminal and only once the work takes over a second; and
// Ctrl-C as a request to stop cleanly.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace roofcast {

class ProgressBar {
 public:
  /// `what` is counted: "requests". Draws nothing when stderr is not a terminal.
  ProgressBar(std::ostream& err, std::string what);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `done` of `total` with rate and time left. False once Ctrl-C was pressed.
  bool show(std::int64_t done, std::int64_t total);

  bool interrupted() const;

 private:
  void draw(std::int64_t done, std::int64_t total, double elapsed_s);

  std::ostream& err_;
  std::string what_;
  bool terminal_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace roofcast
