// A progress bar on stderr, only on a terminal and only once the work takes over a second; and
// Ctrl-C as a request to stop cleanly.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace roofcast {

/// "[======    ] 1,200 of 3,000 requests (400 /s), 4.50 s left": `done` of `total`, at the mean
/// rate over `elapsed_s` seconds.
std::string progress_line(std::int64_t done, std::int64_t total, const std::string& what,
                          double elapsed_s);

class ProgressBar {
 public:
  /// `what` is the unit counted: "requests". Draws nothing if stderr is not a terminal.
  ProgressBar(std::ostream& err, std::string what);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `done` of `total` with rate and time left. False once the work should stop.
  bool show(std::int64_t done, std::int64_t total);

  bool interrupted() const;

 private:
  std::ostream& err_;
  std::string what_;
  bool terminal_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace roofcast
