// The answer of `roofcast estimate`: what a whole generation costs, and what other number formats
// would change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step/step_estimate.hpp"

namespace roofcast {

/// B sequences of I prompt tokens, then O tokens each, with no other load.
struct GenerationEstimate {
  StepEstimate prefill{};               // all prompts, in one step
  Seconds prefill_time{};               // over all steps that the token budget needs
  StepEstimate decode{};                // one step at the middle of the generation
  Seconds decode_step{};                // mean over the O - 1 decode steps
  double output_tokens_per_second = 0;  // B * O over the whole generation
  double decode_tokens_per_second = 0;  // B / decode_step
  /// FLOPs of matrices and attention at the dense peak of their number format, divided by
  /// prefill_time.
  double mfu_prefill = 0;
  double mbu_decode = 0;  // time to read weights and KV at full bandwidth, over the step's time
  FlopsPerByte ridge{};
  /// Smallest batch at which the decode GEMMs are no longer memory-bound; nullopt if there is none
  /// below 2^20.
  std::optional<std::int64_t> compute_bound_batch{};
};

/// With pipeline stages a step passes through them one after the other (one micro-batch, no
/// overlap), so latency is complete and throughput a lower bound; MFU and MBU are of the active
/// stage. `batch` sequences are divided evenly over data-parallel ranks (rounded up); rates are the
/// total over ranks. Prompts are prefilled in order under the engine's token budget, before any
/// decode step.
GenerationEstimate estimate_generation(const Deployment& deployment, std::int64_t batch,
                                       std::int64_t input_tokens, std::int64_t output_tokens);

/// One choice of number formats, labelled by how it differs from another.
struct DTypeVariant {
  std::string weight_format{};  // of the first layer's FFN, or its mixer without one
  DType kv_dtype = DType::bf16;
  Seconds prefill_time{};
  Seconds decode_step{};
  Bytes weight_bytes{};  // of the fullest rank
  Bytes cache_bytes{};   // of the sequences at full length, on one rank
  Bytes memory_delta{};  // weights and cache minus the first variant's
};

/// The same generation under each deployment; the first is the baseline of the others.
std::vector<DTypeVariant> compare_dtypes(const std::vector<Deployment>& variants,
                                         std::int64_t batch, std::int64_t input_tokens,
                                         std::int64_t output_tokens);

}  // namespace roofcast
