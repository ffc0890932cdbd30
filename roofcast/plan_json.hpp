// The machine-readable answer of `roofcast plan`.
#pragma once

#include <optional>
#include <string>

#include "cli/plan/plan_document.hpp"

namespace roofcast {

/// The question as understood, complete.
Json plan_inputs(const PlanQuestion& question, const PlanCatalogue& catalogue);

Json plan_json(const PlanReport& report);

/// "2 replicas of 4x NVIDIA H100 SXM TP4, fp8 (max-num-seqs 64)"
std::string title_of(const PlanAnswer& answer, const TriedCandidate& tried);

/// At the load asked about; nothing without a price or without tokens.
std::optional<double> dollars_per_million_output_tokens(const RankedCandidate& one);

}  // namespace roofcast
