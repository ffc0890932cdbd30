// SGLang's scheduler (sglang/srt/managers/scheduler.py, schedule_batch.py and schedule_policy.py,
// 2025 to 2026). A step is a prefill or a decode. While a waiting request can be admitted, or a
// chunked prompt is unfinished, prompts are computed and decodes pause; with enable_mixed_chunk
// they run together. Admission relies on an estimate of what running requests will still generate
// (NewTokenRatio). If the pool runs out while they decode, those that have generated least are
// retracted and queue behind all others. Prefixes are shared token by token (RadixPrefix).
// docs/engines.md lists what is not modelled.
#include "simulator/engine/policy_sglang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "simulator/engine/draft_acceptance.hpp"
#include "simulator/engine/schedulers.hpp"
#include "simulator/engine/sglang_queue.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast {
namespace {

/// Tokens that each remaining request is assumed to generate after a retraction, and for which
/// pages are freed (SGLANG_RETRACT_DECODE_STEPS).
constexpr std::int64_t kRetractDecodeSteps = 20;

/// Blocks that these requests need for the slots of a decode each.
std::int64_t rows_required(const EngineState& state, const std::vector<RequestId>& batch) {
  const std::int64_t slots = decode_slots(state.engine);
  std::int64_t rows = 0;
  for (RequestId id : batch) {
    const RequestState& request = state[id];
    if (request.computed + slots <= request.kv.covered_tokens) continue;
    const std::int64_t needed = state.blocks.needed(request.computed + slots, slots);
    rows += std::max<std::int64_t>(0, needed - request.kv.blocks);
  }
  return rows;
}

/// Whether free blocks and the pool for windows have room for the slots of a decode each.
bool has_slots(const EngineState& state, const RadixPrefix& prefix,
               const std::vector<RequestId>& batch) {
  if (rows_required(state, batch) > state.blocks.free()) return false;
  const WindowPool pool = window_pool(state);
  if (!pool.apart() || state.running.size() <= 1) return true;
  const std::int64_t slots = decode_slots(state.engine);
  return window_tokens_left(state, prefix, pool) >= slots * std::ssize(batch);
}

/// Takes these blocks, which must be free.
void take_slots(EngineState& state, const std::vector<RequestId>& batch) {
  const std::int64_t slots = decode_slots(state.engine);
  for (RequestId id : batch) {
    RequestState& request = state[id];
    const bool grown = state.blocks.grow(request.kv, request.computed + slots, slots);
    assert(grown);
    static_cast<void>(grown);
  }
}

/// A token and its drafts of each.
void schedule_decodes(const EngineState& state, const std::vector<RequestId>& batch,
                      StepPlan& plan) {
  const std::int64_t tokens = state.engine.speculation.verified();
  for (RequestId id : batch) plan.scheduled.push_back({id, tokens});
}

/// The share of their allowed output that the remaining requests are expected to reach
/// (estimate_new_token_ratio_after_retract).
double ratio_after_retraction(const EngineState& state, const std::vector<RequestId>& remaining) {
  std::int64_t generated = 0, allowed = 0;
  for (RequestId id : remaining) {
    generated += state[id].emitted + kRetractDecodeSteps;
    allowed += state[id].max_tokens;
  }
  return std::min(1.0, static_cast<double>(generated) / static_cast<double>(allowed + 1));
}

}  // namespace

/// Looks for new requests every scheduler_recv_interval decode steps, at once after a step with
/// prompts, and while nothing runs (0.5.15, scheduler_components/recv_skipper.py, handle: a counter
/// to which a decode adds 1 and a prefill 1000; an idle loop spins). All that have arrived are
/// taken together. Steps are counted, so an engine that advances many decodes at once need not
/// report them.
void SglangPolicy::receive(EngineState& state) {
  const std::int64_t interval = state.engine.scheduler_recv_interval;
  const std::int64_t step = state.counters.steps;
  if (step > look_) look_ += (step - look_ + interval - 1) / interval * interval;
  if (step < look_) return;
  for (RequestId id : state.arrived) state.waiting.push_back(id, state[id].priority);
  state.arrived.clear();
}

void SglangPolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  receive(state);
  settle(state);
  prefill(state, plan);
  if (!plan.scheduled.empty()) {
    ratio_.count_prefill();
    plan.added += draft_time(state.engine, plan);
    look_ = state.counters.steps + 1;
    return;
  }
  decode(state, plan);
  plan.added += draft_time(state.engine, plan);
  if (plan.scheduled.empty()) look_ = state.counters.steps;
  if (state.running.empty() && state.waiting.empty()) ratio_.reset(state.counters.steps);
}

std::optional<bool> SglangPolicy::schedule_around(EngineState& state, Nanoseconds,
                                                  const DecodeLoad& load, StepPlan&) {
  receive(state);
  settle(state);
  const bool looks_at_queue = chunked_ || (!state.waiting.empty() && !full(state, 0));
  if (looks_at_queue || load.sequences == 0 || !load.others.empty()) return std::nullopt;
  if (load.rows > state.blocks.free()) return std::nullopt;
  std::int64_t unsettled = 0;
  for (const Computed& computed : computed_) unsettled += computed.tokens;
  if (!holds_any_decodes(window_pool(state), std::ssize(state.running), unsettled)) {
    return std::nullopt;
  }
  state.blocks.take_rows(load.rows);
  state.blocks.take_rows(-load.returned_blocks);
  prefix_->forget_taken(state);
  return true;
}

/// Whether a micro-batch takes no more requests.
std::vector<bool>::reference SglangPolicy::full(const EngineState& state, std::int64_t slot) {
  full_.resize(static_cast<std::size_t>(state.micro_batches), false);
  return full_[static_cast<std::size_t>(slot)];
}

/// Moves what earlier steps computed into the prefix cache: chunks at once, whole prompts when
/// their step has ended and, with the overlap schedule, the next one has started.
void SglangPolicy::settle(EngineState& state) {
  if (!prefix_) prefix_.emplace(state);
  prefix_->forget_taken(state);
  const std::int64_t unfinished =
      state.micro_batches > 1 ? state.in_progress : (decides_ahead(state.engine) ? 1 : 0);
  const std::int64_t last = state.counters.steps - 1 - unfinished;
  std::erase_if(computed_, [&](const Computed& computed) {
    if (computed.step > last) return false;
    prefix_->keep(state, computed.request, computed.tokens);
    return true;
  });
  if (chunked_) prefix_->keep(state, *chunked_, state[*chunked_].computed);
}

/// Running requests of the micro-batch that gain a token.
std::vector<RequestId> SglangPolicy::decode_batch(const EngineState& state) const {
  std::vector<RequestId> batch;
  for (RequestId id : state.running) {
    const RequestState& request = state[id];
    if (request.slot != state.slot || !state.can_run(request)) continue;
    if (chunked_ != id) batch.push_back(id);
  }
  return batch;
}

/// Fills the plan with prompts, and with decodes in mixed chunks; leaves it empty if no prompt can
/// run.
void SglangPolicy::prefill(EngineState& state, StepPlan& plan) {
  if (!chunked_ && (full(state, state.slot) || state.waiting.empty())) return;
  const std::vector<RequestId> decoding = decode_batch(state);
  const bool mixed = state.engine.enable_mixed_chunk && !decoding.empty();
  if (mixed) {
    if (!has_slots(state, *prefix_, decoding)) return;
    take_slots(state, decoding);
    prefix_->forget_taken(state);
  }
  order_waiting(state, *prefix_);
  PrefillBudget budget = prefill_budget(state, *prefix_, decoding, new_token_ratio(state),
                                        mixed ? std::ssize(decoding) : 0);
  if (chunked_) {
    const RequestId id = *chunked_;
    const std::optional<bool> whole = continue_prompt(state, id, budget, plan);
    prefix_->forget_taken(state);
    if (whole && *whole) chunked_.reset();
  }
  if (!chunked_) admit(state, budget, plan);
  for (const auto& [id, tokens] : plan.scheduled) {
    state[id].slot = state.slot;
    if (chunked_ == id) continue;
    computed_.push_back(
        {.request = id, .tokens = state[id].computed + tokens, .step = state.counters.steps});
  }
  if (mixed && !plan.scheduled.empty()) schedule_decodes(state, decoding, plan);
}

/// Admits waiting requests, strictly in order: the first that cannot start ends it. A micro-batch
/// has its share of the places (pp_max_micro_batch_size, by default max_running_requests /
/// pp_size).
void SglangPolicy::admit(EngineState& state, PrefillBudget& budget, StepPlan& plan) {
  const std::int64_t places =
      std::max<std::int64_t>(1, state.engine.max_num_seqs / state.micro_batches);
  std::int64_t taken = std::ranges::count_if(
      state.running, [&](RequestId id) { return state[id].slot == state.slot; });
  for (; !state.waiting.empty(); ++taken) {
    if (taken >= places || std::ssize(state.running) >= state.engine.max_num_seqs) {
      full(state, state.slot) = true;
    }
    if (full(state, state.slot)) return;
    const Admission admission = admit_next(state, *prefix_, budget, plan);
    if (admission.cut) chunked_ = state.running.back();
    full(state, state.slot) = admission.pool_full;
    if (admission.stop) return;
  }
}

void SglangPolicy::decode(EngineState& state, StepPlan& plan) {
  std::vector<RequestId> batch = decode_batch(state);
  if (!has_slots(state, *prefix_, batch)) retract(state, batch, plan);
  take_slots(state, batch);
  prefix_->forget_taken(state);
  schedule_decodes(state, batch, plan);
}

/// Retracts requests until the rest can continue: those that have generated least first, then those
/// with the longest prompts, then the last admitted. One stays, unless a chunked prompt holds the
/// blocks it needs. The batch ends up empty if the last request must wait for blocks of requests
/// that are about to finish.
void SglangPolicy::retract(EngineState& state, std::vector<RequestId>& batch, StepPlan& plan) {
  std::vector<RequestId> order = batch;
  std::stable_sort(order.begin(), order.end(), [&](RequestId a, RequestId b) {
    if (state[a].emitted != state[b].emitted) return state[a].emitted > state[b].emitted;
    return state[a].input_tokens < state[b].input_tokens;
  });
  // Other micro-batches of a pipeline may hold the blocks, too.
  const std::size_t min = chunked_ || state.micro_batches > 1 ? 0 : 1;
  bool fits = false;
  while (!fits && order.size() > min) {
    retract_one(state, order.back(), plan);
    order.pop_back();
    prefix_->forget_taken(state, std::ssize(order) * kRetractDecodeSteps);
    fits = has_slots(state, *prefix_, order);
  }
  std::erase_if(batch, [&](RequestId id) {
    return std::find(order.begin(), order.end(), id) == order.end();
  });
  if (!fits) batch.clear();
  if (plan.preempted.empty()) return;
  full(state, state.slot) = false;
  ratio_.set(ratio_after_retraction(state, order), state.counters.steps + (batch.empty() ? 0 : 1));
}

/// Releases all its blocks; its computed tokens are found again only if the prefix cache has them
/// (release_req). It queues behind all others.
void SglangPolicy::retract_one(EngineState& state, RequestId id, StepPlan& plan) {
  RequestState& request = state[id];
  state.counters.recomputed_tokens += request.computed;
  state.counters.dropped_tokens += request.computed;
  std::erase_if(computed_, [&](const Computed& computed) { return computed.request == id; });
  prefix_->drop(state, id);
  request.computed = 0;
  request.received = 0;
  std::erase(state.running, id);
  state.waiting.push_back(id, request.priority);
  plan.preempted.push_back(id);
}

void SglangPolicy::finish(EngineState& state, RequestId id) {
  prefix_->forget_taken(state);
  std::erase_if(computed_, [&](const Computed& computed) { return computed.request == id; });
  prefix_->finish(state, id);
  full(state, state[id].slot) = false;
}

void SglangPolicy::abandon(EngineState& state, RequestId id) {
  if (prefix_) prefix_->drop(state, id);
}

std::int64_t SglangPolicy::cached_tokens(const EngineState& state, RequestId id) const {
  if (!prefix_) return 0;
  prefix_->forget_taken(state);
  return prefix_->cached_tokens(state, id);
}

/// Prompt, output and one extra page must leave a token free (PrefillAdder). Prompts are cut at
/// multiples of a page; an unchunked prompt of any length is computed if it is the first of its
/// batch.
Demand SglangPolicy::demand_of(const Engine& engine, const Request& request,
                               const CacheLayout& layout) const {
  Demand demand = demand_if_recomputed(engine, request, layout.block_tokens);
  demand.cached =
      request.input_tokens + request.output_tokens + layout.block_tokens + decode_slots(engine);
  if (engine.chunked_prefill) return demand;
  demand.in_flight = kMaxTokens;
  demand.at_once = 0;
  return demand;
}

/// Two tokens less than the context; prompt in whole pages, output and one page are fewer than the
/// pool's tokens (SGLang 0.5.15, managers/scheduler.py, init_req_max_new_tokens).
std::int64_t SglangPolicy::longest_sequence(const EngineState& state,
                                            std::int64_t input_tokens) const {
  const std::int64_t page = state.blocks.layout().block_tokens;
  const std::int64_t paged = (input_tokens + page - 1) / page * page;
  const std::int64_t pool = pool_tokens(state.blocks, state.blocks.usable());
  return std::min(BatchingPolicy::longest_sequence(state, input_tokens) - 2,
                  input_tokens + pool - paged - page - 1);
}

std::string SglangPolicy::step_limit(const Engine& engine, const CacheLayout& layout) const {
  return fmt::format("chunked_prefill_size {} is less than a page of {} tokens",
                     engine.max_num_batched_tokens, layout.block_tokens);
}

std::unique_ptr<BatchingPolicy> sglang_policy(const Engine& engine) {
  return std::make_unique<SglangPolicy>(engine);
}

}  // namespace roofcast
