// Times of prefill and a decode step, operator by operator, and what other number formats change;
// and the same over several batches and prompt lengths, up to where memory ends.
//
//   EstimateQuestion question;
//   question.deployment.model = "llama-3.1-8b";
//   question.deployment.gpu = "h100";
//   question.batch = 32;
//   const EstimateAnswer answer = estimate(question);
//   std::cout << answer.decode_step.value * 1e3 << " ms a decode step\n";
//
// Fields of an answer are described by its `members`, key by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/step/step_summary.hpp"
#include "model/step/version_terms.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "planner/scenario/step_description.hpp"
#include "roofcast/envelope.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Each sequence is computed individually; engines run a few thousand at most.
inline constexpr std::int64_t kMaxEstimatedBatch = 1'000'000;

/// Sequences that are prefilled and then decoded together, with no other load.
struct EstimateQuestion {
  DeploymentOptions deployment{};  // what runs where: model and GPU are required
  std::int64_t batch = 1;          // sequences at once, 1 to kMaxEstimatedBatch
  /// Prompt tokens per sequence, 1 to 10^9; 0: 1,024, or what the model's context leaves.
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = kDefaultOutputTokens;  // generated per sequence, 1 to 10^9
};

/// The same for every pair of a batch and a prompt length.
struct BatchesQuestion {
  DeploymentOptions deployment{};             // as above
  std::vector<std::int64_t> batches{1};       // at least one, none twice; range as above
  std::vector<std::int64_t> input_tokens{0};  // at least one, none twice; range as above
  std::int64_t output_tokens = kDefaultOutputTokens;
};

/// Maximum pairs of a batch and a prompt length.
inline constexpr std::int64_t kMaxEstimatedPairs = 10'000;

struct EstimateInputs {
  DeploymentInputs deployment{};
  std::int64_t batch = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// One value for the prefill step, one for the decode step.
template <class T>
struct PerStep {
  T prefill{};
  T decode{};
};

/// Some or all operators of a step.
struct PartAnswer {
  Seconds time{};
  Flops flops{};
  Bytes bytes{};
  std::optional<FlopsPerByte> intensity{};
  bool compute_bound = false;
};

/// Where most of an estimated time comes from.
struct SourceAnswer {
  double relative_uncertainty = 0;
  Provenance provenance = Provenance::datasheet;
  double share = 0;
  bool products_by_default = false;
  bool attention_by_default = false;

  /// Whether a ratio to a time from `other` is one of the work, not of the sources.
  bool is_like(const SourceAnswer& other) const {
    return products_by_default == other.products_by_default &&
           attention_by_default == other.attention_by_default;
  }
};

/// The spread of a time and where it comes from: "±8 % fitted", "±15 % fitted, datasheet" if part
/// of the products or of attention is answered by a default.
std::string source_words(const SourceAnswer& source);

/// A step as a whole, on one GPU.
struct StepAnswer {
  Seconds time{};
  SourceAnswer source{};
  Seconds lower_bound{};
  double tokens_per_s = 0;
  double mfu = 0;
  double mbu = 0;
  double unused_at_bound = 0;
  StepLimit binding = StepLimit::memory;
  double binding_share = 0;
  PartAnswer products{};
  PartAnswer attention{};
  PartAnswer whole{};
};

/// Figures of a prompt length that do not depend on the batch.
struct ContextAnswer {
  std::int64_t input_tokens = 0;
  std::int64_t context_tokens = 0;
  Bytes cache_per_sequence{};
  std::int64_t max_batch = 0;
  ComputeBoundBatches compute_bound{};
};

struct FormatAnswer {
  std::string name{};
  Seconds prefill{};
  SourceAnswer prefill_source{};
  Seconds decode_step{};
  SourceAnswer decode_source{};
  Bytes weight_bytes{};
  Bytes cache_bytes{};
  /// Narrow formats in which the GPU cannot multiply ("fp8"): it widens such weights first.
  std::optional<std::string> widened{};
};

/// With as many batches in progress as there are pipeline stages.
struct PipelineAnswer {
  std::int64_t stages = 0;
  Seconds decode_step{};
  double decode_tokens_per_s = 0;
};

/// A decode step that no CUDA graph holds though graphs are on, so that its kernels are launched
/// one by one.
struct UncapturedDecode {
  std::int64_t sequences = 0;      // of one data-parallel rank
  std::int64_t largest_graph = 0;  // below it: the size is between captured ones, and not padded
  std::string knob{};              // that would have it in a graph: "cuda_graph_max_bs"
  std::string value{};             // as after its flag: "129", "on", "1,2,129"
  Seconds decode_step{};           // then
};

struct EstimateAnswer {
  AnswerHead head{};
  EstimateInputs inputs{};
  bool generates = true;  // else the model pools: what is said of decode steps is 0
  Seconds prefill{};
  Seconds decode_step{};
  double output_tokens_per_s = 0;
  double decode_tokens_per_s = 0;
  std::optional<PipelineAnswer> pipeline{};  // unset without stages
  double mfu = 0;
  double mbu = 0;
  ServingCost cost{};  // while the sequences run
  FlopsPerByte ridge{};
  ComputeBoundBatches compute_bound{};
  PerStep<StepAnswer> summary{};
  double prefill_relative_uncertainty = 0;
  double decode_relative_uncertainty = 0;
  PerStep<Seconds> host{};
  PerStep<std::vector<OperatorAnswer>> operators{};
  bool fits = false;
  std::int64_t max_num_seqs = 0;  // sequences that the schedulers of all ranks run at once
  /// Weight formats of the model ("q8_0, q6_k") in which a profile that has measured products has
  /// none, so that they are answered from its peaks.
  std::optional<std::string> untimed_formats{};
  /// Of both uncertainties, that of the engine's version (version_deviation()); unset
  /// where they are not known to.
  std::optional<double> version_relative_uncertainty{};
  /// What the times stand for among these versions.
  std::optional<VersionBasis> version_basis{};
  /// What the newest kernels on record would allow, whose they are and the times of prefill and
  /// decode step with them; unset unless one of both is shorter by more than 1 %.
  std::optional<std::string> tuned_kernels{};
  std::optional<Seconds> tuned_prefill{};
  std::optional<Seconds> tuned_decode_step{};
  /// Unset where a graph would save less than 5 % of the decode step, and above max_num_seqs.
  std::optional<UncapturedDecode> uncaptured_decode{};
  /// The same as version_relative_uncertainty, how far servers of such models were off
  /// (model_deviation()).
  std::optional<double> model_relative_uncertainty{};
  std::vector<FormatAnswer> variants{};
  /// Time of the two steps whose operators are listed. Not in the JSON; read back as the sum of
  /// operators and host time, which is too low where launching kernels takes longer than running
  /// them.
  PerStep<Seconds> step{};
  /// How many such sequences fit in memory at once. Not in the JSON; unset when read back.
  std::optional<std::int64_t> fitting_sequences{};
};

struct BatchesInputs {
  DeploymentInputs deployment{};
  std::vector<std::int64_t> batches{};
  std::vector<std::int64_t> input_tokens{};
  std::int64_t output_tokens = 0;
};

/// One batch of prompts of one length.
struct BatchRow {
  std::int64_t batch = 0;
  std::int64_t input_tokens = 0;
  Bytes cache{};
  bool fits = false;
  std::optional<PerStep<StepAnswer>> summary{};
  /// As EstimateAnswer::uncaptured_decode.
  std::optional<UncapturedDecode> uncaptured_decode{};
  ServingCost cost{};  // while it runs, prefill included; if it does not fit, none of tokens
};

struct BatchesAnswer {
  AnswerHead head{};
  BatchesInputs inputs{};
  bool generates = true;  // as EstimateAnswer::generates
  FlopsPerByte ridge{};
  std::int64_t max_num_seqs = 0;
  std::vector<ContextAnswer> contexts{};
  std::vector<BatchRow> rows{};
};

/// Throws Error if the model, GPU or engine is missing, unknown or incompatible, for counts out of
/// range, and for sequences longer than the engine's max_model_len. Sequences that do not fit in
/// memory are estimated anyway.
EstimateAnswer estimate(const EstimateQuestion& asked);

/// Throws as estimate() does. Batches that do not fit in memory are rows without times.
BatchesAnswer estimate_batches(const BatchesQuestion& asked);

/// Whether the batch, or any of the batches, fits in memory.
bool is_yes(const EstimateAnswer& answer);
bool is_yes(const BatchesAnswer& answer);

/// The question about the only batch and prompt length; nullopt if there are several.
std::optional<EstimateQuestion> single_estimate(const BatchesQuestion& question);

/// What `roofcast estimate -o json` prints: of one batch, and of several.
Json to_json(const EstimateAnswer& answer);
Json to_json(const BatchesAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
EstimateAnswer estimate_answer_from_json(const Json& json);
BatchesAnswer batches_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json estimate_answer_schema();
Json batches_answer_schema();

template <class Visitor>
void members(Visitor& visit, EstimateInputs& inputs) {
  members(visit, inputs.deployment);
  visit("batch", inputs.batch, "sequences at once");
  visit("input_tokens", inputs.input_tokens, "prompt tokens per sequence");
  visit("output_tokens", inputs.output_tokens, "tokens generated per sequence");
}

template <class Visitor, class T>
void members(Visitor& visit, PerStep<T>& per_step) {
  visit("prefill", per_step.prefill, "in the step that prefills all prompts");
  visit("decode", per_step.decode, "in the decode step at the middle of the generation");
}

template <class Visitor>
void members(Visitor& visit, PartAnswer& part) {
  visit("time_s", part.time, "of its operators; of the whole step, host time included");
  visit("flops", part.flops, "on one GPU");
  visit("bytes", part.bytes, "read and written on one GPU; what is sent to others not included");
  visit("intensity_flops_per_byte", part.intensity, "flops / bytes; null if no bytes move");
  visit("compute_bound", part.compute_bound,
        "whether the FLOPs at the dense peak take longer than the bytes at full bandwidth");
}

template <class Visitor>
void members(Visitor& visit, SourceAnswer& source) {
  visit("relative_uncertainty", source.relative_uncertainty,
        "one standard deviation of the time, as a share of it");
  visit("provenance", source.provenance, "source of most of the operators' time");
  visit("provenance_share", source.share, "share of the operators' time from that source");
  visit("products_by_default", source.products_by_default,
        "whether any matrix product is answered by the datasheet with a default efficiency");
  visit("attention_by_default", source.attention_by_default, "the same of attention");
}

template <class Visitor>
void members(Visitor& visit, StepAnswer& step) {
  visit("time_s", step.time, "as prefill_s or decode_step_s");
  members(visit, step.source);
  visit("min_s", step.lower_bound,
        "no implementation is faster: FLOPs at the dense peak, weights and KV cache read once at "
        "full bandwidth or what is sent over the links, whichever takes longest");
  visit("tokens_per_s", step.tokens_per_s, "prompt tokens; of the decode step, output tokens");
  visit("mfu", step.mfu, "model FLOPs utilisation, 0 to 1");
  visit("mbu", step.mbu, "memory bandwidth utilisation, 0 to 1");
  visit("unused_flops_share_at_least", step.unused_at_bound,
        "share of the dense peak that is unused even in min_s");
  visit("binds", step.binding, "what takes most of the step's time");
  visit("binds_share", step.binding_share, "share of the step's time");
  visit("products", step.products, "matrix products");
  visit("attention", step.attention, "over keys and values");
  visit("whole", step.whole, "all operators");
}

template <class Visitor>
void visit_compute_bound(Visitor& visit, ComputeBoundBatches& batches) {
  visit("compute_bound_batch", batches.products,
        "sequences above which decode GEMMs are compute-bound; null: not below 2^20");
  visit("compute_bound_batch_attention", batches.attention,
        "the same of decode attention, whose intensity does not grow with the batch");
  visit("compute_bound_batch_step", batches.step, "the same of the whole decode step");
}

template <class Visitor>
void members(Visitor& visit, ContextAnswer& context) {
  visit("input_tokens", context.input_tokens, "prompt tokens per sequence");
  visit("context_tokens", context.context_tokens, "tokens of a sequence at its full length");
  visit("kv_cache_bytes_per_sequence", context.cache_per_sequence,
        "KV cache of a sequence at its full length, on all its GPUs");
  visit("max_batch", context.max_batch, "sequences of that length that fit in memory at once");
  visit_compute_bound(visit, context.compute_bound);
}

template <class Visitor>
void members(Visitor& visit, FormatAnswer& variant) {
  visit("name", variant.name, "number formats: as given, fp8 weights, fp8 KV cache, ...");
  visit("prefill_s", variant.prefill, "prefill of all prompts");
  visit("prefill_source", variant.prefill_source, "where that time comes from");
  visit("decode_step_s", variant.decode_step, "mean decode step");
  visit("decode_step_source", variant.decode_source, "where that time comes from");
  visit("weight_bytes_per_gpu", variant.weight_bytes, "weights of the fullest GPU");
  visit("kv_cache_bytes_per_gpu", variant.cache_bytes,
        "KV cache of all sequences at their full length, on one GPU");
  visit.if_set("widened", variant.widened,
               "types of which the GPU has no peak: such weights are widened, then multiplied");
}

template <class Visitor>
void members(Visitor& visit, PipelineAnswer& pipeline) {
  visit("stages", pipeline.stages, "pipeline stages, and batches in progress");
  visit("decode_step_s", pipeline.decode_step, "from one token of a sequence to its next");
  visit("decode_tokens_per_s", pipeline.decode_tokens_per_s, "of all batches together");
}

template <class Visitor>
void members(Visitor& visit, UncapturedDecode& decode) {
  visit("sequences", decode.sequences, "of one data-parallel rank");
  visit("largest_graph", decode.largest_graph, "the largest captured size");
  visit("knob", decode.knob, "what would have it in a graph");
  visit("value", decode.value, "of that knob, as after its flag");
  visit("decode_step_s", decode.decode_step, "mean decode step then");
}

template <class Visitor>
void members(Visitor& visit, EstimateAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed, every knob resolved");
  visit("generates", answer.generates,
        "false: the model pools its inputs, and what is said of decode steps is 0");
  visit("prefill_s", answer.prefill,
        "prefill of all prompts, over as many steps as the token budget needs");
  visit("decode_step_s", answer.decode_step, "mean over the decode steps");
  visit("output_tokens_per_s", answer.output_tokens_per_s, "over prefill and decoding");
  visit("decode_tokens_per_s", answer.decode_tokens_per_s, "decode only");
  visit.if_set(
      "pipeline", answer.pipeline,
      "the decode step halfway through, with as many such batches in progress as there are "
      "pipeline stages");
  members(visit, answer.cost);
  visit("mfu", answer.mfu, "prefill: share of the dense peak, 0 to 1");
  visit("mbu", answer.mbu, "decode: share of the memory bandwidth, 0 to 1");
  visit("ridge_flops_per_byte", answer.ridge, "intensity above which the GPU is compute-bound");
  visit_compute_bound(visit, answer.compute_bound);
  visit("summary", answer.summary, "the steps as a whole: what binds, and the minimum time");
  visit("prefill_relative_uncertainty", answer.prefill_relative_uncertainty,
        "one standard deviation of the prefill step, as a share of it");
  visit("decode_relative_uncertainty", answer.decode_relative_uncertainty,
        "one standard deviation of the decode step, as a share of it");
  visit("host_s", answer.host, "host time that is not hidden behind the GPU");
  visit("operators", answer.operators, "all operators, in the order of the step");
  visit("fits", answer.fits, "whether all sequences at their full length fit in memory at once");
  visit("max_num_seqs", answer.max_num_seqs,
        "sequences that the schedulers of all ranks run at once");
  visit.if_set("untimed_formats", answer.untimed_formats,
               "weight formats of which the profile has no measured products");
  visit.if_set("version_relative_uncertainty", answer.version_relative_uncertainty,
               "how far servers of single versions of the engine were off, one standard deviation; "
               "part of those of both steps");
  visit.if_set("version_basis", answer.version_basis,
               "what the times stand for among these versions: the fastest, this one as far as "
               "its slower_kernels are on record, or the nearest that is known");
  visit.if_set("tuned_kernels", answer.tuned_kernels,
               "whose kernels would be faster by more than 1 %, launched as their version does, "
               "with the scheduler and memory of the version asked for");
  visit.if_set("tuned_prefill_s", answer.tuned_prefill,
               "prefill_s with these kernels, where it is shorter");
  visit.if_set("tuned_decode_step_s", answer.tuned_decode_step,
               "decode_step_s with them, where it is shorter");
  visit.if_set("uncaptured_decode", answer.uncaptured_decode,
               "no CUDA graph holds the decode step, and one would save 5 % of it or more");
  visit.if_set(
      "model_relative_uncertainty", answer.model_relative_uncertainty,
      "how far this engine's servers of such models were off, one standard deviation; part "
      "of those of both steps");
  visit("variants", answer.variants,
        "the same estimate in other number formats; the given one first");
}

template <class Visitor>
void members(Visitor& visit, BatchesInputs& inputs) {
  members(visit, inputs.deployment);
  visit("batches", inputs.batches, "sequences at once");
  visit("input_tokens", inputs.input_tokens, "prompt tokens per sequence");
  visit("output_tokens", inputs.output_tokens, "tokens generated per sequence");
}

template <class Visitor>
void members(Visitor& visit, BatchRow& row) {
  visit("batch", row.batch, "sequences at once");
  visit("input_tokens", row.input_tokens, "prompt tokens per sequence");
  visit("kv_cache_bytes", row.cache, "KV cache of all sequences at their full length, on all GPUs");
  visit("fits", row.fits, "whether that fits in memory");
  visit("summary", row.summary, "the steps as a whole; null if the batch does not fit");
  visit.if_set("uncaptured_decode", row.uncaptured_decode,
               "no CUDA graph holds the decode step, and one would save 5 % of it or more");
  members(visit, row.cost);
}

template <class Visitor>
void members(Visitor& visit, BatchesAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed, every knob resolved");
  visit("generates", answer.generates,
        "false: the model pools its inputs, and what is said of decode steps is 0");
  visit("ridge_flops_per_byte", answer.ridge, "intensity above which the GPU is compute-bound");
  visit("max_num_seqs", answer.max_num_seqs,
        "sequences that the schedulers of all ranks run at once");
  visit("contexts", answer.contexts,
        "where memory ends and decoding becomes compute-bound, by prompt length");
  visit("rows", answer.rows, "every batch of every prompt length");
}

}  // namespace roofcast
