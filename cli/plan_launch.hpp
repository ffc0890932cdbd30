// How to start what a plan answers: the engines' own command lines, and a Kubernetes manifest.
#pragma once

#include <string>
#include <vector>

#include "cli/plan_document.hpp"

namespace roofcast {

/// A command line a pool, with how often it is to be run; what no flag says follows.
std::vector<std::string> launch_lines(const PlanReport& report, const RankedCandidate& one);

/// A Deployment and a Service. Throws UsageError for what one Deployment cannot say: pools of two
/// kinds, replicas that span nodes, engines without a server.
std::string kubernetes_manifest(const PlanReport& report, const RankedCandidate& one);

}  // namespace roofcast
