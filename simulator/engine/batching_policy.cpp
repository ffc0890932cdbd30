#include "simulator/engine/batching_policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/schedulers.hpp"

namespace roofcast {
namespace {

/// KV slots that the last decode needs beyond its own token, for current and next drafts.
std::int64_t draft_slots(const Engine& engine, const Request& request) {
  if (!engine.speculation.on()) return 0;
  // A prompt's later chunks look ahead, too; the only token of an output has no drafts to verify.
  const std::int64_t verified = request.output_tokens == 1 ? 0 : engine.speculation.draft_tokens;
  if (!traits_of(engine.scheduler).counts_draft_slots) return decode_slots(engine) - 1;
  const std::int64_t slots = verified + engine.speculation.lookahead();
  if (engine.max_model_len == 0) return slots;
  const std::int64_t cached = request.input_tokens + request.output_tokens - 1;
  return std::min(slots, engine.max_model_len - cached);
}

/// Tokens that one step can add to the cache, drafts and slots for the next included.
std::int64_t tokens_in_flight(const Engine& engine) {
  return engine.max_num_batched_tokens + engine.speculation.lookahead() + decode_slots(engine) - 1;
}

/// The demand with `cached` tokens in the KV cache, `together` of which are computed in one step
/// unless they can be chunked.
Demand demand_with(const Engine& engine, std::int64_t cached, std::int64_t together,
                   std::int64_t smallest_chunk) {
  return {.cached = cached,
          .in_flight = tokens_in_flight(engine),
          .at_once = engine.chunked_prefill ? std::min(together, smallest_chunk) : together};
}

/// The most tokens that one sequence can hold in the whole cache beside `slots` for drafts; at
/// least `min`, at most `max`.
std::int64_t tokens_held(const KvBlocks& blocks, std::int64_t slots, std::int64_t min,
                         std::int64_t max) {
  while (min < max) {
    const std::int64_t middle = min + (max - min + 1) / 2;
    if (blocks.max_needed(middle + slots) <= blocks.usable()) {
      min = middle;
    } else {
      max = middle - 1;
    }
  }
  return min;
}

}  // namespace

Demand demand_if_recomputed(const Engine& engine, const Request& request,
                            std::int64_t smallest_chunk) {
  // The last token is never fed back.
  const std::int64_t tokens = request.input_tokens + request.output_tokens - 1;
  return demand_with(engine, tokens + draft_slots(engine, request), tokens, smallest_chunk);
}

Demand demand_if_reserved(const Engine& engine, const Request& request,
                          std::int64_t smallest_chunk) {
  const std::int64_t tokens =
      request.input_tokens + request.output_tokens + decode_slots(engine) - 1;
  return demand_with(engine, tokens, request.input_tokens, smallest_chunk);
}

std::string BatchingPolicy::step_limit(const Engine& engine, const CacheLayout&) const {
  return fmt::format("without chunked prefill a step holds at most max_num_batched_tokens {}",
                     engine.max_num_batched_tokens);
}

std::int64_t BatchingPolicy::longest_sequence(const EngineState& state, std::int64_t) const {
  return state.engine.max_model_len > 0 ? state.engine.max_model_len : kMaxTokens;
}

std::int64_t reserved_output(const BatchingPolicy& policy, const EngineState& state,
                             const RequestState& request) {
  if (!policy.reserves_output(state.engine)) return request.output_tokens;
  const std::int64_t longest = policy.longest_sequence(state, request.input_tokens);
  const std::int64_t declared = request.max_tokens == kNoMaxTokens
                                    ? longest
                                    : std::min(longest, request.input_tokens + request.max_tokens);
  const std::int64_t exact = request.input_tokens + request.output_tokens;
  if (declared <= exact) return request.output_tokens;
  const std::int64_t slots = decode_slots(state.engine) - 1;
  return tokens_held(state.blocks, slots, exact, declared) - request.input_tokens;
}

std::optional<bool> decode_alone(EngineState& state, const DecodeLoad& load) {
  if (load.sequences == 0 || !load.others.empty()) return std::nullopt;
  if (load.sequences > state.engine.max_num_batched_tokens) return std::nullopt;
  if (!state.blocks.take_rows(load.rows)) return std::nullopt;
  state.blocks.take_rows(-load.returned_blocks);
  return true;
}

void preempt(EngineState& state, RequestId id) {
  RequestState& request = state[id];
  state.counters.recomputed_tokens += request.computed;
  state.counters.dropped_tokens += request.computed;
  keep_own_blocks(state, id);
  state.blocks.release(request.kv);
  keep_own_state(state, id);
  request.computed = 0;
  request.received = 0;
  state.waiting.push_front(id, request.priority);
}

KvBlocks kv_blocks_of(const Replica& replica) {
  const Engine& engine = replica.engine;
  const bool checkpoints = traits_of(engine.scheduler).state_checkpoints && engine.prefix_caching;
  return {replica.layout, replica.kv_blocks, tokens_in_flight(engine), engine.kv_reservation,
          checkpoints};
}

std::unique_ptr<BatchingPolicy> make_policy(const Engine& engine) {
  const auto* const found = std::ranges::find(kSchedulers, engine.scheduler, &Scheduler::kind);
  if (found != kSchedulers.end()) return found->make(engine);
  throw Error(fmt::format("engine '{}': its scheduler is not simulated", engine.name));
}

}  // namespace roofcast
