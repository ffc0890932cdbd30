// TensorRT-LLM's scheduler, as its PyTorch backend runs it (tensorrt_llm/_torch/pyexecutor/
// scheduler.py and py_executor.py; the algorithms are those of cpp/tensorrt_llm/batch_manager).
// Two stages: which requests may be active, given the KV blocks (tensorrt_capacity.hpp), and which
// of them run in this step, given its token budget (tensorrt_micro_batch.hpp). Generations and
// prompts share a step. A prompt takes the blocks of its whole length when it starts. Prompt blocks
// can be reused once the prompt is fully computed and that step has ended (store_context_blocks in
// resource_manager.py; NVIDIA/TensorRT-LLM pulls 6683 and 12416: one step later with the overlap
// scheduler). A paused request is recomputed, with its generated tokens as part of its prompt.
// docs/engines.md lists what is not modelled.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/draft_acceptance.hpp"
#include "simulator/engine/schedulers.hpp"
#include "simulator/engine/tensorrt_capacity.hpp"
#include "simulator/engine/tensorrt_micro_batch.hpp"

namespace roofcast {
namespace {

class TensorrtLlmPolicy final : public BatchingPolicy {
 public:
  explicit TensorrtLlmPolicy(const Engine& engine)
      : aggregate_(!engine.speculation.on() && !engine.attention_dp_enable_balance) {}

  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  StepOffer offer(EngineState& state, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  bool schedules_in_aggregate() const override { return aggregate_; }
  void finish(EngineState& state, RequestId id) override;
  Demand demand_of(const Engine& engine, const Request& request,
                   const CacheLayout& layout) const override;
  std::string step_limit(const Engine& engine, const CacheLayout& layout) const override;
  /// If a client declares nothing it is max_seq_len - prompt (TensorRT-LLM 1.0,
  /// executor/base_worker.py, _deduce_max_tokens); max_seq_len is lowered to what the KV cache
  /// holds (TrtGptModelInflightBatching::adjustMaxAttentionWindow).
  bool reserves_output(const Engine& engine) const override { return !recomputes_prompts(engine); }
  bool recomputes_prompts(const Engine& engine) const override {
    return engine.capacity_scheduler_policy == CapacityPolicy::max_utilization;
  }
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const override;

 private:
  /// A prompt whose last tokens are computed in a step.
  struct Prompt {
    RequestId request = 0;
    std::int64_t tokens = 0;
    std::int64_t emitted = 0;  // tokens the client has when that step has ended
  };

  void choose(EngineState& state, StepPlan& plan);
  void hold_prompts();
  void share_computed_prompts(EngineState& state);
  void wait_for_prompts(const EngineState& state);
  bool start(EngineState& state, AdmissionCandidate& candidate, StepPlan& plan);
  void run(EngineState& state, const AdmissionCandidate& candidate, StepPlan& plan);
  void put_back(EngineState& state, const StepPlan& plan) const;

  // The fast engine's batches have no drafts, and its ranks do not decide together.
  bool aggregate_ = true;
  bool chosen_ = false;  // candidates_ are of the step that is decided next
  Candidates candidates_{};
  std::int64_t waited_ = 0;       // iterations for which prompts have waited for more of them
  std::vector<Prompt> ending_{};  // whose blocks cannot be reused yet
};

/// Which requests may run, and how many tokens of each.
void TensorrtLlmPolicy::choose(EngineState& state, StepPlan& plan) {
  share_computed_prompts(state);
  find_candidates(state, plan, candidates_);
  share_tokens(state.engine, state.blocks.layout().block_tokens, candidates_.fitting);
}

StepOffer TensorrtLlmPolicy::offer(EngineState& state, StepPlan& plan) {
  choose(state, plan);
  chosen_ = true;
  StepOffer offer;
  for (const AdmissionCandidate& candidate : candidates_.fitting) {
    if (candidate.tokens > 0) ++(candidate.generation ? offer.generations : offer.prompts);
  }
  return offer;
}

void TensorrtLlmPolicy::schedule(EngineState& state, Nanoseconds, StepPlan& plan) {
  if (!std::exchange(chosen_, false)) choose(state, plan);
  if (state.holds_prompts) hold_prompts();
  wait_for_prompts(state);
  for (AdmissionCandidate& candidate : candidates_.fitting) {
    if (candidate.tokens == 0) continue;
    if (candidate.waiting && !start(state, candidate, plan)) continue;
    run(state, candidate, plan);
  }
  put_back(state, plan);
  plan.added += draft_time(state.engine, plan);
}

std::optional<bool> TensorrtLlmPolicy::schedule_around(EngineState& state, Nanoseconds,
                                                       const DecodeLoad& load, StepPlan&) {
  share_computed_prompts(state);
  const bool full = std::cmp_greater_equal(state.running.size(), state.engine.max_num_seqs);
  const bool closed = state.engine.capacity_scheduler_policy == CapacityPolicy::static_batch;
  if (!state.waiting.empty() && !full && !closed) return std::nullopt;
  return decode_alone(state, load);
}

/// Makes prompts whose last step has ended reusable. Requests that no longer run have already
/// returned their blocks.
void TensorrtLlmPolicy::share_computed_prompts(EngineState& state) {
  const auto runs = [&](RequestId id) {
    return std::find(state.running.begin(), state.running.end(), id) != state.running.end();
  };
  std::erase_if(ending_, [&](const Prompt& prompt) {
    if (!runs(prompt.request)) return true;
    if (state[prompt.request].emitted < prompt.emitted) return false;
    share_full_blocks(state, prompt.request, prompt.tokens);
    return true;
  });
}

/// Lets the prompts of this iteration wait while others generate, until their sequences and the
/// generations fill a share of the token budget, or for a number of iterations (1.0,
/// py_executor.py, _waiting_requests; not with attention_dp, whose ranks wait by its own rule).
void TensorrtLlmPolicy::wait_for_prompts(const EngineState& state) {
  const Engine& engine = state.engine;
  if (engine.batch_wait_timeout_iters == 0) return;
  std::int64_t tokens = 0;
  bool prompts = false, generations = false;
  for (const AdmissionCandidate& candidate : candidates_.fitting) {
    if (candidate.tokens == 0) continue;
    (candidate.generation ? generations : prompts) = true;
    tokens += candidate.generation || engine.counts_cached ? candidate.computes(candidate.tokens)
                                                           : state[candidate.request].tokens();
  }
  if (!prompts || !generations) return;
  const double enough =
      engine.batch_wait_max_tokens_ratio * static_cast<double>(engine.max_num_batched_tokens);
  if (waited_ >= engine.batch_wait_timeout_iters || static_cast<double>(tokens) >= enough) {
    waited_ = 0;
    return;
  }
  ++waited_;
  hold_prompts();
}

void TensorrtLlmPolicy::hold_prompts() {
  for (AdmissionCandidate& candidate : candidates_.fitting) {
    if (!candidate.generation) candidate.tokens = 0;
  }
}

/// A waiting request comes in. What it finds cached shortens its chunk if it was decided without.
/// It waits for another step if a request that has just started took what it had counted on.
/// (TensorRT-LLM shortens its chunk or fails: pull 12658.)
bool TensorrtLlmPolicy::start(EngineState& state, AdmissionCandidate& candidate, StepPlan& plan) {
  const RequestId id = candidate.request;
  RequestState& request = state[id];
  const PrefixHit hit = request.received > 0 ? PrefixHit{} : find_prefix(state, id);
  if (hit.tokens < candidate.cached) return false;
  take_prefix(state, id, hit);
  request.computed = std::max(request.computed, request.received);
  candidate.tokens = std::min(candidate.tokens, request.uncomputed());
  state.running.push_back(id);
  plan.admitted.push_back(id);
  return true;
}

void TensorrtLlmPolicy::run(EngineState& state, const AdmissionCandidate& candidate,
                            StepPlan& plan) {
  const RequestId id = candidate.request;
  RequestState& request = state[id];
  const std::int64_t drafts = candidate.generation ? state.engine.speculation.draft_tokens : 0;
  const bool grown = state.blocks.grow(request.kv, request.tokens() + drafts, candidate.tokens);
  assert(grown);  // ensured by the capacity scheduler
  static_cast<void>(grown);
  plan.scheduled.push_back({id, candidate.tokens});
  const bool ends_prompt = !candidate.generation && candidate.tokens == request.uncomputed();
  if (ends_prompt && !request.keys.empty()) {
    ending_.push_back(
        {.request = id, .tokens = request.tokens(), .emitted = request.generated + 1});
  }
}

/// Returns the waiting requests that were visited but did not start to their places in the queue.
void TensorrtLlmPolicy::put_back(EngineState& state, const StepPlan& plan) const {
  auto started = plan.admitted.rbegin();  // in the order in which they were visited
  for (auto id = candidates_.looked_at.rbegin(); id != candidates_.looked_at.rend(); ++id) {
    if (started != plan.admitted.rend() && *started == *id) {
      ++started;
    } else {
      state.waiting.push_front(*id, state[*id].priority);
    }
  }
}

void TensorrtLlmPolicy::finish(EngineState& state, RequestId id) {
  share_full_blocks(state, id, state[id].computed);
  share_generated_blocks(state, id);
  state.blocks.release(state[id].kv);
}

std::int64_t TensorrtLlmPolicy::cached_tokens(const EngineState& state, RequestId id) const {
  return cached_prompt_tokens(state, id);
}

/// Prompts are cut at multiples of a block, decodes not at all: share_tokens().
Demand TensorrtLlmPolicy::demand_of(const Engine& engine, const Request& request,
                                    const CacheLayout& layout) const {
  Demand demand = recomputes_prompts(engine)
                      ? demand_if_recomputed(engine, request, layout.block_tokens)
                      : demand_if_reserved(engine, request, layout.block_tokens);
  if (request.output_tokens > 1) demand.decode = engine.speculation.verified();
  return demand;
}

std::string TensorrtLlmPolicy::step_limit(const Engine& engine, const CacheLayout& layout) const {
  if (!engine.chunked_prefill) {
    return fmt::format("without chunked context an iteration holds at most max_num_tokens {}",
                       engine.max_num_batched_tokens);
  }
  return fmt::format("max_num_tokens {} is less than a context chunk, tokens_per_block {}",
                     engine.max_num_batched_tokens, layout.block_tokens);
}

}  // namespace

std::unique_ptr<BatchingPolicy> tensorrt_llm_policy(const Engine& engine) {
  return std::make_unique<TensorrtLlmPolicy>(engine);
}

}  // namespace roofcast
