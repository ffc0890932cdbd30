#include "planner/search/local_workers.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace roofcast {

struct LocalWorkers::Impl {
  Impl(Evaluator evaluator, int threads)
      : evaluate(std::move(evaluator)),
        allow(oneapi::tbb::global_control::max_allowed_parallelism,
              static_cast<std::size_t>(threads) + 1),
        arena(threads, 0) {}

  Evaluator evaluate;
  // TBB's own threads, even if more than there are cores.
  oneapi::tbb::global_control allow;
  oneapi::tbb::task_arena arena;
  oneapi::tbb::task_group tasks{};

  std::mutex mutex{};  // guards the following
  std::condition_variable changed{};
  std::int64_t under_way = 0;
  std::vector<FinishedEvaluation> ended{};
};

LocalWorkers::LocalWorkers(Evaluator evaluate, int threads)
    : impl_(std::make_unique<Impl>(std::move(evaluate), std::max(1, threads))) {}

LocalWorkers::~LocalWorkers() {
  {
    std::unique_lock lock(impl_->mutex);
    impl_->changed.wait(lock, [this] { return impl_->under_way == 0; });
  }
  impl_->tasks.wait();  // briefly: until the last task has returned
}

void LocalWorkers::begin(std::int64_t id, const FigureQuestion& question) {
  Impl& impl = *impl_;
  {
    const std::lock_guard lock(impl.mutex);
    ++impl.under_way;
  }
  impl.arena.enqueue(impl.tasks.defer([&impl, id, question] {
    FinishedEvaluation one = evaluated(impl.evaluate, id, question);
    const std::lock_guard lock(impl.mutex);
    impl.ended.push_back(std::move(one));
    --impl.under_way;
    impl.changed.notify_all();
  }));
}

std::vector<FinishedEvaluation> LocalWorkers::finished(std::chrono::microseconds at_most) {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, at_most, [this] { return !impl_->ended.empty(); });
  return std::exchange(impl_->ended, {});
}

}  // namespace roofcast
