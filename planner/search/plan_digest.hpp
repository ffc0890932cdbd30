// Digest of a plan's inputs: stored answers with another digest are ignored.
#pragma once

#include <string>
#include <vector>

#include "planner/search/plan_shapes.hpp"

namespace roofcast {

/// Covers everything that an answer depends on: the program, the load request by request, the
/// contents of models, GPU and engine profiles, the shapes, and the requirements. Plans with the
/// same digest have the same questions and answers; 32 hexadecimal digits.
std::string plan_digest(const PlanCatalogue& catalogue, const PlanTask& question,
                        const std::vector<PlannedShape>& shapes);

}  // namespace roofcast
