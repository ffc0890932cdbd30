// Threads that share the work of one kernel at a time. The thread that creates the pool is its
// first and also works; each is pinned to one of the cores that the process may use. Between
// kernels they look for work for 30 microseconds, about as long as waking up takes, and then sleep
// (futex): a thread that spins on takes the core from a working neighbour, and on cores shared with
// other programs the whole pool then waits for the displaced one.
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

/// How work is divided: piece p is [p * size, (p + 1) * size); the last may be shorter. Depends
/// only on the arguments of split(), never on thread timing.
struct Split {
  std::int64_t count = 0;
  std::int64_t size = 0;
  std::int64_t pieces = 0;
};

/// At most `max_pieces` pieces, each a multiple of `grain` items. Preconditions: grain >= 1,
/// max_pieces >= 1.
Split split(std::int64_t count, std::int64_t grain, std::int64_t max_pieces);

/// Precondition: 0 <= index < split.pieces.
Range piece(const Split& split, std::int64_t index);

/// Cores on which the calling thread may run, ascending.
std::vector<int> allowed_cores();

class ThreadPool {
 public:
  /// `threads` in total, pinned to the allowed cores in turn, performance cores before hyperthreads
  /// and small cores; 0: one per performance core, within the control groups' quota
  /// (kernels/cpu/cores.hpp). The calling thread is pinned for the pool's lifetime; threads that it
  /// starts meanwhile inherit the pinning. Throws std::system_error if the system refuses a thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Cores to which the threads are pinned, round robin; empty: unknown.
  const std::vector<int>& cores() const { return cores_; }

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls function(begin, end) for ranges that cover 0 to count once, each a multiple of `grain`
  /// items except the last, and returns when all are done. Work of one grain wakes no worker. The
  /// function must not throw or call the pool. One caller at a time.
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
  /// More pieces than threads, so that a thread that loses its core for a while processes fewer.
  static constexpr std::int64_t kPiecesPerThread = 4;
  static constexpr std::size_t kCacheLine = 64;

  struct Job {
    Split split{};
    void (*call)(const void* callable, Range range) = nullptr;
    const void* callable = nullptr;
  };

  /// A job is offered to a worker; until the worker wakes up, the offer can be withdrawn, so that
  /// awake threads do short work. idle -> offered (caller) -> accepted (worker) -> idle (worker),
  /// or offered -> idle (caller).
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
  std::optional<cpu_set_t> owner_cores_{};  // before pinning
  std::vector<int> cores_{};
  std::vector<std::unique_ptr<Worker>> workers_{};
  Job job_{};  // written only while no worker has accepted
  alignas(kCacheLine) std::atomic<std::int64_t> next_piece_{0};
};

}  // namespace roofcast::kernels::cpu
