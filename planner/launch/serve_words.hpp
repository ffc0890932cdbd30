// The settings of a launch line in the engine's own terms, which planner/launch/serve_parallelism
// converts to this program's: engines differ in what their degrees of parallelism mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/deployment_options.hpp"

namespace roofcast {

struct ServeWords {
  std::string model{};
  std::string preset{};  // if a flag decides it
  std::optional<std::string> weight_format{};
  std::optional<DType> dtype{};                   // of unquantised weights
  ParallelismOptions degrees{};                   // expert_parallel: vLLM, over all ranks
  std::optional<bool> divides_prompts{};          // SGLang: among its context ranks
  std::optional<std::string> prompt_strategy{};   // SGLang: zigzag, interleave
  std::optional<int> expert_ranks{};              // SGLang, TensorRT-LLM: number of ranks
  std::optional<bool> data_parallel_attention{};  // SGLang, TensorRT-LLM: DP ranks share experts
  std::optional<std::int64_t> kv_tokens{};        // SGLang: the KV pool as given
  std::string draft_algorithm{};                  // SGLang: EAGLE, NEXTN ...
  std::optional<bool> overlaps_drafts{};          // SGLang: SGLANG_ENABLE_SPEC_V2
  std::optional<bool> tracks_states{};            // SGLang: of recurrent layers, "extra_buffer"
  std::string draft_model{};                      // as a flag names it; read if it is known
  EngineOverrides overrides{};
  std::vector<std::string> not_modelled{};  // "--kv-cache-dtype nvfp4": values of known flags
};

}  // namespace roofcast
