// Many independent answers on all cores (oneTBB), the same whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace roofcast {

/// Cores that this process may run on; 1 at least.
int available_threads();

/// Calls fn(i) once for every i in [0, count), on `threads` threads (one at least) and in any
/// order. `fn` is called from several threads at once: what it shares must be read only. Not to be
/// called from within `fn`. `progress`, where there is one, gets (done, count), from the thread
/// that called this and from time to time; once it returns false no call is begun, and this returns
/// false. What `fn` throws is thrown here, once the calls under way have ended: of several the one
/// of the least index.
bool for_each_index(std::int64_t count, int threads, const std::function<void(std::int64_t)>& fn,
                    const std::function<bool(std::int64_t, std::int64_t)>& progress);

/// What fn(i) answers for every i in [0, count), in the order of the indices; nothing when
/// `progress` ended it. Otherwise as for_each_index.
template <class Fn>
auto answers_of(std::int64_t count, int threads, const Fn& fn,
                const std::function<bool(std::int64_t, std::int64_t)>& progress)
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

}  // namespace roofcast
