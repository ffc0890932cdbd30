// Step time from the roofline: the sum of a step's operators and the engine's host time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/operators.hpp"

namespace roofcast {

struct StepEstimate {
  Seconds total;  // what StepTime::seconds returns for the same batch
  Seconds device;
  Seconds host;   // the part of host work that is not hidden behind the device
  double relative_uncertainty = 0;
  std::vector<OperatorEstimate> operators;
};

/// Answers the seam by the roofline with the GPU's efficiencies. Copies what it needs. Calls with
/// equal token counts reuse their GEMM times; safe to use from several threads only if each has
/// its own copy.
class RooflineStepTime final : public StepTime {
 public:
  explicit RooflineStepTime(Deployment deployment);
  ~RooflineStepTime() override;

  const std::vector<AttentionSpan>& spans() const override;
  Seconds seconds(const StepBatch& batch) const override;

  /// The same step with every operator's share.
  StepEstimate explain(const StepBatch& batch) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The answer of `roofcast estimate`: B sequences of I prompt tokens, then O tokens each.
struct GenerationEstimate {
  StepEstimate prefill;           // all prompts, in one step
  Seconds prefill_time;           // over as many steps as the token budget needs
  StepEstimate decode;            // one step at the middle of the generation
  Seconds decode_step;            // mean over the O - 1 decode steps
  double output_tokens_per_second = 0;   // B * O over the whole generation
  double decode_tokens_per_second = 0;   // B / decode_step
  double mfu_prefill = 0;  // model FLOPs over time and dense peak
  double mbu_decode = 0;   // weights and KV that must be read, over time and bandwidth
  FlopsPerByte ridge;
  /// Smallest batch at which the decode GEMMs stop being memory-bound; nothing below 2^20.
  std::optional<std::int64_t> compute_bound_batch;
};

GenerationEstimate estimate_generation(const Deployment& deployment, std::int64_t batch,
                                       std::int64_t input_tokens, std::int64_t output_tokens);

}  // namespace roofcast
