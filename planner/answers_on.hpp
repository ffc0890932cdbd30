// Independent answers on the calling thread, or on several.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "planner/evaluate_all.hpp"

namespace roofcast {

/// As answers_of, but runs on the calling thread if `threads` is 1: for work of milliseconds a
/// thread pool costs more than it gains, and the caller may itself be a worker of one.
template <class Fn>
auto answers_on(int threads, std::int64_t count, const Fn& fn, const Progress& progress)
    -> decltype(answers_of(count, threads, fn, progress)) {
  if (threads > 1) return answers_of(count, threads, fn, progress);
  typename decltype(answers_of(count, threads, fn, progress))::value_type answers;
  for (std::int64_t i = 0; i < count; ++i) {
    if (progress && !progress(i, count)) return std::nullopt;
    answers.push_back(fn(i));
  }
  return answers;
}

}  // namespace roofcast
