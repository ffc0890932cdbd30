// Evaluates many independent questions on all cores (oneTBB); results do not depend on the number
// of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/progress.hpp"

namespace roofcast {

/// Cores that this process may run on; at least 1.
int available_threads();

/// Calls fn(i) once for every i in [0, count), on `threads` threads (at least 1) and in any order.
/// `fn` is called from several threads at once: anything it shares must be read-only. Must not be
/// called from within `fn`, whose parts may run on the threads that have no index (side_by_side).
/// `progress`, if not empty, is called from time to time with (done,
/// count) on the calling thread; once it returns false no further call starts, and this returns
/// false, whatever running calls then throw. If `fn` throws, running calls finish first, then the
/// exception of the lowest index is rethrown.
bool for_each_index(std::int64_t count, int threads, const std::function<void(std::int64_t)>& fn,
                    const Progress& progress);

/// fn(i) for every i in [0, count), in index order; nullopt if `progress` cancelled. Otherwise as
/// for_each_index.
template <class Fn>
auto answers_of(std::int64_t count, int threads, const Fn& fn, const Progress& progress)
    -> std::optional<std::vector<std::invoke_result_t<const Fn&, std::int64_t>>> {
  using Answer = std::invoke_result_t<const Fn&, std::int64_t>;
  static_assert(!std::is_same_v<Answer, bool>, "bits of vector<bool> share what threads write");
  std::vector<std::optional<Answer>> found(static_cast<std::size_t>(count));
  const auto one = [&](std::int64_t i) { found[static_cast<std::size_t>(i)].emplace(fn(i)); };
  if (!for_each_index(count, threads, one, progress)) return std::nullopt;
  std::vector<Answer> answers;
  answers.reserve(found.size());
  for (std::optional<Answer>& answer : found) answers.push_back(*std::move(answer));
  return answers;
}

/// As answers_of, but runs on the calling thread if `threads` is 1: for work of milliseconds a
/// thread pool costs more than it gains, and the caller may itself be a worker of one.
template <class Fn>
auto answers_here_or_on(std::int64_t count, int threads, const Fn& fn, const Progress& progress)
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
