// The second stage of TensorRT-LLM's scheduler: which of the active requests run in this step, and
// how many tokens of each (cpp/tensorrt_llm/batch_manager/microBatchScheduler.cpp). A step has room
// for max_num_batched_tokens (max_num_tokens there).
#pragma once

#include <cstdint>
#include <span>

#include "simulator/engine/tensorrt_capacity.hpp"

namespace roofcast {

/// Gives each candidate its tokens, 0 to those that do not run. A generation takes one token and a
/// prompt all of its own, in order; the first that does not fit ends the batch. With chunked
/// prefill the prompts share what the generations leave, when it is not enough for all:
/// - FIRST_COME_FIRST_SERVED: each as much as is left, cut to a multiple of `chunk_unit` tokens
///   unless it reaches the prompt's end;
/// - EQUAL_PROGRESS: a unit each, round and round.
void share_tokens(const Engine& engine, std::int64_t chunk_unit,
                  std::span<AdmissionCandidate> fitting);

}  // namespace roofcast
