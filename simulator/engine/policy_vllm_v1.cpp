// vLLM's V1 scheduler (vllm/v1/core/sched/scheduler.py and kv_cache_manager.py, 2025 to 2026).
// Each step has a budget of tokens. Running requests come first, in order of admission: a decode
// takes one token, an unfinished prompt a chunk. When blocks run out, the newest running request
// (or the one of worst priority) is preempted. The remaining budget admits waiting requests,
// strictly in order, unless the step preempted; a prompt's cached blocks are not recomputed. With
// drafts a decode computes 1 + k tokens. Data-parallel ranks that share experts may compute prompts
// in every N-th step only (prefill_schedule_interval). Not modelled: docs/engines.md.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/draft_acceptance.hpp"
#include "simulator/engine/running_adapters.hpp"
#include "simulator/engine/schedulers.hpp"
#include "simulator/engine/vllm_admission.hpp"

namespace roofcast {
namespace {

class VllmV1Policy final : public BatchingPolicy {
 public:
  explicit VllmV1Policy(const Engine& engine)
      : aggregate_(!engine.speculation.on() && !engine.kv_offloading.on()) {}

  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  /// False with drafts, since each request gains a different number of tokens per step, and with KV
  /// offload, which is tracked per block.
  bool schedules_in_aggregate() const override { return aggregate_; }
  void finish(EngineState& state, RequestId id) override;
  std::optional<Nanoseconds> next_wake(const EngineState& state) const override;
  Demand demand_of(const Engine& engine, const Request& request,
                   const CacheLayout&) const override {
    if (engine.kv_reservation == KvReservation::paged) return demand_if_recomputed(engine, request);
    Demand demand = demand_if_reserved(engine, request);
    demand.cached = reserved_tokens(engine, request.input_tokens, request.output_tokens);
    return demand;
  }
  /// Nothing is preempted where whole sequences are reserved.
  bool recomputes_prompts(const Engine& engine) const override {
    return engine.kv_reservation == KvReservation::paged;
  }
  bool runs_adapters() const override { return true; }
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const override;

 private:
  void admit(EngineState& state, Nanoseconds now, std::int64_t budget, bool defers, StepPlan& plan);

  bool aggregate_ = true;
  bool saturated_ = false;  // requests were left waiting when prompts could last start
  AdmissionMemory admission_;
  Nanoseconds decided_ = 0;  // time of the last schedule() call
};

/// Index in `running` of the request to preempt: the last admitted, or the worst in priority, ties
/// by later arrival. Skips requests whose last token is being sampled, as they free their blocks
/// anyway.
std::size_t victim_position(const EngineState& state) {
  const auto& running = state.running;
  const bool by_priority = state.engine.order == QueueOrder::priority;
  std::optional<std::size_t> worst;
  for (std::size_t i = running.size(); i-- > 0;) {
    const RequestId id = running[i];
    if (state[id].complete()) continue;
    if (!by_priority) return i;
    const bool worse = !worst || std::tuple(state[id].priority, id) >
                                     std::tuple(state[running[*worst]].priority, running[*worst]);
    if (worse) worst = i;
  }
  return *worst;  // may be the request that needs the blocks
}

/// Removes a request from this step if it is scheduled; returns the tokens it had.
std::int64_t unschedule(StepPlan& plan, RequestId id) {
  const auto found = std::find_if(plan.scheduled.begin(), plan.scheduled.end(),
                                  [&](const ScheduledTokens& s) { return s.request == id; });
  if (found == plan.scheduled.end()) return 0;
  const std::int64_t tokens = found->tokens;
  plan.scheduled.erase(found);
  return tokens;
}

/// State of phase A: the index of the current request, and the token budget left.
struct RunningPass {
  std::size_t at = 0;
  std::int64_t budget = 0;
};

/// Drafts that a request verifies in its next step.
std::int64_t drafts_of(const EngineState& state, const RequestState& request) {
  return request.decoding() ? state.engine.speculation.draft_tokens : 0;
}

/// Tokens that the request's next step computes with `budget` left. Drafts end at the maximum
/// sequence length.
std::int64_t tokens_of_step(const EngineState& state, const RequestState& request,
                            std::int64_t budget) {
  const Engine& engine = state.engine;
  const std::int64_t wanted =
      wanted_tokens(engine, request.uncomputed() + drafts_of(state, request));
  const std::int64_t tokens =
      aligned_chunk(state, request, request.computed, std::min(wanted, budget));
  if (engine.max_model_len == 0) return tokens;
  return std::min(tokens, engine.max_model_len - 1 - request.computed);
}

/// Tokens that the request's blocks must cover in a step of `tokens`, including slots for the next
/// drafts.
std::int64_t covered_by(const EngineState& state, const RequestState& request,
                        std::int64_t tokens) {
  const Engine& engine = state.engine;
  const std::int64_t covered = request.computed + tokens + engine.speculation.lookahead();
  return engine.max_model_len > 0 ? std::min(covered, engine.max_model_len) : covered;
}

/// Preempts until the current request has blocks for `tokens` more; false if it was preempted
/// itself. If a victim was already scheduled in this step, its tokens return to the budget.
bool make_room(EngineState& state, StepPlan& plan, RunningPass& pass, std::int64_t tokens,
               KvOffload& offload) {
  const RequestId id = state.running[pass.at];
  RequestState& request = state[id];
  const std::int64_t covered = covered_by(state, request, tokens);
  while (!state.blocks.grow(request.kv, covered, covered - request.computed)) {
    if (offload.give_up_last(state)) continue;
    const std::size_t position = victim_position(state);
    const RequestId victim = state.running[position];
    state.running.erase(state.running.begin() + static_cast<std::ptrdiff_t>(position));
    if (position < pass.at) {
      pass.budget += unschedule(plan, victim);
      --pass.at;
    }
    preempt(state, victim);
    plan.preempted.push_back(victim);
    if (victim == id) return false;
  }
  return true;
}

/// A request with more to compute than the token that it samples from (is_prefill_chunk).
bool is_prompt(const RequestState& request) { return !request.complete() && !request.decoding(); }

/// Whether this is a step for which data-parallel ranks put off their prompts (0.24,
/// v1/engine/core.py, DPEngineCoreProc._should_throttle_prefills; vllm-project/vllm pull 44558).
bool between_prompts(const EngineState& state) {
  const std::int64_t interval = state.engine.prefill_schedule_interval;
  return interval > 1 && state.step_number && *state.step_number % interval != 0;
}

/// Phase A: the running requests. Returns the budget left.
std::int64_t schedule_running(EngineState& state, StepPlan& plan, KvOffload& offload,
                              bool defers_prompts) {
  RunningPass pass{.at = 0, .budget = state.engine.max_num_batched_tokens};
  while (pass.at < state.running.size() && pass.budget > 0) {
    const RequestId id = state.running[pass.at];
    const RequestState& request = state[id];
    if (!state.can_run(request) || (defers_prompts && is_prompt(request))) {
      ++pass.at;
      continue;
    }
    const std::int64_t tokens = tokens_of_step(state, request, pass.budget);
    if (tokens == 0) {  // less than a block, which its state would have to end
      ++pass.at;
      continue;
    }
    if (!make_room(state, plan, pass, tokens, offload)) break;
    // Drafts are not shared: they may be rejected.
    const std::int64_t certain = std::min(request.computed + tokens, request.tokens());
    share_full_blocks(state, id, certain);
    plan.added += offload.store(state, id, certain);
    plan.scheduled.push_back({id, tokens});
    pass.budget -= tokens;
    ++pass.at;
  }
  return pass.budget;
}

/// Whether the unfinished prompts come after all decodes in `running`, so that the decodes get
/// their tokens and blocks first.
bool stand_last(const EngineState& state, std::span<const RequestId> others) {
  std::size_t left = others.size();
  for (std::size_t i = state.running.size(); left > 0; --i) {
    const RequestId id = state.running[i - 1];
    if (id == others[left - 1]) {
      --left;
    } else if (!state[id].complete()) {
      return false;
    }
  }
  return true;
}

/// Tokens for the next unfinished prompt, with `budget` left.
std::int64_t chunk_of(const EngineState& state, RequestId id, std::int64_t budget) {
  const RequestState& request = state[id];
  return aligned_chunk(state, request, request.computed,
                       std::min(wanted_tokens(state.engine, request.uncomputed()), budget));
}

/// Blocks that the unfinished prompts need for their next chunks.
std::int64_t rows_of_chunks(const EngineState& state, std::span<const RequestId> others,
                            std::int64_t budget) {
  std::int64_t rows = 0;
  for (RequestId id : others) {
    const std::int64_t tokens = chunk_of(state, id, budget);
    if (tokens == 0) continue;
    const RequestState& request = state[id];
    const std::int64_t needed = state.blocks.needed(request.computed + tokens, tokens);
    rows += std::max<std::int64_t>(0, needed - request.kv.blocks);
    budget -= tokens;
  }
  return rows;
}

std::optional<bool> VllmV1Policy::schedule_around(EngineState& state, Nanoseconds now,
                                                  const DecodeLoad& load, StepPlan& plan) {
  state.blocks.new_step();
  std::int64_t budget = state.engine.max_num_batched_tokens - load.sequences;
  if (budget < 0 || !stand_last(state, load.others)) return std::nullopt;
  std::span<const RequestId> others = load.others;
  std::vector<RequestId> decodes;  // of the others, if prompts are put off
  bool defers = between_prompts(state) && !saturated_;
  if (defers) {
    std::ranges::copy_if(others, std::back_inserter(decodes),
                         [&](RequestId id) { return !is_prompt(state[id]); });
    const std::ptrdiff_t prompts = std::ssize(others) - std::ssize(decodes);
    defers = std::ssize(state.running) > prompts;
    if (defers) others = decodes;
  }
  const std::int64_t rows = load.rows + rows_of_chunks(state, others, budget);
  if (rows > state.blocks.free()) return std::nullopt;
  state.blocks.take_rows(load.rows);
  state.blocks.take_rows(-load.returned_blocks);
  for (RequestId id : others) {
    const std::int64_t tokens = chunk_of(state, id, budget);
    if (tokens == 0) continue;
    RequestState& request = state[id];
    state.blocks.grow(request.kv, request.computed + tokens, tokens);
    share_full_blocks(state, id, request.computed + tokens);
    plan.scheduled.push_back({id, tokens});
    budget -= tokens;
  }
  admit(state, now, budget, defers, plan);
  return load.sequences > 0;
}

/// Phase B: the waiting requests. Where prompts may start, what is left then tells whether to put
/// prompts off in the next steps: not while more wait than a step takes (prefill_capacity_bound in
/// Scheduler.schedule).
void VllmV1Policy::admit(EngineState& state, Nanoseconds now, std::int64_t budget, bool defers,
                         StepPlan& plan) {
  const AdmissionPass pass{.budget = budget, .now = now, .defers_prompts = defers};
  const bool left = admit_waiting(state, plan, pass, admission_);
  if (!defers) saturated_ = left;
}

void VllmV1Policy::schedule(EngineState& state, Nanoseconds now, StepPlan& plan) {
  decided_ = now;
  state.blocks.new_step();
  const bool defers =
      between_prompts(state) && !saturated_ &&
      !std::ranges::all_of(state.running, [&](RequestId id) { return is_prompt(state[id]); });
  const std::int64_t budget = schedule_running(state, plan, admission_.offload, defers);
  if (plan.preempted.empty()) {
    admit(state, now, budget, defers, plan);
  } else {
    plan.added += RunningAdapters(state, plan).time();
  }
  plan.added += draft_time(state.engine, plan);
}

std::optional<Nanoseconds> VllmV1Policy::next_wake(const EngineState&) const {
  return admission_.offload.next_end(decided_);
}

void VllmV1Policy::finish(EngineState& state, RequestId id) {
  const std::optional<BlockKey> last = share_generated_blocks(state, id);
  state.blocks.release(state[id].kv);
  if (last && state.blocks.checkpoints()) state.blocks.checkpoint(*last);
}

std::int64_t VllmV1Policy::cached_tokens(const EngineState& state, RequestId id) const {
  return cached_prompt_tokens(state, id);
}

}  // namespace

std::unique_ptr<BatchingPolicy> vllm_v1_policy(const Engine& engine) {
  return std::make_unique<VllmV1Policy>(engine);
}

}  // namespace roofcast
