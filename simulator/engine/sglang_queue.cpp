#include "simulator/engine/sglang_queue.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace roofcast {
namespace {

/// For longer queues, prefixes are not looked up for ordering.
constexpr std::size_t kLongestOrderedByPrefix = 128;

/// Requests with at most kLittleCached cached tokens are compared with each other
/// (IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD), and put off if they share kMuchInCommon tokens
/// (IN_BATCH_PREFIX_CACHING_DEPRIORITIZE_THRESHOLD).
constexpr std::int64_t kLittleCached = 32;
constexpr std::int64_t kMuchInCommon = 32;

/// Sorts the queue by `key`, smallest first, stably.
template <class Key>
void sort_waiting(EngineState& state, Key key) {
  std::vector<std::pair<std::int64_t, RequestId>> keyed;
  for (RequestId id : state.waiting.in_order()) keyed.emplace_back(key(id), id);
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<RequestId> order;
  for (const auto& entry : keyed) order.push_back(entry.second);
  state.waiting.rearrange(order);
}

void sort_by_prefix(EngineState& state, RadixPrefix& prefix) {
  RadixCache queued(1);
  sort_waiting(state, [&](RequestId id) {
    const std::int64_t cached = prefix.find(state, id).tokens;
    if (cached > kLittleCached) return -cached;
    const RequestState& request = state[id];
    const std::int64_t tokens = request.tokens();
    const auto runs =
        token_runs(state.requests.record(id).request, id, state.requests.contents(id), tokens);
    if (queued.matched_tokens(runs, request.adapter, tokens) >= kMuchInCommon) {
      return std::numeric_limits<std::int64_t>::max();
    }
    queued.insert(runs, request.adapter);
    return -cached;
  });
}

}  // namespace

void order_waiting(EngineState& state, RadixPrefix& prefix) {
  switch (state.engine.order) {
    case QueueOrder::longest_prefix:
      if (state.waiting.size() > kLongestOrderedByPrefix || !prefix.enabled()) return;
      sort_by_prefix(state, prefix);
      return;
    case QueueOrder::longest_output:
      sort_waiting(state, [&](RequestId id) { return -state[id].max_tokens; });
      return;
    case QueueOrder::fcfs:
    case QueueOrder::priority:
      return;
  }
}

}  // namespace roofcast
