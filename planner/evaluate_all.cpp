#include "planner/evaluate_all.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>

namespace roofcast {
namespace {

/// State shared by the threads. Indices are handed out in order, so when a call fails all lower
/// ones have started, and the lowest that fails is the same in every run.
struct SharedWork {
  std::int64_t count = 0;
  const std::function<void(std::int64_t)>& fn;
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> done{0};
  std::atomic<bool> stopped{false};

  std::mutex mutex{};  // guards the following
  std::condition_variable changed{};
  int workers = 0;  // not finished yet
  std::int64_t failed_index = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr failure{};
};

void note_failure(SharedWork& work, std::int64_t index) {
  const std::lock_guard lock(work.mutex);
  work.stopped = true;
  if (index > work.failed_index) return;
  work.failed_index = index;
  work.failure = std::current_exception();
}

void work_on(SharedWork& work) {
  while (!work.stopped) {
    const std::int64_t index = work.next++;
    if (index >= work.count) break;
    try {
      work.fn(index);
      ++work.done;
    } catch (...) {  // also exceptions not derived from std::exception, rethrown unchanged
      note_failure(work, index);
    }
  }
  const std::lock_guard lock(work.mutex);
  --work.workers;
  work.changed.notify_all();
}

}  // namespace

int available_threads() { return std::max(1, oneapi::tbb::info::default_concurrency()); }

bool for_each_index(std::int64_t count, int threads, const std::function<void(std::int64_t)>& fn,
                    const Progress& progress) {
  constexpr std::chrono::milliseconds kPollInterval{
      20};  // often enough for Ctrl-C and a progress bar
  if (progress && !progress(0, count)) return false;
  if (count <= 0) return true;
  const int slots = std::max(1, threads);
  const int used = static_cast<int>(std::min<std::int64_t>(slots, count));
  // TBB's own threads, even if more than there are cores; this one waits. Those beyond `used` take
  // parts of answers (side_by_side).
  const oneapi::tbb::global_control allow(oneapi::tbb::global_control::max_allowed_parallelism,
                                          static_cast<std::size_t>(slots) + 1);
  oneapi::tbb::task_arena arena(slots, 0);
  SharedWork work{.count = count, .fn = fn, .workers = used};
  for (int i = 0; i < used; ++i) arena.enqueue([&work] { work_on(work); });
  std::unique_lock lock(work.mutex);
  const auto ended = [&work] { return work.workers == 0; };
  bool cancelled = false;
  while (!work.changed.wait_for(lock, kPollInterval, ended)) {
    lock.unlock();
    if (progress && !work.stopped && !progress(work.done, count)) cancelled = work.stopped = true;
    lock.lock();
  }
  if (cancelled) return false;
  if (work.failure) std::rethrow_exception(work.failure);
  return !work.stopped;
}

}  // namespace roofcast
