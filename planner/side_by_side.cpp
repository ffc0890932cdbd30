#include "planner/side_by_side.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <exception>
#include <vector>

namespace roofcast {

void side_by_side(int threads, std::size_t count, const std::function<void(std::size_t)>& fn) {
  std::vector<std::exception_ptr> failures(count);
  const auto one = [&](std::size_t i) {
    try {
      fn(i);
    } catch (...) {  // rethrown below
      failures[i] = std::current_exception();
    }
  };
  if (threads > 1) {
    // Isolated: while it waits for the others' parts this thread begins no other answer.
    oneapi::tbb::this_task_arena::isolate([&] {
      oneapi::tbb::parallel_for(std::size_t{0}, count, one, oneapi::tbb::simple_partitioner());
    });
  } else {
    for (std::size_t i = 0; i < count; ++i) one(i);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void side_by_side(int threads, std::initializer_list<std::function<void()>> parts) {
  side_by_side(threads, parts.size(), [&](std::size_t i) { parts.begin()[i](); });
}

}  // namespace roofcast
