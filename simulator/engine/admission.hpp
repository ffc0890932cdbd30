// Finds requests that no schedule can serve, before the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/results/result.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {

/// Requests that a replica can never finish, all for the same reason.
struct Refusal {
  std::int64_t requests = 0;
  std::string reason{};  // "longer than max_model_len 100 (longest: 120 tokens, prompt and output)"
};

/// Marks the requests that this replica can never finish. Returns for each reason how many there
/// are and what they would need:
/// - prompt and output together exceed max_model_len (0: no limit);
/// - the sequence alone does not fit the whole KV cache (Demand::cached);
/// - a step has no room for the tokens that must be computed together (Demand::at_once).
/// `counted_as` says what the lengths in the records stand for.
std::vector<Refusal> reject_impossible(std::vector<RequestRecord>& records, const Replica& replica,
                                       std::string_view counted_as = "prompt and output");

}  // namespace roofcast
