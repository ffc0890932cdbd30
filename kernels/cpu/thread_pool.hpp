// Threads that share the work of one kernel at a time. The thread that makes the pool is its first
// and works too; each is pinned to a core of those that the process may use. Between kernels they
// sleep (futex): a thread that spins while it waits takes the core from a neighbour that works, and
// where cores are shared with other programs the whole team then waits for the one pushed aside.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace roofcast::kernels::cpu {

/// Half-open range of work items.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// How work is cut: piece p is [p * size, (p + 1) * size), the last one shorter. It depends on the
/// arguments of split() alone, never on which thread is quick.
struct Split {
  std::int64_t count = 0;
  std::int64_t size = 0;
  std::int64_t pieces = 0;
};

/// Pieces of a multiple of `grain` items, at most `max_pieces` of them. Preconditions: grain >= 1,
/// max_pieces >= 1.
Split split(std::int64_t count, std::int64_t grain, std::int64_t max_pieces);

/// Precondition: 0 <= index < split.pieces.
Range piece(const Split& split, std::int64_t index);

/// Cores that the calling thread may run on, ascending.
std::vector<int> allowed_cores();

class ThreadPool {
 public:
  /// `threads` in all, pinned to the allowed cores in turn; 0: one a core. The calling thread is
  /// pinned as long as the pool lives; threads that it starts meanwhile inherit that. Throws
  /// std::system_error when the system refuses a thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls function(begin, end) for ranges that cover 0 to count once, each of a multiple of
  /// `grain` items but for the last, and returns when all are done. Work of one grain wakes nobody.
  /// The function must not throw nor call the pool. One caller at a time.
  template <class Function>
  void for_ranges(std::int64_t count, std::int64_t grain, const Function& function) {
    const auto call = [](const void* callable, Range range) {
      (*static_cast<const Function*>(callable))(range.begin, range.end);
    };
    run({.split = split(count, grain, kPiecesPerThread * threads()),
         .call = call,
         .callable = &function});
  }

 private:
  /// More pieces than threads, so that a thread whose core is taken away for a while does fewer.
  static constexpr std::int64_t kPiecesPerThread = 4;
  static constexpr std::size_t kCacheLine = 64;

  struct Job {
    Split split{};
    void (*call)(const void* callable, Range range) = nullptr;
    const void* callable = nullptr;
  };

  /// A job is offered to a worker; until it has woken up the offer can be taken back, so that short
  /// work is done by those who are awake. idle -> offered (caller) -> accepted (worker) -> idle
  /// (worker), or offered -> idle (caller).
  enum State : std::uint32_t { idle, offered, accepted, stopping };

  struct alignas(kCacheLine) Worker {
    std::atomic<std::uint32_t> state{idle};
    std::thread thread{};
  };

  void run(const Job& job);
  void work(std::atomic<std::uint32_t>& state);
  void take_pieces();
  void stop() noexcept;

  pthread_t owner_;
  std::optional<cpu_set_t> owner_cores_{};  // as they were before
  std::vector<std::unique_ptr<Worker>> workers_{};
  Job job_{};  // written while no worker has accepted
  alignas(kCacheLine) std::atomic<std::int64_t> next_piece_{0};
};

}  // namespace roofcast::kernels::cpu
