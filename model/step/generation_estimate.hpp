// The answer of `roofcast estimate`: what a whole generation costs, and what other number formats
// would change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step/step_estimate.hpp"

namespace roofcast {

/// B sequences of I prompt tokens, then O tokens each, nothing else running.
struct GenerationEstimate {
  StepEstimate prefill{};               // all prompts, in one step
  Seconds prefill_time{};               // over as many steps as the token budget needs
  StepEstimate decode{};                // one step at the middle of the generation
  Seconds decode_step{};                // mean over the O - 1 decode steps
  double output_tokens_per_second = 0;  // B * O over the whole generation
  double decode_tokens_per_second = 0;  // B / decode_step
  /// FLOPs of matrices and attention at the dense peak of their number format, over prefill_time.
  double mfu_prefill = 0;
  double mbu_decode = 0;  // weights and KV that must be read, over time and bandwidth
  FlopsPerByte ridge{};
  /// Smallest batch at which the decode GEMMs stop being memory-bound; nothing below 2^20.
  std::optional<std::int64_t> compute_bound_batch{};
};

/// With pipeline stages a step passes them one after the other (one micro-batch, no overlap), so
/// latency is whole and throughput a lower bound; MFU and MBU are of the stage at work.
/// `batch` sequences are divided evenly over data-parallel ranks (rounded up); rates count them
/// all. Prompts are prefilled in order under the engine's token budget, before any decode step.
GenerationEstimate estimate_generation(const Deployment& deployment, std::int64_t batch,
                                       std::int64_t input_tokens, std::int64_t output_tokens);

/// One choice of number formats, by how it differs from another.
struct DTypeVariant {
  std::string weight_format{};  // of the first layer's FFN, or of its mixer
  DType kv_dtype = DType::bf16;
  Seconds prefill_time{};
  Seconds decode_step{};
  Bytes weight_bytes{};  // of the fullest rank
  Bytes cache_bytes{};   // of the sequences at their full length, one rank
  Bytes memory_delta{};  // weights and cache against the first variant
};

/// The same generation under each deployment; the first is what the others are compared with.
std::vector<DTypeVariant> compare_dtypes(const std::vector<Deployment>& variants,
                                         std::int64_t batch, std::int64_t input_tokens,
                                         std::int64_t output_tokens);

}  // namespace roofcast
