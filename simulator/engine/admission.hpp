// Requests that no schedule can serve, found before the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/results/result.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {

/// Requests that a replica can never finish, for one reason.
struct Refusal {
  std::int64_t requests = 0;
  std::string reason{};  // "longer than max_model_len 100 (longest: 120 tokens, prompt and output)"
};

/// Marks the requests that this replica can never finish, and says for each reason how many there
/// are and what would be needed:
/// - prompt and output together exceed max_model_len (0: no limit);
/// - the whole KV cache is too small for the sequence alone;
/// - without chunked prefill, the prompt exceeds the token budget of a step; where requests are
///   preempted the whole sequence does, which is recomputed at once.
/// `counted_as` says what the output tokens in the records stand for.
std::vector<Refusal> reject_impossible(std::vector<RequestRecord>& records, const Replica& replica,
                                       std::string_view counted_as = "prompt and output");

}  // namespace roofcast
