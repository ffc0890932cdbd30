#include "model/step/generation_estimate.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

#include "base/ceil_divide.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/step/power.hpp"

namespace roofcast {

namespace {

/// Prompts in order, each step filled up to the token budget. Without chunked prefill prompts are
/// not split, and one that exceeds the budget runs alone.
Seconds prefill_time(const RooflineStepTime& step_time, const Engine& engine, std::int64_t batch,
                     std::int64_t input_tokens) {
  const std::int64_t whole = batch * input_tokens;
  const std::int64_t budget =
      engine.max_num_batched_tokens > 0 ? engine.max_num_batched_tokens : whole;
  Seconds total;
  StepBatch step;
  std::int64_t used = 0;
  const auto run = [&] {
    if (step.prefills.empty()) return;
    total += step_time.seconds(step);
    step.prefills.clear();
    used = 0;
  };
  for (std::int64_t prompt = 0; prompt < batch; ++prompt) {
    std::int64_t done = 0;
    while (done < input_tokens) {
      const std::int64_t left = input_tokens - done;
      if (used == budget || (!engine.chunked_prefill && used + left > budget)) run();
      const std::int64_t now = engine.chunked_prefill ? std::min(left, budget - used) : left;
      step.prefills.push_back(
          {.new_tokens = now, .context_tokens = done, .emits_token = done + now == input_tokens});
      used += now;
      done += now;
    }
  }
  run();
  return total;
}

/// Sum over the steps in which `batch` sequences grow from `first` cached tokens.
Seconds decode_time(const RooflineStepTime& step_time, const Transformer& model, std::int64_t batch,
                    std::int64_t first, std::int64_t steps) {
  Seconds total;
  for (std::int64_t i = 0; i < steps; ++i) {
    total += step_time.seconds(decode_batch(model, batch, first + i));
  }
  return total;
}

/// Energy of all GPUs, where prefill takes `prefilling` and decoding `decoding`: each step's power
/// is that of the one that was estimated.
std::optional<Joules> energy_of(const GenerationEstimate& generation, Seconds prefilling,
                                Seconds decoding, const Deployment& deployment) {
  const std::optional<PowerModel> power = power_model_of(deployment.gpu);
  if (!power) return std::nullopt;
  const auto over = [&](const StepEstimate& step, Seconds time) {
    if (step.total <= Seconds{}) return Joules{};
    return energy_of(step, deployment.gpu, *power) * (time / step.total);
  };
  // A step's work is that of one GPU of every stage.
  const int alike = deployment.parallel.stage_ranks();
  return (over(generation.prefill, prefilling) + over(generation.decode, decoding)) *
         static_cast<double>(alike);
}

/// The number format of most of the model's FLOPs.
DType main_compute(const Transformer& model) {
  if (model.layers.empty()) return model.activation;
  const Layer& layer = model.layers.back();
  const bool feeds = !std::holds_alternative<std::monostate>(layer.ffn);
  return feeds ? layer.ffn_format.compute : layer.mixer_format.compute;
}

std::string main_format(const Transformer& model) {
  if (model.layers.empty()) return {};
  const Layer& layer = model.layers.back();
  const bool feeds = !std::holds_alternative<std::monostate>(layer.ffn);
  return feeds ? layer.ffn_format.name : layer.mixer_format.name;
}

/// The slowest part of a step, host work included, sets the pace of all that are in progress.
PipelineEstimate pipeline_of(const RooflineStepTime& step_time, StepBatch batch,
                             std::int64_t ranks) {
  batch.other_requests = batch.decode_sequences * (step_time.stages() - 1);
  StagedTime time;
  step_time.divide(batch, time);
  const double stages = static_cast<double>(time.stages.size());
  Seconds slowest = time.before;
  for (std::size_t i = 0; i < time.stages.size(); ++i) {
    slowest = std::max(slowest, time.period(i));
  }
  PipelineEstimate estimate{.token = std::max(time.path(), slowest * stages)};
  const auto sequences = static_cast<double>(batch.decode_sequences * ranks);
  estimate.tokens_per_second = stages * sequences / estimate.token.value;
  return estimate;
}

}  // namespace

FlopsPerByte main_ridge(const Deployment& deployment) {
  return ridge_point(deployment.gpu, main_compute(deployment.model));
}

GenerationEstimate estimate_generation(const Deployment& deployment, std::int64_t batch,
                                       std::int64_t input_tokens, std::int64_t output_tokens) {
  const RooflineStepTime step_time(deployment);
  const Transformer& model = deployment.model;
  const std::int64_t share = ceil_divide(batch, deployment.parallel.data);
  const std::int64_t steps = std::max<std::int64_t>(0, output_tokens - 1);

  GenerationEstimate result;
  result.prefill = step_time.explain(prefill_batch(share, input_tokens));
  result.prefill_time = prefill_time(step_time, deployment.engine, share, input_tokens);
  const std::int64_t context = middle_context(input_tokens, output_tokens);
  const StepBatch middle = decode_batch(model, share, context);
  result.decode = step_time.explain(middle);
  if (step_time.stages() > 1) {
    result.pipeline = pipeline_of(step_time, middle, deployment.parallel.data);
  }
  const Seconds decoding = decode_time(step_time, model, share, input_tokens, steps);
  result.decode_step = steps > 0 ? decoding / static_cast<double>(steps) : result.decode.total;

  const auto sequences = static_cast<double>(batch);
  result.whole = result.prefill_time + decoding;
  result.energy = energy_of(result, result.prefill_time, decoding, deployment);
  result.output_tokens_per_second =
      sequences * static_cast<double>(output_tokens) / result.whole.value;
  result.decode_tokens_per_second = sequences / result.decode_step.value;
  const StepSummary& prefill = result.prefill_summary = summary_of(result.prefill, deployment.gpu);
  const StepSummary& decode = result.decode_summary = summary_of(result.decode, deployment.gpu);
  result.mfu_prefill = prefill.needed_compute / result.prefill_time;
  result.mbu_prefill = prefill.needed_memory / result.prefill_time;
  result.mfu_decode = decode.needed_compute / result.decode.total;
  result.mbu_decode = decode.needed_memory / result.decode.total;
  result.ridge = main_ridge(deployment);
  result.compute_bound = compute_bound_batches(deployment, context);
  return result;
}

std::vector<DTypeVariant> compare_dtypes(const std::vector<Deployment>& variants,
                                         std::int64_t batch, std::int64_t input_tokens,
                                         std::int64_t output_tokens) {
  std::vector<DTypeVariant> rows;
  for (const Deployment& variant : variants) {
    const std::int64_t share = ceil_divide(batch, variant.parallel.data);
    const Bytes sequence =
        cache_bytes_per_sequence(variant.model, variant.engine.kv_cache_dtype,
                                 input_tokens + output_tokens, variant.parallel.tensor) /
        static_cast<double>(variant.parallel.pipeline);
    DTypeVariant row{.weight_format = main_format(variant.model),
                     .kv_dtype = variant.engine.kv_cache_dtype,
                     .estimate = estimate_generation(variant, batch, input_tokens, output_tokens),
                     .weight_bytes = weight_bytes(variant.model, variant.parallel),
                     .cache_bytes = sequence * static_cast<double>(share)};
    const DTypeVariant& first = rows.empty() ? row : rows.front();
    row.memory_delta = row.weight_bytes + row.cache_bytes - first.weight_bytes - first.cache_bytes;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace roofcast
