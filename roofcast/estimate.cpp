#include "roofcast/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/ceil_divide.hpp"
#include "base/dotted_version.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "model/curves/curve_source.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/error_causes.hpp"
#include "model/step/generation_estimate.hpp"
#include "planner/scenario/sizing.hpp"
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

template <>
struct EnumNames<VersionBasis> {
  static inline const std::array values =
      names_of(VersionBasis::fastest, VersionBasis::slower_kernels, VersionBasis::nearest);
};

template <>
struct EnumNames<StepLimit> {
  static inline const std::array values =
      names_of(StepLimit::compute, StepLimit::memory, StepLimit::latency, StepLimit::communication,
               StepLimit::host);
};

namespace {

constexpr const char* kEstimateCommand = "estimate";

constexpr std::int64_t kMaxEstimatedTokens = 1'000'000'000;

void check(const char* key, std::int64_t value, std::int64_t max) {
  if (value < 1 || value > max) {
    throw Error(fmt::format("{}: expected 1 to {}, found {}", key, max, value));
  }
}

void check_list(const char* key, std::vector<std::int64_t> values, std::int64_t max) {
  if (values.empty()) throw Error(fmt::format("{}: expected at least one", key));
  for (const std::int64_t value : values) check(key, value, max);
  std::ranges::sort(values);
  const auto twice = std::ranges::adjacent_find(values);
  if (twice != values.end()) throw Error(fmt::format("{}: {} is given twice", key, *twice));
}

/// The prompt asked about, or the default one.
std::int64_t input_or_default(const Deployment& deployment, std::int64_t input,
                              std::int64_t output) {
  if (input != 0) return input;
  const std::int64_t longest = deployment.engine.max_model_len;
  return longest == 0 ? kDefaultInputTokens
                      : std::clamp<std::int64_t>(longest - output, 1, kDefaultInputTokens);
}

/// Engines reject such requests, as a simulation does (simulator/engine/admission.cpp).
void check_length(const Deployment& deployment, std::int64_t input, std::int64_t output) {
  const std::int64_t longest = deployment.engine.max_model_len;
  if (longest == 0 || input + output <= longest) return;
  throw UsageError(
      fmt::format("`input_len`: {} and {} output tokens are longer than `max_model_len`, {} tokens",
                  input, output, longest));
}

// ---- memory

/// How many sequences of one length fit, and what each takes.
struct Room {
  std::int64_t max_batch = 0;  // over all data-parallel ranks
  bool any_batch = false;      // a model without a cache
  Bytes cache_per_sequence{};  // on all GPUs of a rank

  bool holds(std::int64_t batch) const { return any_batch || batch <= max_batch; }
};

Room room_for(const Deployment& deployment, const MemoryPlan& plan, std::int64_t context) {
  const Parallelism& parallel = deployment.parallel;
  const Bytes one = sequence_bytes(deployment, plan, context);
  return {.max_batch = max_batch_at(deployment, plan, context) * parallel.data,
          .any_batch = one.value <= 0 && plan.kv_budget.value > 0,
          .cache_per_sequence =
              one * static_cast<double>(parallel.tensor * parallel.context * parallel.pipeline)};
}

// ---- steps

PartAnswer part_of(const StepPart& part) {
  return {.time = part.time,
          .flops = part.flops,
          .bytes = part.bytes,
          .intensity = part.intensity(),
          .compute_bound = part.is_compute_bound()};
}

SourceAnswer source_of(const StepEstimate& step, const StepSummary& summary) {
  SourceAnswer source{.relative_uncertainty = step.relative_uncertainty,
                      .provenance = summary.provenance,
                      .share = summary.provenance_share};
  for (const OperatorEstimate& op : step.operators) {
    if (op.provenance != Provenance::datasheet) continue;
    const OperatorFamily family = op.work.family;
    source.products_by_default |= family == OperatorFamily::gemm || family == OperatorFamily::moe;
    source.attention_by_default |=
        family == OperatorFamily::prefill_attention || family == OperatorFamily::decode_attention;
  }
  return source;
}

/// Types narrower than 16 bits in which products would run if the GPU had a peak of them.
std::optional<std::string> widened_in(const StepEstimate& step, const Gpu& gpu) {
  std::vector<std::string_view> types;
  for (const OperatorEstimate& op : step.operators) {
    const OperatorFamily family = op.work.family;
    const DType type = op.work.compute;
    if ((family != OperatorFamily::gemm && family != OperatorFamily::moe) ||
        bits_of(type) >= bits_of(DType::bf16) || gpu.dense_peak.contains(type)) {
      continue;
    }
    if (std::ranges::find(types, name_of(type)) == types.end()) types.push_back(name_of(type));
  }
  if (types.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(types, ", "));
}

StepAnswer step_of(const StepEstimate& step, const StepSummary& summary) {
  StepAnswer answer{.source = source_of(step, summary),
                    .lower_bound = summary.lower_bound,
                    .binding = summary.binding,
                    .binding_share = summary.binding_share,
                    .products = part_of(summary.products),
                    .attention = part_of(summary.attention),
                    .whole = part_of(summary.whole)};
  if (summary.lower_bound.value > 0)
    answer.unused_at_bound = 1 - summary.needed_compute / summary.lower_bound;
  return answer;
}

PerStep<StepAnswer> steps_of(const GenerationEstimate& generation, std::int64_t batch,
                             std::int64_t input_tokens) {
  StepAnswer prefill = step_of(generation.prefill, generation.prefill_summary);
  prefill.time = generation.prefill_time;
  prefill.tokens_per_s = to_double(batch) * to_double(input_tokens) / prefill.time.value;
  prefill.mfu = generation.mfu_prefill;
  prefill.mbu = generation.mbu_prefill;
  StepAnswer decode = step_of(generation.decode, generation.decode_summary);
  decode.time = generation.decode_step;
  decode.tokens_per_s = generation.decode_tokens_per_second;
  decode.mfu = generation.mfu_decode;
  decode.mbu = generation.mbu_decode;
  return {.prefill = prefill, .decode = decode};
}

std::vector<FormatAnswer> variants_of(const EstimateQuestion& question) {
  std::vector<FormatVariant> formats = format_variants(question.deployment);
  std::vector<Deployment> deployments;
  deployments.reserve(formats.size());
  std::erase_if(formats, [&](const FormatVariant& format) {
    try {
      deployments.push_back(resolve(format.options).deployment);
      return false;
    } catch (const Error&) {
      if (deployments.empty()) throw;  // as given
      return true;                     // the GPU has no such format
    }
  });
  const std::vector<DTypeVariant> times =
      compare_dtypes(deployments, question.batch, question.input_tokens, question.output_tokens);
  std::vector<FormatAnswer> variants;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const GenerationEstimate& generation = times[i].estimate;
    variants.push_back({.name = formats[i].name,
                        .prefill = generation.prefill_time,
                        .prefill_source = source_of(generation.prefill, generation.prefill_summary),
                        .decode_step = generation.decode_step,
                        .decode_source = source_of(generation.decode, generation.decode_summary),
                        .weight_bytes = times[i].weight_bytes,
                        .cache_bytes = times[i].cache_bytes,
                        .widened = widened_in(generation.prefill, deployments[i].gpu)});
  }
  return variants;
}

std::optional<PipelineAnswer> pipeline_of(const GenerationEstimate& generation, int stages) {
  if (!generation.pipeline) return std::nullopt;
  return PipelineAnswer{.stages = stages,
                        .decode_step = generation.pipeline->token,
                        .decode_tokens_per_s = generation.pipeline->tokens_per_second};
}

Seconds step_time(const std::vector<OperatorAnswer>& operators, Seconds host) {
  Seconds total = host;
  for (const OperatorAnswer& part : operators) total += part.time;
  return total;
}

}  // namespace

std::string source_words(const SourceAnswer& source) {
  const bool partly = source.provenance != Provenance::datasheet &&
                      (source.products_by_default || source.attention_by_default);
  return fmt::format("±{} {}{}", as_percent(source.relative_uncertainty, 0),
                     name_of(source.provenance), partly ? ", datasheet" : "");
}

namespace {

bool has_products_in(const Measured& measured, const std::string& format) {
  return std::ranges::any_of(measured.curves, [&](const MeasuredCurve& curve) {
    return curve.shape.family == OperatorFamily::gemm &&
           (format.empty() || curve.shape.format == format);
  });
}

/// Formats of products that a calibrated profile has to answer without a curve.
std::optional<std::string> untimed_formats(const Gpu& gpu, const StepEstimate& step) {
  if (!gpu.measured || !has_products_in(*gpu.measured, "")) return std::nullopt;
  std::vector<std::string> formats;
  for (const OperatorEstimate& op : step.operators) {
    if (op.work.family != OperatorFamily::gemm || op.provenance != Provenance::datasheet) continue;
    if (has_products_in(*gpu.measured, op.work.format)) continue;
    if (std::ranges::find(formats, op.work.format) == formats.end()) {
      formats.push_back(op.work.format);
    }
  }
  if (formats.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(formats, ", "));
}

std::optional<double> if_any(double deviation) {
  return deviation > 0 ? std::optional(deviation) : std::nullopt;
}

/// The newest source of the engine's own kernels that some operator's time is from: "SGLang
/// 0.5.14"; empty if none is.
std::string newest_source(const GenerationEstimate& generation, std::string_view engine) {
  std::string newest;
  for (const StepEstimate* step : {&generation.prefill, &generation.decode}) {
    for (const OperatorEstimate& op : step->operators) {
      if (!is_of_engine(op.source, engine)) continue;
      if (newest.empty() || version_of(newest) < version_of(op.source)) newest = op.source;
    }
  }
  return newest;
}

/// EstimateAnswer::tuned_kernels and the times with them.
void add_tuned_kernels(const Deployment& deployment, const EstimateQuestion& question,
                       EstimateAnswer& answer) {
  constexpr double kTold = 0.99;  // of the time
  const Deployment tuned = with_newest_kernels(deployment);
  if (tuned.engine.version == deployment.engine.version &&
      tuned.engine.fp8_gemm_backend == deployment.engine.fp8_gemm_backend) {
    return;
  }
  const GenerationEstimate generation =
      estimate_generation(tuned, question.batch, question.input_tokens, question.output_tokens);
  const bool prefill = generation.prefill_time < answer.prefill * kTold;
  const bool decode =
      !deployment.engine.pooling && generation.decode_step < answer.decode_step * kTold;
  if (!prefill && !decode) return;
  const std::string source = newest_source(generation, tuned.engine.version);
  const bool stated = !stated_version(tuned.engine.version).empty();
  answer.tuned_kernels = !source.empty() ? source
                         : stated        ? tuned.engine.version
                                         : "the newest " + tuned.engine.version;
  if (prefill) answer.tuned_prefill = generation.prefill_time;
  if (decode) answer.tuned_decode_step = generation.decode_step;
}

// ---- decodes that no CUDA graph holds

/// Whether decodes run in CUDA graphs, but none holds `size` (graph_size()): it is beyond the
/// largest, or between two and not padded.
bool is_left_out(const Engine& engine, std::int64_t size) {
  const bool lists = engine.cuda_graphs && !engine.exact_graphs;
  return lists && !engine.graph_batch_sizes.empty() && !graph_holds(engine, size);
}

/// One knob, and the overrides with it.
struct GraphChange {
  std::string knob{};
  std::string value{};
  EngineOverrides overrides{};
};

/// What may have a graph hold `size`, the best first.
std::vector<GraphChange> graph_changes(const Engine& engine, const EngineOverrides& given,
                                       std::int64_t size) {
  if (size < engine.graph_batch_sizes.back()) {
    EngineOverrides padded = given;
    padded.cuda_graph_padding = true;
    return {{.knob = "cuda_graph_padding", .value = "on", .overrides = padded}};
  }
  if (given.cuda_graph_batch_sizes) {
    EngineOverrides listed = given;
    listed.cuda_graph_max_bs.reset();
    listed.cuda_graph_batch_sizes->push_back(size);
    return {{.knob = "cuda_graph_batch_sizes",
             .value = fmt::format("{}", fmt::join(*listed.cuda_graph_batch_sizes, ",")),
             .overrides = listed}};
  }
  // Where engines list sizes by 8, 16 or 32, the list may end below the largest size asked for.
  constexpr std::int64_t kCommonStep = 64;
  std::vector<GraphChange> changes;
  for (const std::int64_t largest : {size, ceil_divide(size, kCommonStep) * kCommonStep}) {
    EngineOverrides larger = given;
    larger.cuda_graph_max_bs = largest;
    changes.push_back({.knob = "cuda_graph_max_bs",
                       .value = fmt::format("{}", largest),
                       .overrides = std::move(larger)});
  }
  return changes;
}

/// Nullopt for sizes beyond those that may be captured.
std::optional<Deployment> resolved_if_allowed(const DeploymentOptions& options) {
  try {
    return resolve(options).deployment;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

/// EstimateAnswer::uncaptured_decode of a step that takes `decode_step`.
std::optional<UncapturedDecode> uncaptured_decode(const Deployment& deployment,
                                                  const EstimateQuestion& question,
                                                  Seconds decode_step) {
  constexpr double kTold = 0.95;  // of the time
  const Engine& engine = deployment.engine;
  const std::int64_t sequences = ceil_divide(question.batch, deployment.parallel.data);
  const std::int64_t size = graph_size(engine, sequences, 1);
  if (engine.pooling || sequences > engine.max_num_seqs || !is_left_out(engine, size)) return {};
  for (const GraphChange& change : graph_changes(engine, question.deployment.overrides, size)) {
    DeploymentOptions options = question.deployment;
    options.overrides = change.overrides;
    const std::optional<Deployment> changed = resolved_if_allowed(options);
    if (!changed || is_left_out(changed->engine, size)) continue;
    const GenerationEstimate generation = estimate_generation(
        *changed, question.batch, question.input_tokens, question.output_tokens);
    if (generation.decode_step > decode_step * kTold) return {};
    return UncapturedDecode{.sequences = sequences,
                            .largest_graph = engine.graph_batch_sizes.back(),
                            .knob = change.knob,
                            .value = change.value,
                            .decode_step = generation.decode_step};
  }
  return {};
}

// ---- several batches

/// Without times if the batch does not fit.
BatchRow row_of(const Deployment& deployment, const EstimateQuestion& question, const Room& room) {
  BatchRow row{.batch = question.batch,
               .input_tokens = question.input_tokens,
               .cache = room.cache_per_sequence * to_double(question.batch),
               .fits = room.holds(question.batch),
               .cost = idle_cost(deployment)};
  if (!row.fits) return row;
  const GenerationEstimate generation = estimate_generation(
      deployment, question.batch, question.input_tokens, question.output_tokens);
  row.summary = steps_of(generation, question.batch, question.input_tokens);
  row.uncaptured_decode = uncaptured_decode(deployment, question, generation.decode_step);
  row.cost = cost_of(deployment, generation, question.input_tokens, question.output_tokens);
  if (!deployment.engine.pooling) return row;
  row.summary->decode = {};
  row.cost.dollars_per_million_output_tokens.reset();
  row.cost.joules_per_output_token.reset();
  return row;
}

// ---- models that pool

/// Takes out of the answer what only generation has: a model that pools ends with its prompts, each
/// of which gets a vector, the single output token of `generation`.
void drop_decodes(EstimateAnswer& answer) {
  answer.generates = false;
  answer.decode_step = {};
  answer.tuned_decode_step.reset();
  answer.decode_tokens_per_s = answer.mbu = answer.decode_relative_uncertainty = 0;
  answer.pipeline.reset();
  answer.compute_bound = {};
  answer.summary.decode = {};
  answer.host.decode = answer.step.decode = {};
  answer.operators.decode.clear();
  answer.cost.dollars_per_million_output_tokens.reset();
  answer.cost.joules_per_output_token.reset();
  for (FormatAnswer& variant : answer.variants) {
    variant.decode_step = {};
    variant.decode_source = {};
  }
}

}  // namespace

EstimateAnswer estimate(const EstimateQuestion& asked) {
  EstimateQuestion question = asked;
  check("batch", question.batch, kMaxEstimatedBatch);
  check("output_tokens", question.output_tokens, kMaxEstimatedTokens);
  const Deployment deployment = resolve(question.deployment).deployment;
  if (deployment.engine.pooling) question.output_tokens = 1;
  question.input_tokens =
      input_or_default(deployment, question.input_tokens, question.output_tokens);
  check("input_tokens", question.input_tokens, kMaxEstimatedTokens);
  // A vector takes no place in the sequence.
  check_length(deployment, question.input_tokens,
               deployment.engine.pooling ? 0 : question.output_tokens);
  const GenerationEstimate generation = estimate_generation(
      deployment, question.batch, question.input_tokens, question.output_tokens);
  const Room room =
      room_for(deployment, plan_memory(deployment), question.input_tokens + question.output_tokens);
  const StepEstimate& prefill = generation.prefill;
  const StepEstimate& decode = generation.decode;
  EstimateAnswer answer{
      .head = answer_head(kEstimateCommand),
      .inputs = {.deployment = inputs_of(deployment),
                 .batch = question.batch,
                 .input_tokens = question.input_tokens,
                 .output_tokens = question.output_tokens},
      .prefill = generation.prefill_time,
      .decode_step = generation.decode_step,
      .output_tokens_per_s = generation.output_tokens_per_second,
      .decode_tokens_per_s = generation.decode_tokens_per_second,
      .pipeline = pipeline_of(generation, deployment.parallel.pipeline),
      .mfu = generation.mfu_prefill,
      .mbu = generation.mbu_decode,
      .cost = cost_of(deployment, generation, question.input_tokens, question.output_tokens),
      .ridge = generation.ridge,
      .compute_bound = generation.compute_bound,
      .summary = steps_of(generation, question.batch, question.input_tokens),
      .prefill_relative_uncertainty = prefill.relative_uncertainty,
      .decode_relative_uncertainty = decode.relative_uncertainty,
      .host = {prefill.host, decode.host},
      .operators = {operators_of(prefill), operators_of(decode)},
      .fits = room.holds(question.batch),
      .max_num_seqs = deployment.engine.max_num_seqs * deployment.parallel.data,
      .untimed_formats = untimed_formats(deployment.gpu, decode),
      .version_relative_uncertainty = if_any(version_deviation(deployment)),
      .model_relative_uncertainty = if_any(model_deviation(deployment)),
      .variants = variants_of(question),
      .step = {prefill.total, decode.total},
      .fitting_sequences = room.max_batch};
  if (answer.version_relative_uncertainty) answer.version_basis = version_basis(deployment);
  add_tuned_kernels(deployment, question, answer);
  answer.uncaptured_decode = uncaptured_decode(deployment, question, answer.decode_step);
  if (deployment.engine.pooling) drop_decodes(answer);
  return answer;
}

BatchesAnswer estimate_batches(const BatchesQuestion& asked) {
  BatchesQuestion question = asked;
  check_list("batch", question.batches, kMaxEstimatedBatch);
  check("output_tokens", question.output_tokens, kMaxEstimatedTokens);
  if (std::ssize(question.batches) * std::ssize(question.input_tokens) > kMaxEstimatedPairs) {
    throw Error(fmt::format("batch: more than {} pairs of a batch and a prompt length",
                            kMaxEstimatedPairs));
  }
  const Deployment deployment = resolve(question.deployment).deployment;
  const bool pools = deployment.engine.pooling;
  const std::int64_t output = pools ? 1 : question.output_tokens;
  for (std::int64_t& input : question.input_tokens) {
    input = input_or_default(deployment, input, output);
  }
  check_list("input_tokens", question.input_tokens, kMaxEstimatedTokens);
  check_length(deployment, std::ranges::max(question.input_tokens), pools ? 0 : output);
  const MemoryPlan plan = plan_memory(deployment);
  BatchesAnswer answer{.head = answer_head(kEstimateCommand),
                       .inputs = {.deployment = inputs_of(deployment),
                                  .batches = question.batches,
                                  .input_tokens = question.input_tokens,
                                  .output_tokens = output},
                       .generates = !pools,
                       .max_num_seqs = deployment.engine.max_num_seqs * deployment.parallel.data};
  answer.ridge = main_ridge(deployment);
  for (const std::int64_t input : question.input_tokens) {
    const Room room = room_for(deployment, plan, input + output);
    answer.contexts.push_back(
        {.input_tokens = input,
         .context_tokens = input + output,
         .cache_per_sequence = room.cache_per_sequence,
         .max_batch = room.max_batch,
         .compute_bound = compute_bound_batches(deployment, middle_context(input, output))});
    for (const std::int64_t batch : question.batches) {
      answer.rows.push_back(row_of(deployment,
                                   {.deployment = question.deployment,
                                    .batch = batch,
                                    .input_tokens = input,
                                    .output_tokens = output},
                                   room));
    }
  }
  return answer;
}

bool is_yes(const EstimateAnswer& answer) { return answer.fits; }

bool is_yes(const BatchesAnswer& answer) {
  return std::ranges::any_of(answer.rows, &BatchRow::fits);
}

std::optional<EstimateQuestion> single_estimate(const BatchesQuestion& question) {
  if (question.batches.size() != 1 || question.input_tokens.size() != 1) return std::nullopt;
  return EstimateQuestion{.deployment = question.deployment,
                          .batch = question.batches.front(),
                          .input_tokens = question.input_tokens.front(),
                          .output_tokens = question.output_tokens};
}

Json to_json(const EstimateAnswer& answer) { return record_to_json(answer); }

Json to_json(const BatchesAnswer& answer) { return record_to_json(answer); }

EstimateAnswer estimate_answer_from_json(const Json& json) {
  auto answer = answer_from_json<EstimateAnswer>(json, kEstimateCommand);
  answer.step = {step_time(answer.operators.prefill, answer.host.prefill),
                 step_time(answer.operators.decode, answer.host.decode)};
  return answer;
}

BatchesAnswer batches_answer_from_json(const Json& json) {
  return answer_from_json<BatchesAnswer>(json, kEstimateCommand);
}

Json estimate_answer_schema() { return schema_document<EstimateAnswer>("roofcast estimate"); }

Json batches_answer_schema() {
  return schema_document<BatchesAnswer>("roofcast estimate, several batches");
}

}  // namespace roofcast
