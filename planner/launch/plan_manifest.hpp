// The best of a plan as a Kubernetes manifest.
#pragma once

#include <optional>
#include <string>

#include "cli/plan/plan_document.hpp"

namespace roofcast {

/// Why one Deployment cannot say the shape: pools of two kinds, replicas that span nodes, engines
/// without a server or without an image for the GPU. Nothing when it can.
std::optional<std::string> manifest_problem(const PlanCatalogue& catalogue, const Shape& shape);

/// Throws UsageError when no shape of the space can be a Deployment.
void check_manifest_possible(const PlanCatalogue& catalogue, const SearchSpace& space);

/// A Deployment and a Service. Precondition: there is no manifest_problem.
std::string kubernetes_manifest(const PlanReport& report, const RankedCandidate& one);

}  // namespace roofcast
