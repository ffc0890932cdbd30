// ATOM's scheduler (ROCm/ATOM, atom/model_engine/scheduler.py and block_manager.py, 0.1.1 to
// 0.1.5). A step computes prompts or decodes, never both: prompts as long as one can start. Up to
// 0.1.2 they are whole and those that fit the token budget go together; from 0.1.3 on the last is
// cut, and unfinished prompts come first. A prompt takes blocks for its whole sequence when it
// starts. max_num_seqs limits the prompts of a step and the decodes of a step, each by itself, not
// how many run. When a decode finds no block, the newest running request is preempted and computed
// again from its start. Not modelled: docs/engines.md.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/draft_acceptance.hpp"
#include "simulator/engine/schedulers.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast {
namespace {

/// A prompt whose blocks others find once its first token is on the host (0.1.3, postprocess and
/// BlockManager.hash_blocks; 0.1.2, where caching is off by default, names them at once).
struct ComputedPrompt {
  RequestId request = 0;
  std::int64_t step = 0;  // EngineCounters::steps when its last chunk was chosen
};

class AtomPolicy final : public BatchingPolicy {
 public:
  explicit AtomPolicy(const Engine& engine) : aggregate_(!engine.speculation.on()) {}

  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  /// False with drafts, of which each request accepts a number of its own.
  bool schedules_in_aggregate() const override { return aggregate_; }
  void finish(EngineState& state, RequestId id) override;
  Demand demand_of(const Engine& engine, const Request& request,
                   const CacheLayout& layout) const override;
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const override {
    return cached_prompt_tokens(state, id);
  }

 private:
  void settle(EngineState& state);
  void prefill(EngineState& state, StepPlan& plan);
  void decode(EngineState& state, StepPlan& plan);
  bool make_room(EngineState& state, StepPlan& plan, std::size_t at);
  void preempt_at(EngineState& state, StepPlan& plan, std::size_t position);

  bool aggregate_ = true;
  std::vector<ComputedPrompt> computed_;  // of requests that hold blocks
};

/// Tokens of a decode: one and its drafts.
std::int64_t tokens_of_decode(const Engine& engine) { return engine.speculation.verified(); }

/// Whether the free blocks are enough for the decode of this request.
bool has_room(const EngineState& state, const RequestState& request) {
  const std::int64_t tokens = tokens_of_decode(state.engine);
  const std::int64_t blocks = state.blocks.needed(request.computed + tokens, tokens);
  return blocks - request.kv.blocks <= state.blocks.free();
}

/// A prompt that has started, has chunks left, and can run now.
bool is_unfinished(const EngineState& state, const RequestState& request) {
  return state.can_run(request) && !request.decoding();
}

/// What a prompt computes with `budget` tokens of the step left; 0: nothing. A preempted request
/// that exceeds a whole step has one to itself (ATOM would not start it again).
std::int64_t chunk_within(const Engine& engine, const RequestState& request,
                          std::int64_t uncomputed, std::int64_t budget) {
  if (engine.chunked_prefill) return std::min(uncomputed, budget);
  const bool alone = request.generated > 0 && budget == engine.max_num_batched_tokens;
  return uncomputed <= budget || alone ? uncomputed : 0;
}

/// How the request at the head of the queue would start.
struct AtomStart {
  PrefixHit hit{};
  std::int64_t computed = 0;  // tokens that need not be
  std::int64_t tokens = 0;    // to compute in this step
  bool decodes = false;       // instead: K and V of its prompt come from a prefill replica
};

/// nullopt if it cannot start with `budget` tokens of the step left.
std::optional<AtomStart> start_of_head(EngineState& state, std::int64_t budget) {
  const RequestId id = state.waiting.front();
  const RequestState& request = state[id];
  if (state.awaits_token(request)) return std::nullopt;
  AtomStart start;
  if (request.received == 0) start.hit = find_prefix(state, id);
  start.computed = std::max(start.hit.tokens, request.received);
  const std::int64_t uncomputed = request.tokens() - start.computed;
  start.decodes = request.received > 0 && request.generated > 0 && uncomputed == 1;
  if (!start.decodes) start.tokens = chunk_within(state.engine, request, uncomputed, budget);
  if (start.tokens == 0 && !start.decodes) return std::nullopt;
  const std::int64_t shared = state.blocks.rows_of(start.hit.blocks) - start.hit.blocks.free;
  const std::int64_t blocks = state.blocks.needed(request.tokens(), uncomputed);
  if (blocks - shared > state.blocks.free()) return std::nullopt;
  return start;
}

/// Starts it, with blocks for its whole sequence.
void start_head(EngineState& state, StepPlan& plan, const AtomStart& start) {
  const RequestId id = state.waiting.front();
  RequestState& request = state[id];
  take_prefix(state, id, start.hit);
  request.computed = start.computed;
  const bool grown = state.blocks.grow(request.kv, request.tokens(), request.uncomputed());
  assert(grown);
  static_cast<void>(grown);
  state.waiting.pop_front();
  state.running.push_back(id);
  plan.admitted.push_back(id);
  if (!start.decodes) plan.scheduled.push_back({id, start.tokens});
}

/// Names the blocks of prompts whose first token has reached the host: their step has ended, and
/// the next one has started (deferred output).
void AtomPolicy::settle(EngineState& state) {
  const std::int64_t unfinished =
      state.micro_batches > 1 ? state.in_progress : (decides_ahead(state.engine) ? 1 : 0);
  const std::int64_t last = state.counters.steps - 1 - unfinished;
  std::erase_if(computed_, [&](const ComputedPrompt& prompt) {
    if (prompt.step > last) return false;
    share_full_blocks(state, prompt.request, state[prompt.request].input_tokens);
    return true;
  });
}

/// Unfinished prompts in the order in which they started, then waiting ones up to the first that
/// cannot start.
void AtomPolicy::prefill(EngineState& state, StepPlan& plan) {
  std::int64_t budget = state.engine.max_num_batched_tokens;
  std::int64_t places = state.engine.max_num_seqs;
  for (RequestId id : state.running) {
    if (places == 0 || budget == 0) break;
    if (!is_unfinished(state, state[id])) continue;
    const std::int64_t tokens = std::min(state[id].uncomputed(), budget);
    plan.scheduled.push_back({id, tokens});
    budget -= tokens;
    --places;
  }
  while (places > 0 && budget > 0 && !state.waiting.empty()) {
    const std::optional<AtomStart> start = start_of_head(state, budget);
    if (!start) break;
    start_head(state, plan, *start);
    budget -= start->tokens;
    if (!start->decodes) --places;
  }
  if (!state.engine.prefix_caching) return;
  for (const auto& [id, tokens] : plan.scheduled) {
    if (tokens < state[id].uncomputed()) continue;
    computed_.push_back({.request = id, .step = state.counters.steps});
  }
}

/// Computed again later from its first token; of its blocks those that are named may still be found
/// then.
void AtomPolicy::preempt_at(EngineState& state, StepPlan& plan, std::size_t position) {
  const RequestId id = state.running[position];
  RequestState& request = state[id];
  state.running.erase(state.running.begin() + static_cast<std::ptrdiff_t>(position));
  state.counters.recomputed_tokens += request.computed;
  state.counters.dropped_tokens += request.computed;
  std::erase_if(computed_, [&](const ComputedPrompt& prompt) { return prompt.request == id; });
  state.blocks.release(request.kv);
  request.computed = 0;
  request.received = 0;
  state.waiting.push_front(id, request.priority);
  plan.preempted.push_back(id);
}

/// Preempts the newest requests until the one at `at` has room; false if that preempted it itself.
/// Requests whose last token is being sampled free their blocks anyway.
bool AtomPolicy::make_room(EngineState& state, StepPlan& plan, std::size_t at) {
  while (!has_room(state, state[state.running[at]])) {
    std::size_t newest = state.running.size() - 1;
    while (newest > at && state[state.running[newest]].complete()) --newest;
    preempt_at(state, plan, newest);
    if (newest == at) return false;
  }
  return true;
}

void AtomPolicy::decode(EngineState& state, StepPlan& plan) {
  const std::int64_t tokens = tokens_of_decode(state.engine);
  std::int64_t budget = state.engine.max_num_batched_tokens;
  for (std::size_t at = 0; at < state.running.size(); ++at) {
    if (std::ssize(plan.scheduled) == state.engine.max_num_seqs || tokens > budget) return;
    const RequestId id = state.running[at];
    if (!state.can_run(state[id])) continue;
    if (!make_room(state, plan, at)) return;
    RequestState& request = state[id];
    const bool grown = state.blocks.grow(request.kv, request.computed + tokens, tokens);
    assert(grown);
    static_cast<void>(grown);
    plan.scheduled.push_back({id, tokens});
    budget -= tokens;
  }
}

void AtomPolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  settle(state);
  prefill(state, plan);
  if (plan.scheduled.empty()) decode(state, plan);
  plan.added += draft_time(state.engine, plan);
}

/// Decodes alone: where a prompt can start, or blocks run out, single requests decide.
std::optional<bool> AtomPolicy::schedule_around(EngineState& state, Nanoseconds,
                                                const DecodeLoad& load, StepPlan&) {
  settle(state);
  const bool starts = !state.waiting.empty() &&
                      start_of_head(state, state.engine.max_num_batched_tokens).has_value();
  if (starts || load.sequences > state.engine.max_num_seqs) return std::nullopt;
  return decode_alone(state, load);
}

void AtomPolicy::finish(EngineState& state, RequestId id) {
  std::erase_if(computed_, [&](const ComputedPrompt& prompt) {
    if (prompt.request != id) return false;
    share_full_blocks(state, id, state[id].input_tokens);
    return true;
  });
  state.blocks.release(state[id].kv);
}

/// A prompt takes all its blocks at once.
Demand AtomPolicy::demand_of(const Engine& engine, const Request& request,
                             const CacheLayout&) const {
  Demand demand = demand_if_recomputed(engine, request);
  if (!engine.chunked_prefill) demand.at_once = request.input_tokens;
  demand.in_flight = kMaxTokens;
  demand.decode = tokens_of_decode(engine);
  return demand;
}

}  // namespace

std::unique_ptr<BatchingPolicy> atom_policy(const Engine& engine) {
  return std::make_unique<AtomPolicy>(engine);
}

}  // namespace roofcast
