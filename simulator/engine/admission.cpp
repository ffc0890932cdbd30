#include "simulator/engine/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
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

/// Why a replica can never finish a request.
enum class Obstacle { none, length, cache, prompt, decode };

/// A replica with its cache empty.
class EmptyReplica {
 public:
  EmptyReplica(const Replica& replica, RequestPart part)
      : engine_(&replica.engine),
        layout_(&replica.layout),
        policy_(make_policy(replica.engine)),
        blocks_(replica.layout, replica.kv_blocks, replica.engine.max_num_batched_tokens,
                replica.engine.kv_reservation),
        computes_prompts_(part != RequestPart::output ||
                          policy_->recomputes_prompts(replica.engine)) {}

  /// Prompt and output. What a model that pools puts out takes no place in the sequence.
  std::int64_t tokens_of(const Request& request) const {
    return request.input_tokens + (engine_->pooling ? 0 : request.output_tokens);
  }

  Obstacle obstacle_to(const Request& request) const {
    if (engine_->max_model_len > 0 && tokens_of(request) > engine_->max_model_len) {
      return Obstacle::length;
    }
    const Demand demand = policy_->demand_of(*engine_, request, *layout_);
    if (blocks_needed(demand) > blocks_.usable()) return Obstacle::cache;
    const std::int64_t step = engine_->max_num_batched_tokens;
    if (computes_prompts_ && demand.at_once > step) return Obstacle::prompt;
    return demand.decode > step ? Obstacle::decode : Obstacle::none;
  }

  std::string reason(Obstacle obstacle) const {
    switch (obstacle) {
      case Obstacle::length:
        return fmt::format("longer than max_model_len {}", engine_->max_model_len);
      case Obstacle::cache:
        return fmt::format("larger than the whole KV cache of {} usable blocks", blocks_.usable());
      case Obstacle::prompt:
        return policy_->step_limit(*engine_, *layout_);
      case Obstacle::decode:
        return fmt::format("a decode of {}, its drafts included, exceeds max_num_batched_tokens {}",
                           counted(engine_->speculation.verified(), "token"),
                           engine_->max_num_batched_tokens);
      case Obstacle::none:
        break;
    }
    return {};
  }

 private:
  std::int64_t blocks_needed(const Demand& demand) const {
    return blocks_.contiguous() ? blocks_.range_of(demand.cached)
                                : blocks_.needed(demand.cached, demand.in_flight);
  }

  const Engine* engine_;
  const CacheLayout* layout_;
  std::unique_ptr<BatchingPolicy> policy_;
  KvBlocks blocks_;
  bool computes_prompts_ = true;
};

}  // namespace

std::vector<Refusal> reject_impossible(std::vector<RequestRecord>& records, const Replica& replica,
                                       RequestPart part) {
  const EmptyReplica empty(replica, part);
  std::map<Obstacle, Tally> tallies;
  for (RequestRecord& record : records) {
    const Obstacle obstacle = empty.obstacle_to(record.request);
    if (obstacle == Obstacle::none) continue;
    tallies[obstacle].add(empty.tokens_of(record.request));
    record.rejected = true;
  }
  const std::string_view counted_as =
      part == RequestPart::prompt ? "prompt and first token" : "prompt and output";
  std::vector<Refusal> refusals;
  for (const auto& [obstacle, tally] : tallies) {
    refusals.push_back({.requests = tally.requests,
                        .reason = fmt::format("{} (longest: {}, {})", empty.reason(obstacle),
                                              counted(tally.longest, "token"), counted_as)});
  }
  return refusals;
}

std::int64_t longest_accepted(const Replica& replica) {
  const EmptyReplica empty(replica, RequestPart::whole);
  std::int64_t accepted = 0;
  std::int64_t too_long = replica.engine.max_model_len + 1;
  while (too_long - accepted > 1) {
    const std::int64_t middle = accepted + (too_long - accepted) / 2;
    const Request request{.input_tokens = middle - 1, .output_tokens = 1};
    (empty.obstacle_to(request) == Obstacle::none ? accepted : too_long) = middle;
  }
  return accepted;
}

}  // namespace roofcast
