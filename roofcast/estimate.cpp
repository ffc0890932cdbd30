#include "roofcast/estimate.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/generation_estimate.hpp"
#include "planner/sizing.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {

template <>
struct EnumNames<Bound> {
  static inline const std::array values =
      names_of(Bound::compute, Bound::memory, Bound::latency, Bound::communication);
};

template <>
struct EnumNames<Provenance> {
  static inline const std::array values =
      names_of(Provenance::measured, Provenance::interpolated, Provenance::extended,
               Provenance::fitted, Provenance::datasheet);
};

namespace {

constexpr const char* kCommand = "estimate";

constexpr std::int64_t kMaxTokens = 1'000'000'000;

void check(const char* key, std::int64_t value, std::int64_t max) {
  if (value < 1 || value > max) {
    throw Error(fmt::format("{}: expected 1 to {}, found {}", key, max, value));
  }
}

std::vector<FormatAnswer> variants_of(const EstimateQuestion& question) {
  const std::vector<FormatVariant> formats = format_variants(question.deployment);
  std::vector<Deployment> deployments;
  deployments.reserve(formats.size());
  for (const FormatVariant& format : formats) {
    deployments.push_back(resolve(format.options).deployment);
  }
  const std::vector<DTypeVariant> times =
      compare_dtypes(deployments, question.batch, question.input_tokens, question.output_tokens);
  std::vector<FormatAnswer> variants;
  for (std::size_t i = 0; i < times.size(); ++i) {
    variants.push_back({.name = formats[i].name,
                        .prefill = times[i].prefill_time,
                        .decode_step = times[i].decode_step,
                        .weight_bytes = times[i].weight_bytes,
                        .cache_bytes = times[i].cache_bytes});
  }
  return variants;
}

Seconds step_time(const std::vector<OperatorAnswer>& operators, Seconds host) {
  Seconds total = host;
  for (const OperatorAnswer& part : operators) total += part.time;
  return total;
}

}  // namespace

EstimateAnswer estimate(const EstimateQuestion& question) {
  check("batch", question.batch, kMaxEstimatedBatch);
  check("input_tokens", question.input_tokens, kMaxTokens);
  check("output_tokens", question.output_tokens, kMaxTokens);
  const Deployment deployment = resolve(question.deployment).deployment;
  const GenerationEstimate generation = estimate_generation(
      deployment, question.batch, question.input_tokens, question.output_tokens);
  const std::int64_t fitting = max_batch_at(deployment, plan_memory(deployment),
                                            question.input_tokens + question.output_tokens);
  const StepEstimate& prefill = generation.prefill;
  const StepEstimate& decode = generation.decode;
  return {.head = answer_head(kCommand),
          .inputs = {.deployment = inputs_of(deployment),
                     .batch = question.batch,
                     .input_tokens = question.input_tokens,
                     .output_tokens = question.output_tokens},
          .prefill = generation.prefill_time,
          .decode_step = generation.decode_step,
          .output_tokens_per_s = generation.output_tokens_per_second,
          .decode_tokens_per_s = generation.decode_tokens_per_second,
          .mfu = generation.mfu_prefill,
          .mbu = generation.mbu_decode,
          .ridge = generation.ridge,
          .compute_bound_batch = generation.compute_bound_batch,
          .prefill_relative_uncertainty = prefill.relative_uncertainty,
          .decode_relative_uncertainty = decode.relative_uncertainty,
          .host = {prefill.host, decode.host},
          .operators = {operators_of(prefill), operators_of(decode)},
          .fits = fitting >= question.batch,
          .variants = variants_of(question),
          .step = {prefill.total, decode.total},
          .fitting_sequences = fitting};
}

Json to_json(const EstimateAnswer& answer) { return record_to_json(answer); }

EstimateAnswer estimate_answer_from_json(const Json& json) {
  auto answer = answer_from_json<EstimateAnswer>(json, kCommand);
  answer.step = {step_time(answer.operators.prefill, answer.host.prefill),
                 step_time(answer.operators.decode, answer.host.decode)};
  return answer;
}

Json estimate_answer_schema() { return schema_document<EstimateAnswer>("roofcast estimate"); }

}  // namespace roofcast
