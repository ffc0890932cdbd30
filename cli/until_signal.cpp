#include "cli/until_signal.hpp"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

namespace roofcast {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/// Waits for Ctrl-C, SIGTERM or the end of the server.
void wait_for_end(const sigset_t& signals, const std::atomic<bool>& ended) {
  constexpr timespec kPollInterval{.tv_sec = 0, .tv_nsec = 200'000'000};
  while (sigtimedwait(&signals, nullptr, &kPollInterval) < 0 && !ended) {
  }
}

}  // namespace

void answer_until_signal(HttpServer& server, const std::function<void()>& stop) {
  const sigset_t signals = ending_signals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  std::atomic<bool> ended{false};
  std::thread answering([&] {
    server.run();
    ended = true;
  });
  while (!server.is_running() && !ended) std::this_thread::yield();
  wait_for_end(signals, ended);
  stop();
  server.stop_running();
  answering.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace roofcast
