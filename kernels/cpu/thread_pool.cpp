#include "kernels/cpu/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "kernels/cpu/cores.hpp"

namespace roofcast::kernels::cpu {
namespace {

/// If pinning is refused, the thread runs anywhere: slower, with the same results.
void pin(pthread_t thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
}

std::optional<cpu_set_t> cores_of(pthread_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (pthread_getaffinity_np(thread, sizeof set, &set) != 0) return std::nullopt;
  return set;
}

std::vector<int> members(const std::optional<cpu_set_t>& set) {
  std::vector<int> cores;
  for (int core = 0; set.has_value() && core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &*set)) cores.push_back(core);
  }
  return cores;
}

int thread_count(int wanted, const std::vector<CoreFacts>& cores) {
  if (wanted > 0) return wanted;
  if (!cores.empty()) return usual_threads(cores, cpu_quota());
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Looks whether the state is still `value` for about as long as a futex takes to put a thread to
/// sleep and wake it up, on a virtual machine. Between two products of a decode step one thread
/// computes for some microseconds: shorter looks would let the others sleep at each.
void spin_while(const std::atomic<std::uint32_t>& state, std::uint32_t value) {
  constexpr std::chrono::microseconds kLongest{30};
  constexpr int kLooks = 16;  // between two looks at the clock
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (state.load(std::memory_order_relaxed) != value) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() - begin < kLongest);
}

void set_and_wake(std::atomic<std::uint32_t>& state, std::uint32_t value) {
  state.store(value, std::memory_order_release);
  state.notify_one();
}

}  // namespace

Split split(std::int64_t count, std::int64_t grain, std::int64_t max_pieces) {
  if (count <= 0) return {};
  const std::int64_t grains = (count + grain - 1) / grain;
  const std::int64_t size = (grains + max_pieces - 1) / max_pieces * grain;
  return {.count = count, .size = size, .pieces = (count + size - 1) / size};
}

Range piece(const Split& split, std::int64_t index) {
  const std::int64_t begin = index * split.size;
  return {.begin = begin, .end = std::min(begin + split.size, split.count)};
}

std::vector<int> allowed_cores() { return members(cores_of(pthread_self())); }

ThreadPool::ThreadPool(int threads) : owner_(pthread_self()), owner_cores_(cores_of(owner_)) {
  const std::vector<CoreFacts> facts = facts_of_cores(members(owner_cores_));
  cores_ = core_order(facts);
  const auto count = static_cast<std::size_t>(thread_count(threads, facts));
  try {
    for (std::size_t i = 1; i < count; ++i) {
      workers_.push_back(std::make_unique<Worker>());
      Worker& worker = *workers_.back();
      worker.thread = std::thread([this, &worker] { work(worker.state); });
      if (!cores_.empty()) pin(worker.thread.native_handle(), cores_[i % cores_.size()]);
    }
  } catch (...) {
    stop();
    throw;
  }
  if (!cores_.empty()) pin(owner_, cores_.front());
}

ThreadPool::~ThreadPool() {
  stop();
  if (owner_cores_.has_value() && pthread_equal(owner_, pthread_self()) != 0) {
    pthread_setaffinity_np(owner_, sizeof *owner_cores_, &*owner_cores_);
  }
}

void ThreadPool::stop() noexcept {
  for (const auto& worker : workers_) {
    if (!worker->thread.joinable()) continue;  // the one that failed to start
    set_and_wake(worker->state, stopping);
    worker->thread.join();
  }
}

/// Storing `offered` publishes the job to a worker; storing `idle` publishes the worker's results.
void ThreadPool::run(const Job& job) {
  if (job.split.pieces == 0) return;
  job_ = job;
  next_piece_.store(0, std::memory_order_relaxed);
  const std::size_t helpers =
      std::min(workers_.size(), static_cast<std::size_t>(job.split.pieces - 1));
  for (std::size_t i = 0; i < helpers; ++i) set_and_wake(workers_[i]->state, offered);
  take_pieces();
  for (std::size_t i = 0; i < helpers; ++i) {
    std::atomic<std::uint32_t>& state = workers_[i]->state;
    std::uint32_t now = offered;
    if (state.compare_exchange_strong(now, idle, std::memory_order_acquire)) continue;
    spin_while(state, accepted);
    while (state.load(std::memory_order_acquire) == accepted) state.wait(accepted);
  }
}

void ThreadPool::work(std::atomic<std::uint32_t>& state) {
  for (;;) {
    std::uint32_t now = offered;
    if (state.compare_exchange_strong(now, accepted, std::memory_order_acquire)) {
      take_pieces();
      set_and_wake(state, idle);
    } else if (now == stopping) {
      return;
    } else {
      spin_while(state, idle);
      state.wait(idle, std::memory_order_acquire);
    }
  }
}

void ThreadPool::take_pieces() {
  const Job& job = job_;
  const auto next = [this] { return next_piece_.fetch_add(1, std::memory_order_relaxed); };
  for (std::int64_t p = next(); p < job.split.pieces; p = next()) {
    job.call(job.callable, piece(job.split, p));
  }
}

}  // namespace roofcast::kernels::cpu
