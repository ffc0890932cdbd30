#include "planner/scenario/step_census.hpp"

#include <numeric>
#include <vector>

#include "model/step/power.hpp"
#include "model/step/step_summary.hpp"

namespace roofcast {

namespace {

/// Sums over all steps of each kind, and their estimates with the weights of their times.
struct SumOfKinds {
  std::vector<StepEstimate> steps{};
  std::vector<double> weights{};
  Seconds compute{};
  Seconds memory{};
  Joules energy{};  // 0 where power is not known
};

void add_kind(SumOfKinds& sum, const StepKind& kind, const std::vector<StepBatch>& sample,
              const RooflineStepTime& step_time, const Gpu& gpu) {
  if (sample.empty()) return;
  std::int64_t tokens = 0;
  Seconds time{}, compute{}, memory{};
  Joules energy{};
  const std::optional<PowerModel> power = power_model_of(gpu);
  const std::size_t first = sum.steps.size();
  for (const StepBatch& batch : sample) {
    const StepEstimate step = step_time.explain(batch);
    const StepSummary summary = summary_of(step, gpu);
    tokens += tokens_of(batch);
    time += step.total;
    compute += summary.needed_compute;
    memory += summary.needed_memory;
    if (power) energy += energy_of(step, gpu, *power);
    sum.steps.push_back(step);
  }
  const double weight = time.value > 0 ? kind.time / time : 0;
  sum.weights.insert(sum.weights.end(), sum.steps.size() - first, weight);
  if (tokens > 0)
    sum.compute += compute * (static_cast<double>(kind.tokens) / static_cast<double>(tokens));
  sum.energy += energy * weight;
  sum.memory += memory * (static_cast<double>(kind.steps) / static_cast<double>(sample.size()));
}

}  // namespace

std::int64_t tokens_of(const StepBatch& batch) {
  std::int64_t tokens = batch.decode_sequences * batch.decode_new_tokens;
  for (const PrefillChunk& chunk : batch.prefills) tokens += chunk.new_tokens;
  return tokens;
}

Seconds CountedSteps::seconds(const StepBatch& batch) const {
  const Seconds time = kind_of(batch).seconds(batch);
  count(batch, time);
  return time;
}

void CountedSteps::divide(const StepBatch& batch, StagedTime& time) const {
  kind_of(batch).divide(batch, time);
  count(batch, time.path());
}

void CountedSteps::count(const StepBatch& batch, Seconds time) const {
  const bool prompts = !batch.prefills.empty();
  const std::int64_t tokens = tokens_of(batch);
  const std::int64_t sequences = batch.decode_sequences + std::ssize(batch.prefills);
  StepKind& kind = prompts ? census_.with_prompts : census_.decode_only;
  ++kind.steps;
  kind.tokens += tokens;
  kind.time += time;
  // Some schedulers cut chunks at whole blocks.
  if (prompts && tokens > token_budget_ - block_tokens_) census_.at_token_budget += time;
  if (sequences >= max_num_seqs_) census_.at_max_num_seqs += time;
}

StepUse use_of(const CountedSteps& counted, const RooflineStepTime& step_time, const Gpu& gpu) {
  const StepCensus& census = counted.census();
  SumOfKinds sum;
  add_kind(sum, census.with_prompts, counted.prompt_sample(), step_time, gpu);
  add_kind(sum, census.decode_only, counted.decode_sample(), step_time, gpu);
  StepUse use{.steps = sum_of(sum.steps, sum.weights)};
  if (power_model_of(gpu)) use.energy = sum.energy;
  if (census.total() <= Seconds{}) return use;  // no step ran
  use.mfu = sum.compute / census.total();
  use.mbu = sum.memory / census.total();
  return use;
}

}  // namespace roofcast
