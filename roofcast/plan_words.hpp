// What a plan answers, in words: said alike on the terminal, in reports and in manifests.
#pragma once

#include <string>
#include <vector>

#include "roofcast/plan.hpp"

namespace roofcast {

/// The answer as it can be read aloud: the best and the next, or why there is none and what came
/// closest.
std::vector<std::string> plan_sentences(const PlanAnswer& answer);

/// The limit that a simulated candidate misses by most: "p95 ttft 612 ms of 500 ms".
std::string miss_of(const PlanResult& result);

/// What would have to be off, and by how much, for the verdict to turn: a sentence each.
std::vector<std::string> causes_of(const RankedPlan& one);

/// Never "1": what is left out of the probability is more than that.
std::string as_probability(double probability);

/// What became of shapes: they "do not fit in memory".
const char* reason_text(ShapeOutcome outcome);

/// "$21.00"
std::string dollars(double value);

}  // namespace roofcast
