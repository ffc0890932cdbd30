// The best candidate of a plan as a Kubernetes manifest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/search/plan_catalogue.hpp"

namespace roofcast {

/// Why one Deployment cannot express the shape: two kinds of pools, replicas that span nodes,
/// engines without a server or without an image for the GPU. Nullopt if it can.
std::optional<std::string> manifest_problem(const PlanCatalogue& catalogue, const Shape& shape);

/// Throws UsageError if no shape of the space can be a Deployment.
void check_manifest_possible(const PlanCatalogue& catalogue, const SearchSpace& space);

/// A Deployment of `units` replicas and a Service, with `headline` as a comment. Precondition:
/// manifest_problem() returns nullopt.
std::string kubernetes_manifest(const PlanCatalogue& catalogue, const Shape& shape,
                                std::int64_t units, const std::string& headline);

}  // namespace roofcast
