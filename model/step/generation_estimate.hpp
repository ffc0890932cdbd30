// The answer of `roofcast estimate`: what a whole generation costs, and what other number formats
// would change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step/step_summary.hpp"

namespace roofcast {

/// Decode steps of a pipeline, as many in progress as there are stages.
struct PipelineEstimate {
  Seconds token{};  // from one token of a sequence to its next
  double tokens_per_second = 0;
};

/// B sequences of I prompt tokens, then O tokens each, with no other load.
struct GenerationEstimate {
  StepEstimate prefill{};               // all prompts, in one step
  StepSummary prefill_summary{};        // of that step
  Seconds prefill_time{};               // over all steps that the token budget needs
  StepEstimate decode{};                // one step at the middle of the generation
  StepSummary decode_summary{};         // of that step
  Seconds decode_step{};                // mean over the O - 1 decode steps
  double output_tokens_per_second = 0;  // B * O over the whole generation
  double decode_tokens_per_second = 0;  // B / decode_step
  /// Energy of all GPUs beyond idling over the whole generation (power.hpp); unset: power is not
  /// known.
  std::optional<Joules> energy{};
  Seconds whole{};  // prefill_time and all decode steps
  /// With other batches of B behind this one, one for each further stage; unset without stages.
  std::optional<PipelineEstimate> pipeline{};
  // Shares of what the GPU could do: what the step needs (StepSummary) over prefill_time, and over
  // the time of `decode`.
  double mfu_prefill = 0;
  double mfu_decode = 0;
  double mbu_prefill = 0;
  double mbu_decode = 0;
  FlopsPerByte ridge{};
  ComputeBoundBatches compute_bound{};  // at the context of `decode`
};

/// Cached tokens of each sequence at the decode step in the middle of the generation.
constexpr std::int64_t middle_context(std::int64_t input_tokens, std::int64_t output_tokens) {
  return input_tokens + (output_tokens - 1) / 2;
}

/// The ridge of the number format in which most of the model's FLOPs are computed.
FlopsPerByte main_ridge(const Deployment& deployment);

/// With pipeline stages a step passes through them one after the other; rates are of this batch
/// alone (except GenerationEstimate::pipeline), MFU and MBU of the active stage. `batch` sequences
/// are divided evenly over data-parallel ranks (rounded up); rates are the total over ranks.
/// Prompts are prefilled in order under the engine's token budget, before any decode step.
GenerationEstimate estimate_generation(const Deployment& deployment, std::int64_t batch,
                                       std::int64_t input_tokens, std::int64_t output_tokens);

/// One choice of number formats, labelled by how it differs from another.
struct DTypeVariant {
  std::string weight_format{};  // of the first layer's FFN, or its mixer without one
  DType kv_dtype = DType::bf16;
  GenerationEstimate estimate{};
  Bytes weight_bytes{};  // of the fullest rank
  Bytes cache_bytes{};   // of the sequences at full length, on one rank
  Bytes memory_delta{};  // weights and cache minus the first variant's
};

/// The same generation under each deployment; the first is the baseline of the others.
std::vector<DTypeVariant> compare_dtypes(const std::vector<Deployment>& variants,
                                         std::int64_t batch, std::int64_t input_tokens,
                                         std::int64_t output_tokens);

}  // namespace roofcast
