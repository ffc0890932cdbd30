// What a plan rests on, as a short text: answers that were kept under another do not count.
#pragma once

#include <string>
#include <vector>

#include "planner/search/plan_shapes.hpp"

namespace roofcast {

/// Of everything that an answer depends on: the program, the load request by request, the content
/// of models, GPU and engine profiles, the shapes, what is required. Two plans with one digest have
/// the same questions and answers; 32 hexadecimal digits.
std::string plan_digest(const PlanCatalogue& catalogue, const PlanTask& question,
                        const std::vector<PlannedShape>& shapes);

}  // namespace roofcast
