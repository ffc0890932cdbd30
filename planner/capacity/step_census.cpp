#include "planner/capacity/step_census.hpp"

namespace roofcast {

Seconds CountedSteps::seconds(const StepBatch& batch) const {
  const bool prompts = !batch.prefills.empty();
  const Seconds time = (prompts ? prompts_ : decodes_).seconds(batch);
  std::int64_t tokens = batch.decode_sequences * batch.decode_new_tokens;
  for (const PrefillChunk& chunk : batch.prefills) tokens += chunk.new_tokens;
  const std::int64_t sequences = batch.decode_sequences + std::ssize(batch.prefills);
  ++census_.steps;
  (prompts ? census_.prompt_steps : census_.decode_steps) += time;
  // Some schedulers cut chunks at whole blocks.
  if (prompts && tokens > token_budget_ - block_tokens_) census_.at_token_budget += time;
  if (sequences >= max_num_seqs_) census_.at_max_num_seqs += time;
  return time;
}

}  // namespace roofcast
