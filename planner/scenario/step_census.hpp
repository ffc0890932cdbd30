// A step time that accounts for the steps it is asked for: their total time, and the time spent at
// each of the scheduler's limits.
#pragma once

#include <cstdint>

#include "model/engines/engine.hpp"
#include "model/hardware/gpu.hpp"
#include "model/step/sampled_steps.hpp"
#include "model/step/step_estimate.hpp"
#include "model/step/step_time.hpp"

namespace roofcast {

/// Steps of one composition.
struct StepKind {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;  // computed: of prompts, and new ones of decode sequences
  Seconds time{};
};

/// Step times by composition.
struct StepCensus {
  StepKind with_prompts{};    // steps with prefill tokens, alone or mixed with decodes
  StepKind decode_only{};     // all other steps
  Seconds at_token_budget{};  // of steps without room for another block of tokens
  Seconds at_max_num_seqs{};  // of steps with the maximum number of sequences

  std::int64_t steps() const { return with_prompts.steps + decode_only.steps; }
  Seconds total() const { return with_prompts.time + decode_only.time; }
};

/// New tokens of a step.
std::int64_t tokens_of(const StepBatch& batch);

/// Answers as `times`, which must outlive it. Not thread-safe.
class CountedSteps final : public StepTime {
 public:
  CountedSteps(const StepTime& times, const Engine& engine)
      : prompts_(times),
        decodes_(times),
        token_budget_(engine.max_num_batched_tokens),
        block_tokens_(engine.block_size),
        max_num_seqs_(engine.max_num_seqs) {}

  const std::vector<AttentionSpan>& spans() const override { return prompts_.spans(); }
  bool asks_for_longest() const override { return prompts_.asks_for_longest(); }
  Seconds seconds(const StepBatch& batch) const override;
  int stages() const override { return prompts_.stages(); }
  void divide(const StepBatch& batch, StagedTime& time) const override;

  const StepCensus& census() const { return census_; }
  const std::vector<StepBatch>& prompt_sample() const { return prompts_.sample(); }
  const std::vector<StepBatch>& decode_sample() const { return decodes_.sample(); }

 private:
  const SampledSteps& kind_of(const StepBatch& batch) const {
    return batch.prefills.empty() ? decodes_ : prompts_;
  }
  void count(const StepBatch& batch, Seconds time) const;

  SampledSteps prompts_;
  SampledSteps decodes_;
  std::int64_t token_budget_;
  std::int64_t block_tokens_;
  std::int64_t max_num_seqs_;
  mutable StepCensus census_{};
};

/// Composition of a run's steps, and how much of the GPU they used.
struct StepUse {
  StepEstimate steps{};  // all of them; of its operators only the times add up
  double mfu = 0;        // StepSummary::needed_compute over the steps' time
  double mbu = 0;        // StepSummary::needed_memory over the steps' time
  /// Beyond idling, of one GPU of each stage (model/step/power.hpp); unset: power is not known.
  std::optional<Joules> energy{};
};

/// From both samples, each weighted to its kind's totals: the FLOPs by its tokens, the bytes by its
/// steps (ratio estimates; Cochran, "Sampling Techniques", 1977, chapter 6), times and energy by
/// its time.
StepUse use_of(const CountedSteps& counted, const RooflineStepTime& step_time, const Gpu& gpu);

}  // namespace roofcast
