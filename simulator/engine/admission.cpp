#include "simulator/engine/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/wording.hpp"
#include "simulator/engine/batching_policy.hpp"
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

void add_refusal(std::vector<Refusal>& refusals, const Tally& tally, std::string_view counted_as,
                 const std::string& reason) {
  if (tally.requests == 0) return;
  refusals.push_back({.requests = tally.requests,
                      .reason = fmt::format("{} (longest: {}, {})", reason,
                                            counted(tally.longest, "token"), counted_as)});
}

}  // namespace

std::vector<Refusal> reject_impossible(std::vector<RequestRecord>& records, const Replica& replica,
                                       RequestPart part) {
  const Engine& engine = replica.engine;
  const auto policy = make_policy(engine);
  const bool computes_prompts = part != RequestPart::output || !policy->reserves_output(engine);
  const KvBlocks blocks(replica.layout, replica.kv_blocks, engine.max_num_batched_tokens,
                        engine.kv_reservation);
  const auto needed = [&](const Demand& demand) {
    return blocks.contiguous() ? blocks.range_of(demand.cached)
                               : blocks.needed(demand.cached, demand.in_flight);
  };
  Tally too_long, too_big, too_many_at_once;
  for (RequestRecord& record : records) {
    // What a model that pools puts out takes no place in the sequence.
    const std::int64_t output = engine.pooling ? 0 : record.request.output_tokens;
    const std::int64_t tokens = record.request.input_tokens + output;
    const Demand demand = policy->demand_of(engine, record.request, replica.layout);
    if (engine.max_model_len > 0 && tokens > engine.max_model_len) {
      too_long.add(tokens);
    } else if (needed(demand) > blocks.usable()) {
      too_big.add(tokens);
    } else if (computes_prompts && demand.at_once > engine.max_num_batched_tokens) {
      too_many_at_once.add(tokens);
    } else {
      continue;
    }
    record.rejected = true;
  }
  const std::string_view counted_as =
      part == RequestPart::prompt ? "prompt and first token" : "prompt and output";
  std::vector<Refusal> refusals;
  add_refusal(refusals, too_long, counted_as,
              fmt::format("longer than max_model_len {}", engine.max_model_len));
  add_refusal(refusals, too_big, counted_as,
              fmt::format("larger than the whole KV cache of {} usable blocks", blocks.usable()));
  add_refusal(refusals, too_many_at_once, counted_as, policy->step_limit(engine, replica.layout));
  return refusals;
}

}  // namespace roofcast
