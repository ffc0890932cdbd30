// What `roofcast staircase` answers.
#pragma once

#include <cstdint>
#include <optional>

#include "model/deployment.hpp"
#include "reports/document.hpp"

namespace roofcast {

struct StaircaseQuestion {
  std::int64_t prompt = 0;
  std::int64_t generate = 0;
  std::optional<double> acceptance;  // of a draft token, for speculative decoding
  int drafts = 4;
};

/// Counts of both loops; with a deployment also their times, and what batching and speculative
/// decoding do to the cost of a token.
Document staircase_document(const StaircaseQuestion& question,
                            const std::optional<Deployment>& deployment);

}  // namespace roofcast
