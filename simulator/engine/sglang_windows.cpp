#include "simulator/engine/sglang_windows.hpp"

#include <algorithm>

#include "simulator/engine/sglang_prefill.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kEvictionInterval = 128;

}  // namespace

WindowPool window_pool(const EngineState& state) {
  const CacheLayout& layout = state.blocks.layout();
  if (layout.pooled_window == 0) return {};
  const auto tokens = static_cast<double>(pool_tokens(state.blocks, state.blocks.usable()));
  return {.tokens = static_cast<std::int64_t>(tokens * layout.pooled_share) / layout.block_tokens *
                    layout.block_tokens,
          .window = layout.pooled_window,
          .page = layout.block_tokens};
}

std::int64_t held_in_windows(const EngineState& state, const RadixPrefix& prefix,
                             const WindowPool& pool, RequestId id) {
  const RequestState& request = state[id];
  if (!prefix.enabled()) {  // without a tree all that leaves the window is released
    const std::int64_t chunk = request.decoding() ? 0 : state.engine.max_num_batched_tokens;
    const std::int64_t beside = std::max(chunk, kEvictionInterval);
    return std::min(request.computed, pool.window + beside);
  }
  const std::int64_t in_tree = prefix.held_tokens(id);
  const std::int64_t prompt = std::max(request.input_tokens, in_tree);
  const std::int64_t unsettled = std::min(request.computed, prompt) - in_tree;
  const std::int64_t decoded = std::max<std::int64_t>(0, request.computed - prompt);
  const std::int64_t slid = std::max<std::int64_t>(0, decoded - 1) / kEvictionInterval;
  const std::int64_t released = std::max<std::int64_t>(0, slid * kEvictionInterval - pool.window);
  return std::min(in_tree, pool.window) + std::max<std::int64_t>(0, unsettled) + decoded - released;
}

std::int64_t window_tokens_left(const EngineState& state, const RadixPrefix& prefix,
                                const WindowPool& pool) {
  std::int64_t left = pool.tokens;
  for (RequestId id : state.running) left -= held_in_windows(state, prefix, pool, id);
  return left;
}

bool holds_any_decodes(const WindowPool& pool, std::int64_t requests, std::int64_t unsettled) {
  const std::int64_t most = 2 * pool.window + kEvictionInterval + 2 * pool.page;
  return !pool.apart() || requests * most + unsettled <= pool.tokens;
}

std::int64_t window_budget(const WindowPool& pool, std::int64_t chunk, std::int64_t input,
                           std::int64_t output) {
  const std::int64_t beyond = std::max<std::int64_t>(0, std::min(input, chunk) - pool.window);
  return beyond + std::min(input + output, pool.window) + pool.page;
}

}  // namespace roofcast
