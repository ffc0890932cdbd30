// Evaluations on threads of this process (oneTBB), started and collected by one other thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "planner/search/evaluator.hpp"

namespace roofcast {

class LocalWorkers {
 public:
  LocalWorkers(Evaluator evaluate, int threads);
  ~LocalWorkers();  // waits for started evaluations
  LocalWorkers(const LocalWorkers&) = delete;
  LocalWorkers& operator=(const LocalWorkers&) = delete;

  /// Queues the question if all threads are busy.
  void begin(std::int64_t id, const FigureQuestion& question);

  /// Evaluations finished since the last call, in any order; waits `at_most` for the first.
  std::vector<FinishedEvaluation> finished(std::chrono::microseconds at_most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
