// A progress bar on stderr once the work takes over a second, or, where stderr is no terminal, a
// line every ten seconds; and Ctrl-C or SIGTERM as a request to stop cleanly.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace roofcast {

struct ProgressState {
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::string what{};       // the unit counted: "requests"
  double elapsed_s = 0;     // since the count began; 0: no rate yet
  double earlier_s = 0;     // before that: the program's work so far is both together
  bool total_grew = false;  // a search that finds more to do: its end is not known
  std::size_t width = 80;   // columns of the terminal; the line is always narrower
};

/// "[======    ] 1,200 of 3,000 requests (400 /s), 5 s left" at the mean rate (of less than 0.1 a
/// second "25 s each"), or, where the total grows, "[======    ] 20 of at least 40 simulations (5
/// /s), 4 s so far, at least 4 s left"; after an earlier count "then 20 of ...". The
/// bar takes what the width leaves, at most 30 columns.
std::string progress_line(const ProgressState& progress);

/// The same without a bar, for logs: "20 of at least 40 simulations (5 /s), 4 s so far, at least 4
/// s left".
std::string progress_text(const ProgressState& progress);

/// Takes Ctrl-C and SIGTERM as a request to stop, as every ProgressBar does while it lives. Held
/// around several bars, none of which then drops an interrupt of the work between them.
class InterruptWatch {
 public:
  InterruptWatch();   // the outermost forgets earlier interrupts
  ~InterruptWatch();  // the outermost restores what signals do by default
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
};

class ProgressBar {
 public:
  /// `what` is the unit counted: "requests". Lines in a log follow each other by at least `every`.
  ProgressBar(std::ostream& err, std::string what,
              std::chrono::milliseconds every = std::chrono::seconds(10));
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `done` of `total` with rate and time left. Less done than before is another count (a
  /// search behind a search), with a rate of its own. False once the work should stop.
  bool show(std::int64_t done, std::int64_t total);

  bool interrupted() const;

 private:
  InterruptWatch watch_{};
  std::ostream& err_;
  std::string what_;
  bool terminal_ = false;
  std::size_t width_ = 80;
  std::int64_t first_total_ = 0;
  std::int64_t last_done_ = 0;
  bool total_grew_ = false;
  bool drawn_ = false;
  std::chrono::milliseconds every_;  // between lines of a log
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point count_start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace roofcast
