#include "simulator/engine/admission.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.hpp"
#include "simulator/engine/kv_blocks.hpp"

namespace roofcast {
namespace {

struct Tally {
  std::int64_t requests = 0;
  std::int64_t longest = 0;  // tokens, prompt and output

  void add(std::int64_t tokens) {
    ++requests;
    longest = std::max(longest, tokens);
  }
};

/// Worst-case demand of a request.
struct Demand {
  std::int64_t cached = 0;   // tokens in the KV cache
  std::int64_t at_once = 0;  // tokens of one step, if prompts are not chunked
};

/// KV slots that the last decode needs beyond its own token, for current and next drafts.
std::int64_t draft_slots(const Request& request, const Engine& engine) {
  if (!engine.speculation.on() || request.output_tokens == 1) return 0;
  const std::int64_t slots = engine.speculation.draft_tokens + engine.speculation.lookahead();
  if (engine.max_model_len == 0) return slots;
  const std::int64_t cached = request.input_tokens + request.output_tokens - 1;
  return std::min(slots, engine.max_model_len - cached);
}

Demand demand_of(const Engine& engine, const Request& request, std::int64_t page) {
  const std::int64_t tokens = request.input_tokens + request.output_tokens;
  // The last token is never fed back. After a preemption all tokens before it are recomputed at
  // once.
  const Demand recomputed{.cached = tokens - 1 + draft_slots(request, engine),
                          .at_once = tokens - 1};
  // Blocks for prompt and output are reserved up front, and the prompt is computed once.
  const Demand reserved{.cached = tokens, .at_once = request.input_tokens};
  switch (engine.scheduler) {
    case SchedulerKind::vllm_v1:
      if (engine.kv_reservation == KvReservation::paged) break;
      return {.cached = reserved_tokens(engine, request.input_tokens, request.output_tokens),
              .at_once = request.input_tokens};
    case SchedulerKind::sglang:
      // Prompt, output and one extra page must leave a token free (PrefillAdder). An unchunked
      // prompt of any length is computed if it is the first of its batch.
      return {.cached = tokens + page + 1, .at_once = engine.chunked_prefill ? tokens - 1 : 0};
    case SchedulerKind::tensorrt_llm:
      return engine.capacity_policy == CapacityPolicy::max_utilization ? recomputed : reserved;
    case SchedulerKind::static_batch:
      return reserved;
    case SchedulerKind::naive:
      return {.cached = 0, .at_once = tokens - 1};
  }
  return recomputed;
}

/// Whether prompts larger than a step's budget can be chunked. TensorRT-LLM cuts at multiples of a
/// block and SGLang at multiples of a page, so one must fit into the budget.
bool cuts_prompts(const Engine& engine, const KvBlocks& blocks) {
  const bool by_blocks =
      engine.scheduler == SchedulerKind::tensorrt_llm || engine.scheduler == SchedulerKind::sglang;
  return engine.chunked_prefill &&
         (!by_blocks || engine.max_num_batched_tokens >= blocks.layout().block_tokens);
}

std::string too_many_reason(const Engine& engine, const KvBlocks& blocks) {
  if (engine.scheduler == SchedulerKind::sglang) {
    return fmt::format("chunked_prefill_size {} is less than a page of {} tokens",
                       engine.max_num_batched_tokens, blocks.layout().block_tokens);
  }
  if (engine.scheduler != SchedulerKind::tensorrt_llm) {
    return fmt::format("without chunked prefill a step holds at most max_num_batched_tokens {}",
                       engine.max_num_batched_tokens);
  }
  if (!engine.chunked_prefill) {
    return fmt::format("without chunked context an iteration holds at most max_num_tokens {}",
                       engine.max_num_batched_tokens);
  }
  return fmt::format("max_num_tokens {} is less than a context chunk, tokens_per_block {}",
                     engine.max_num_batched_tokens, blocks.layout().block_tokens);
}

void add_refusal(std::vector<Refusal>& refusals, const Tally& tally, std::string_view counted_as,
                 const std::string& reason) {
  if (tally.requests == 0) return;
  refusals.push_back({.requests = tally.requests,
                      .reason = fmt::format("{} (longest: {}, {})", reason,
                                            counted(tally.longest, "token"), counted_as)});
}

}  // namespace

std::vector<Refusal> reject_impossible(std::vector<RequestRecord>& records, const Replica& replica,
                                       std::string_view counted_as) {
  const Engine& engine = replica.engine;
  const bool whole_prompts = engine.scheduler == SchedulerKind::sglang && !engine.chunked_prefill;
  const KvBlocks blocks(
      replica.layout, replica.kv_blocks,
      whole_prompts ? kMaxTokens : engine.max_num_batched_tokens + engine.speculation.lookahead(),
      engine.kv_reservation);
  const bool cuts = cuts_prompts(engine, blocks);
  Tally too_long, too_big, too_many_at_once;
  for (RequestRecord& record : records) {
    const std::int64_t tokens = record.request.input_tokens + record.request.output_tokens;
    const Demand demand = demand_of(engine, record.request, replica.layout.block_tokens);
    if (engine.max_model_len > 0 && tokens > engine.max_model_len) {
      too_long.add(tokens);
    } else if (blocks.max_needed(demand.cached) > blocks.usable()) {
      too_big.add(tokens);
    } else if (!cuts && demand.at_once > engine.max_num_batched_tokens) {
      too_many_at_once.add(tokens);
    } else {
      continue;
    }
    record.rejected = true;
  }
  std::vector<Refusal> refusals;
  add_refusal(refusals, too_long, counted_as,
              fmt::format("longer than max_model_len {}", engine.max_model_len));
  add_refusal(refusals, too_big, counted_as,
              fmt::format("larger than the whole KV cache of {} usable blocks", blocks.usable()));
  add_refusal(refusals, too_many_at_once, counted_as, too_many_reason(engine, blocks));
  return refusals;
}

}  // namespace roofcast
