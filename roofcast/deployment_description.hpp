// A deployment as answers repeat it: for machines with every knob resolved, and in a line.
#pragma once

#include <string>

#include "base/json.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// "inputs" of a result: the deployment as understood, every knob resolved.
Json describe(const Deployment& deployment);

/// "2x NVIDIA H200 SXM (TP 2), vllm-0.19"
std::string placement(const Deployment& deployment);

/// "LLaMA-3.1-70B on 2x NVIDIA H200 SXM (TP 2), vllm-0.19"
std::string headline(const Deployment& deployment);

}  // namespace roofcast
