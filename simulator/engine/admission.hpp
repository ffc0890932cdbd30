// Requests that no schedule can serve, found before the run.
#pragma once

#include <string>
#include <vector>

#include "simulator/results/result.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {

/// Marks the requests that this replica can never finish, and says in one note a reason how many
/// there are and what would be needed:
/// - prompt and output together exceed max_model_len (0: no limit);
/// - the whole KV cache is too small for the sequence alone;
/// - without chunked prefill, the prompt exceeds the token budget of a step; where requests are
///   preempted the whole sequence does, which is recomputed at once.
std::vector<std::string> reject_impossible(std::vector<RequestRecord>& records,
                                           const Replica& replica);

}  // namespace roofcast
