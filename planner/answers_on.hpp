// Independent answers in this very thread, or on several.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/evaluate_all.hpp"

namespace roofcast {

/// As answers_of, but on one thread without another: what takes milliseconds is not worth the way
/// there and back, and may be asked for from within other threads' work.
template <class Fn>
auto answers_on(int threads, std::int64_t count, const Fn& fn,
                const std::function<bool(std::int64_t, std::int64_t)>& progress)
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
