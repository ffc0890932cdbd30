// Finds requests that no schedule can serve, before the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/engine/replica_engine.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

/// Requests that a replica can never finish, all for the same reason.
struct Refusal {
  std::int64_t requests = 0;
  std::string reason{};  // "longer than max_model_len 100 (longest: 120 tokens, prompt and output)"
};

/// What of the records' requests a replica computes.
enum class RequestPart {
  whole,
  prompt,  // with the first token, after which the request goes elsewhere
  output,  // after a prompt that was computed elsewhere
};

/// Marks the requests that this replica can never finish. Returns for each reason how many there
/// are and what they would need:
/// - prompt and output together exceed max_model_len (0: no limit);
/// - the sequence alone does not fit the whole KV cache (Demand::cached);
/// - a step has no room for the tokens of the prompt that must be computed together
///   (Demand::at_once), unless only the output is computed and the policy never computes a prompt
///   again (BatchingPolicy::recomputes_prompts);
/// - nor for a decode with its drafts (Demand::decode).
/// Of a prompt the records' outputs have one token.
std::vector<Refusal> reject_impossible(std::vector<RequestRecord>& records, const Replica& replica,
                                       RequestPart part = RequestPart::whole);

/// The most tokens, prompt and an output of one, of a request that this replica does not reject;
/// 0 if there is none. Precondition: its engine has a max_model_len.
std::int64_t longest_accepted(const Replica& replica);

}  // namespace roofcast
