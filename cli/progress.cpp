#include "cli/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

// A signal handler can only reach a global.
volatile std::sig_atomic_t interrupt_seen = 0;

int watches = 0;  // that live, one within the other

void on_interrupt(int) {
  interrupt_seen = 1;
  // A second one ends the program at once.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

/// As exact as a guess may be: "under 1 s", "5 s", "2 min 10 s".
std::string whole_seconds(double seconds) {
  if (seconds > 0 && seconds < 1) return "under 1 s";
  const auto whole = static_cast<std::int64_t>(std::round(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

double share_of(const ProgressState& progress) {
  if (progress.total <= 0) return 0;
  return std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.total));
}

}  // namespace

std::string progress_text(const ProgressState& progress) {
  const double share = share_of(progress);
  const bool follows = progress.earlier_s > 0;
  std::string text = fmt::format(
      "{}{} of {}{} {}", follows ? "then " : "", with_separators(progress.done),
      progress.total_grew ? "at least " : "", with_separators(progress.total), progress.what);
  if (progress.done > 0 && progress.elapsed_s > 0) {
    const double rate = static_cast<double>(progress.done) / progress.elapsed_s;
    const double left = progress.elapsed_s * (1 - share) / share;
    constexpr double kSlow = 0.1;  // below, as many seconds each say more
    text += rate < kSlow ? fmt::format(" ({} each), ", whole_seconds(1 / rate))
                         : fmt::format(" ({} /s), ", fixed(rate, rate < 1 ? 1 : 0));
    if (!progress.total_grew && !follows) return text + whole_seconds(left) + " left";
    text += whole_seconds(progress.earlier_s + progress.elapsed_s) + " so far";
    if (left >= 1) text += fmt::format(", at least {} left", whole_seconds(left));
  }
  return text;
}

std::string progress_line(const ProgressState& progress) {
  constexpr std::size_t kWidest = 30;
  const std::string text = progress_text(progress);
  constexpr std::size_t kAround = 4;  // "[", "] " and the last column, which some terminals wrap at
  if (progress.width < text.size() + kAround + 3) return text.substr(0, progress.width - 1);
  const std::size_t columns = std::min(kWidest, progress.width - text.size() - kAround);
  const auto filled = static_cast<std::size_t>(share_of(progress) * static_cast<double>(columns));
  return fmt::format("[{:=<{}}{: <{}}] {}", "", filled, "", columns - filled, text);
}

InterruptWatch::InterruptWatch() {
  if (watches++ > 0) return;
  interrupt_seen = 0;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

InterruptWatch::~InterruptWatch() {
  if (--watches > 0) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

ProgressBar::ProgressBar(std::ostream& err, std::string what, std::chrono::milliseconds every)
    : err_(err), what_(std::move(what)), every_(every) {
  start_ = count_start_ = last_ = std::chrono::steady_clock::now();
  terminal_ = isatty(STDERR_FILENO) == 1;
  winsize size{};
  if (terminal_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) {
    width_ = size.ws_col;
  }
}

ProgressBar::~ProgressBar() {
  if (drawn_) err_ << "\r\033[K" << std::flush;
}

bool ProgressBar::interrupted() const { return interrupt_seen != 0; }

bool ProgressBar::show(std::int64_t done, std::int64_t total) {
  using namespace std::chrono_literals;
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  const auto now = std::chrono::steady_clock::now();
  if (done < last_done_) {
    count_start_ = now;
    first_total_ = 0;
    total_grew_ = false;
  }
  last_done_ = done;
  if (first_total_ == 0) first_total_ = total;
  total_grew_ = total_grew_ || total != first_total_;
  const ProgressState state{.done = done,
                            .total = total,
                            .what = what_,
                            .elapsed_s = seconds(now - count_start_),
                            .earlier_s = seconds(count_start_ - start_),
                            .total_grew = total_grew_,
                            .width = width_};
  if (terminal_ && now - start_ > 1s && now - last_ > 100ms) {
    last_ = now;
    drawn_ = true;
    err_ << "\r" << progress_line(state) << "\033[K" << std::flush;
  } else if (!terminal_ && now - last_ >= every_) {
    last_ = now;
    err_ << progress_text(state) << "\n" << std::flush;
  }
  return !interrupted();
}

}  // namespace roofcast
