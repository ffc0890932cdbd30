#include "planner/capacity/step_census.hpp"

#include <numeric>

namespace roofcast {

Seconds CountedSteps::seconds(const StepBatch& batch) const {
  const Seconds time = kind_of(batch).seconds(batch);
  count(batch, time);
  return time;
}

void CountedSteps::divide(const StepBatch& batch, StagedTime& time) const {
  kind_of(batch).divide(batch, time);
  count(batch, std::accumulate(time.stages.begin(), time.stages.end(), time.before));
}

void CountedSteps::count(const StepBatch& batch, Seconds time) const {
  const bool prompts = !batch.prefills.empty();
  std::int64_t tokens = batch.decode_sequences * batch.decode_new_tokens;
  for (const PrefillChunk& chunk : batch.prefills) tokens += chunk.new_tokens;
  const std::int64_t sequences = batch.decode_sequences + std::ssize(batch.prefills);
  ++census_.steps;
  (prompts ? census_.prompt_steps : census_.decode_steps) += time;
  // Some schedulers cut chunks at whole blocks.
  if (prompts && tokens > token_budget_ - block_tokens_) census_.at_token_budget += time;
  if (sequences >= max_num_seqs_) census_.at_max_num_seqs += time;
}

}  // namespace roofcast
