// The flags of what vLLM does besides plain decoding: speculative decoding, LoRA adapters, K and V
// in host memory.
#pragma once

#include "cli/options/arguments.hpp"
#include "model/engines/engine.hpp"
#include "reports/document.hpp"

namespace roofcast {

po::options_description feature_options(EngineOverrides& knobs);

/// Takes those of `given` that are set.
void take_features(EngineOverrides& knobs, const EngineOverrides& given);

}  // namespace roofcast
