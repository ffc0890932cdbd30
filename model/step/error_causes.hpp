// How far off a step's time may be, by cause: what errs together within a step, and with the steps
// of other deployments.
#pragma once

#include <vector>

#include "base/error_cause.hpp"
#include "model/deployment.hpp"
#include "model/step/step_estimate.hpp"

namespace roofcast {

/// The name of that cause of error.
inline constexpr const char* kModelCause = "other mixtures and recurrent models";

/// How far servers of mixtures of experts other than DeepSeek-V3 and R1 were off with SGLang and
/// TensorRT-LLM, with SGLang also of models with recurrent layers, one standard deviation of the
/// logarithm of step times; measured on NVIDIA's GPUs and used on all. 0 for other deployments.
double model_deviation(const Deployment& deployment);

/// The causes of the error of a step's kernels and host work, by name. Operators of one family and
/// provenance err together; families are independent, except for what an engine's kernel tables
/// have in common.
std::vector<ErrorCause> error_causes(const StepEstimate& step);

/// All causes of the error of a step of this deployment: also what its GPU's efficiencies have in
/// common where they come from one collection, how far versions of its engine differ
/// (kVersionCause), and how far servers of such models were off (kModelCause). Of a step that
/// RooflineStepTime explains their squares add up to that of StepEstimate::relative_uncertainty.
std::vector<ErrorCause> error_causes(const StepEstimate& step, const Deployment& deployment);

}  // namespace roofcast
