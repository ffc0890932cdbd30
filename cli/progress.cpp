#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

// A signal handler can only reach a global; this is the only one.
volatile std::sig_atomic_t interrupt_seen = 0;

void on_interrupt(int) {
  interrupt_seen = 1;
  std::signal(SIGINT, SIG_DFL);  // a second Ctrl-C ends the program at once
}

}  // namespace

std::string progress_line(std::int64_t done, std::int64_t total, const std::string& what,
                          double elapsed_s) {
  constexpr int kWidth = 30;
  const double share =
      total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0.0;
  const int filled = static_cast<int>(share * kWidth);
  std::string line = fmt::format("[{:=<{}}{: <{}}] {} of {} {}", "", filled, "", kWidth - filled,
                                 with_separators(done), with_separators(total), what);
  if (done == 0 || elapsed_s <= 0) return line;  // no rate yet
  return line + fmt::format(" ({} /s), {} left", fixed(static_cast<double>(done) / elapsed_s, 0),
                            as_time(Seconds{elapsed_s * (1 - share) / share}));
}

ProgressBar::ProgressBar(std::ostream& err, std::string what) : err_(err), what_(std::move(what)) {
  start_ = last_ = std::chrono::steady_clock::now();
  terminal_ = isatty(STDERR_FILENO) == 1;
  interrupt_seen = 0;
  std::signal(SIGINT, on_interrupt);
}

ProgressBar::~ProgressBar() {
  std::signal(SIGINT, SIG_DFL);
  if (drawn_) err_ << "\r\033[K" << std::flush;
}

bool ProgressBar::interrupted() const { return interrupt_seen != 0; }

bool ProgressBar::show(std::int64_t done, std::int64_t total) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (terminal_ && now - start_ > 1s && now - last_ > 100ms) {
    last_ = now;
    drawn_ = true;
    const double elapsed_s = std::chrono::duration<double>(now - start_).count();
    err_ << "\r" << progress_line(done, total, what_, elapsed_s) << "\033[K" << std::flush;
  }
  return !interrupted();
}

}  // namespace roofcast
