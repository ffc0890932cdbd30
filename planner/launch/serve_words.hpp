// What the flags of a launch line say, in the engine's own words: the degrees of parallelism mean
// what they mean to that engine. planner/launch/serve_parallelism turns them into this program's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/engines/engine.hpp"

namespace roofcast {

struct ServeWords {
  std::string model{};
  std::string preset{};  // where a flag decides it
  std::optional<std::string> weight_format{};
  std::optional<DType> dtype{};  // of weights that are not quantised
  std::optional<int> tensor{};
  std::optional<int> pipeline{};
  std::optional<int> data{};
  std::optional<int> expert_ranks{};              // SGLang, TensorRT-LLM: over how many ranks
  std::optional<bool> expert_parallel{};          // vLLM: over all of them
  std::optional<bool> data_parallel_attention{};  // SGLang, TensorRT-LLM: DP ranks share experts
  std::optional<std::int64_t> kv_tokens{};        // SGLang: the KV pool as given
  EngineOverrides overrides{};
  std::vector<std::string> not_modelled{};  // "--kv-cache-dtype nvfp4": values of known flags
};

}  // namespace roofcast
