// A step time that accounts for the steps it is asked for: their total time, and the time spent at
// each of the scheduler's limits.
#pragma once

#include <cstdint>

#include "model/engines/engine.hpp"
#include "model/step/sampled_steps.hpp"
#include "model/step/step_time.hpp"

namespace roofcast {

/// Step times by composition.
struct StepCensus {
  std::int64_t steps = 0;
  Seconds prompt_steps{};     // of steps with prefill tokens, alone or mixed with decodes
  Seconds decode_steps{};     // of all other steps
  Seconds at_token_budget{};  // of steps without room for another block of tokens
  Seconds at_max_num_seqs{};  // of steps with the maximum number of sequences

  Seconds total() const { return prompt_steps + decode_steps; }
};

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

}  // namespace roofcast
