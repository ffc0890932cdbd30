#include "simulator/engine/sglang_prefill.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace roofcast {
namespace {

std::int64_t page_of(const EngineState& state) { return state.blocks.layout().block_tokens; }

std::int64_t whole_pages(std::int64_t tokens, std::int64_t page) {
  return (tokens + page - 1) / page * page;
}

/// Pool tokens that are neither in use nor reserved.
double tokens_left(const EngineState& state, const PrefillBudget& budget) {
  const std::int64_t free = pool_tokens(state.blocks, state.blocks.free());
  return static_cast<double>(free) - budget.reserved;
}

/// Adds `tokens` tokens of a request, whose blocks are already taken, to the batch.
void charge(const EngineState& state, PrefillBudget& budget, std::int64_t tokens,
            std::int64_t output) {
  const std::int64_t page = page_of(state);
  const std::int64_t charged = whole_pages(tokens, page);
  budget.reserved += static_cast<double>(page + output);
  budget.roundings += page;
  budget.input_left -= charged;
  budget.window_left -=
      window_budget(budget.windows, budget.chunk_left.value_or(charged), charged, output);
  if (budget.chunk_left) *budget.chunk_left -= charged;
}

/// Whether the pool for windows lets the start begin, cut to what that has room for if the whole
/// pool has too little for it (schedule_policy.py, add_one_req). The first of all may always begin.
bool fits_windows(const PrefillBudget& budget, std::int64_t input, std::int64_t output, bool first,
                  std::optional<std::int64_t>& chunk_left) {
  const WindowPool& pool = budget.windows;
  if (!pool.apart()) return true;
  const std::int64_t needed = window_budget(pool, chunk_left.value_or(input), input, output);
  if (needed < budget.window_left) return true;
  if (needed < pool.tokens) return first;
  const std::int64_t cap = budget.window_left - std::min(output, pool.window) - pool.page;
  if (!chunk_left) return first;
  if (cap < pool.page) return first;
  chunk_left = std::min(*chunk_left, cap);
  return true;
}

std::int64_t clipped_output(std::int64_t tokens) { return std::min(tokens, kMaxReservedOutput); }

/// How a waiting request would start: `computed` tokens are cached, `loaded` of them in host
/// memory, `tokens` are computed.
struct PromptStart {
  RadixCache::Match match{};
  std::int64_t loaded = 0;
  std::int64_t computed = 0;
  std::int64_t tokens = 0;
  bool cut = false;
};

/// Whether enough blocks are free for the start. For models whose layers all keep all tokens, the
/// budget's reservations already ensure it.
bool has_blocks(const EngineState& state, const RadixPrefix& prefix, const PromptStart& start) {
  const std::int64_t held = prefix.rows(start.match.tokens);
  const std::int64_t locked_now = prefix.rows(prefix.free_tokens(start.match));
  const std::int64_t needed = state.blocks.needed(start.computed + start.tokens, start.tokens);
  return std::max<std::int64_t>(0, needed - held) + locked_now <= state.blocks.free();
}

/// Cuts the start to the remaining chunk; false if that is less than a page.
bool cut_to(PromptStart& start, std::int64_t chunk_left, std::int64_t page) {
  const std::int64_t end = (start.computed + chunk_left / page * page) / page * page;
  start.tokens = end - start.computed;
  start.cut = true;
  return start.tokens > 0;
}

/// Layers are loaded while those before are computed, so that the step takes at least the time of
/// the loads (0.5.15, managers/cache_controller.py, LayerDoneCounter); the last layer's work behind
/// its load is neglected.
Seconds load_time(const EngineState& state, std::int64_t tokens) {
  const HierarchicalCache& host = state.engine.hierarchical_cache;
  const std::int64_t pages = tokens / page_of(state);
  const std::int64_t rows = state.blocks.rows_of({.blocks = pages});
  return host.latency +
         state.blocks.layout().row_bytes() * static_cast<double>(rows) / host.bandwidth;
}

void begin(EngineState& state, RadixPrefix& prefix, const PromptStart& start, StepPlan& plan) {
  const RequestId id = state.waiting.front();
  RequestState& request = state[id];
  state.waiting.pop_front();
  prefix.take(state, id, start.match);
  request.computed = start.computed;
  if (start.loaded > 0) {
    plan.loading += load_time(state, start.loaded);
    state.counters.offload_hits += start.loaded;
  }
  const bool grown = state.blocks.grow(request.kv, request.computed + start.tokens, start.tokens);
  assert(grown);
  static_cast<void>(grown);
  prefix.forget_taken(state);
  state.running.push_back(id);
  plan.admitted.push_back(id);
  plan.scheduled.push_back({id, start.tokens});
}

}  // namespace

std::int64_t pool_tokens(const KvBlocks& pool, std::int64_t blocks) {
  const std::int64_t rows_per_page = pool.rows_of({.blocks = 1});
  if (rows_per_page == 0) return std::numeric_limits<std::int64_t>::max() / 2;
  return blocks / rows_per_page * pool.layout().block_tokens;
}

PrefillBudget prefill_budget(const EngineState& state, const RadixPrefix& prefix,
                             std::span<const RequestId> decoding, double ratio,
                             std::int64_t mixed_decodes) {
  std::int64_t output = 0;
  for (RequestId id : decoding) {
    const RequestState& request = state[id];
    output += clipped_output(request.max_tokens - request.emitted);
  }
  PrefillBudget budget{.reserved = ratio * static_cast<double>(output),
                       .input_left = state.engine.max_prefill_tokens - mixed_decodes};
  if (state.engine.chunked_prefill) {
    budget.chunk_left = state.engine.max_num_batched_tokens - mixed_decodes;
  }
  budget.windows = window_pool(state);
  if (budget.windows.apart()) {
    budget.window_left = window_tokens_left(state, prefix, budget.windows) - mixed_decodes;
  }
  return budget;
}

std::optional<bool> continue_prompt(EngineState& state, RequestId id, PrefillBudget& budget,
                                    StepPlan& plan) {
  assert(budget.chunk_left);
  RequestState& request = state[id];
  const std::int64_t page = page_of(state);
  // Reservations for others may leave no tokens: the chunk still proceeds, so that the prompt's
  // pages are released eventually (available_chunk_tokens).
  const auto left = static_cast<std::int64_t>(tokens_left(state, budget));
  std::int64_t limit = left > 0 ? std::min(*budget.chunk_left, left) : *budget.chunk_left;
  if (budget.windows.apart() &&
      state.running.size() > 1) {  // it waits for windows (add_chunked_req)
    limit = std::min(limit, budget.window_left - page);
    if (left <= 0 || limit <= 0) return std::nullopt;
  }
  // If too few pages are free SGLang would run out of memory; here the chunk shrinks to fit them.
  const std::int64_t free = pool_tokens(state.blocks, state.blocks.free());
  std::int64_t tokens = std::min({request.uncomputed(), limit, free});
  const bool whole = tokens == request.uncomputed();
  if (!whole) tokens = tokens / page * page;
  if (tokens <= 0) return std::nullopt;
  if (!state.blocks.grow(request.kv, request.computed + tokens, tokens)) return std::nullopt;
  plan.scheduled.push_back({id, tokens});
  charge(state, budget, tokens, whole ? clipped_output(request.max_tokens) : 0);
  return whole;
}

Admission admit_next(EngineState& state, RadixPrefix& prefix, PrefillBudget& budget,
                     StepPlan& plan) {
  const RequestId id = state.waiting.front();
  const RequestState& request = state[id];
  const std::int64_t page = page_of(state);
  PromptStart start{.match = prefix.find(state, id)};
  start.loaded = prefix.find_in_host(state, id, start.match);
  start.computed = std::max(start.match.tokens + start.loaded, request.received);
  start.tokens = request.tokens() - start.computed;
  const std::int64_t input = whole_pages(start.tokens, page);
  // Tokens received from another replica or loaded need pages but no computing.
  const std::int64_t declared = clipped_output(request.max_tokens - request.generated);
  const std::int64_t total = start.tokens + start.loaded + request.received + page + declared;
  const double left =
      tokens_left(state, budget) - static_cast<double>(prefix.free_tokens(start.match));
  if (static_cast<double>(total) >= left) return {.pool_full = true, .stop = true};
  std::optional<std::int64_t> chunk_left = budget.chunk_left;
  // The window of a hit is locked before the pool is looked at again (add_one_req, _lock_node).
  budget.window_left -= std::min(start.match.tokens, budget.windows.window);
  if (!fits_windows(budget, input, declared, state.running.empty(), chunk_left)) {
    return {.pool_full = true, .stop = true};
  }
  // Unchunked prompts that exceed the batch's input wait for the next batch, unless they are first.
  const bool crowded = !plan.scheduled.empty() && input >= budget.input_left;
  if (!budget.chunk_left && crowded) return {.stop = true};
  const bool too_long = chunk_left && input > *chunk_left;
  if (too_long && !cut_to(start, *chunk_left, page)) return {.stop = true};
  if (!has_blocks(state, prefix, start)) return {.pool_full = true, .stop = true};
  const std::int64_t output = start.cut ? 0 : clipped_output(request.max_tokens);
  begin(state, prefix, start, plan);
  charge(state, budget, start.tokens, output);
  const std::int64_t free = pool_tokens(state.blocks, state.blocks.free());
  const bool pool_full = tokens_left(state, budget) <= 0 || free <= budget.roundings ||
                         (budget.windows.apart() && budget.window_left <= 0);
  const bool spent = budget.input_left <= 0 || (budget.chunk_left && *budget.chunk_left <= 0);
  return {.cut = start.cut, .pool_full = pool_full, .stop = pool_full || spent};
}

}  // namespace roofcast
