// What prefill and a decode step cost, operator by operator, and what other number formats change.
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
#include "planner/deploy.hpp"
#include "planner/deployment_description.hpp"
#include "planner/step_description.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

/// Each sequence is computed individually; engines run a few thousand at most.
inline constexpr std::int64_t kMaxEstimatedBatch = 1'000'000;

/// Sequences that are prefilled and then decoded together, with no other load.
struct EstimateQuestion {
  DeploymentOptions deployment{};    // what runs where: model and GPU are required
  std::int64_t batch = 1;            // sequences at once, 1 to kMaxEstimatedBatch
  std::int64_t input_tokens = 1024;  // prompt tokens per sequence, 1 to 10^9
  std::int64_t output_tokens = 128;  // tokens generated per sequence, 1 to 10^9
};

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

struct FormatAnswer {
  std::string name{};
  Seconds prefill{};
  Seconds decode_step{};
  Bytes weight_bytes{};
  Bytes cache_bytes{};
};

struct EstimateAnswer {
  AnswerHead head{};
  EstimateInputs inputs{};
  Seconds prefill{};
  Seconds decode_step{};
  double output_tokens_per_s = 0;
  double decode_tokens_per_s = 0;
  double mfu = 0;
  double mbu = 0;
  FlopsPerByte ridge{};
  std::optional<std::int64_t> compute_bound_batch{};
  double prefill_relative_uncertainty = 0;
  double decode_relative_uncertainty = 0;
  PerStep<Seconds> host{};
  PerStep<std::vector<OperatorAnswer>> operators{};
  bool fits = false;
  std::vector<FormatAnswer> variants{};
  /// Time of the two steps whose operators are listed. Not in the JSON; read back as the sum of
  /// operators and host time, which is too low where launching kernels takes longer than running
  /// them.
  PerStep<Seconds> step{};
  /// How many such sequences fit in memory at once. Not in the JSON; unset when read back.
  std::optional<std::int64_t> fitting_sequences{};
};

/// Throws Error if the model, GPU or engine is missing, unknown or incompatible, and for counts out
/// of range. Sequences that do not fit in memory are estimated anyway.
EstimateAnswer estimate(const EstimateQuestion& question);

/// What `roofcast estimate -o json` prints.
Json to_json(const EstimateAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
EstimateAnswer estimate_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json estimate_answer_schema();

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
void members(Visitor& visit, FormatAnswer& variant) {
  visit("name", variant.name, "number formats: as given, fp8 weights, fp8 KV cache, ...");
  visit("prefill_s", variant.prefill, "prefill of all prompts");
  visit("decode_step_s", variant.decode_step, "mean decode step");
  visit("weight_bytes_per_gpu", variant.weight_bytes, "weights of the fullest GPU");
  visit("kv_cache_bytes_per_gpu", variant.cache_bytes,
        "KV cache of all sequences at their full length, on one GPU");
}

template <class Visitor>
void members(Visitor& visit, EstimateAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed, every knob resolved");
  visit("prefill_s", answer.prefill,
        "prefill of all prompts, over as many steps as the token budget needs");
  visit("decode_step_s", answer.decode_step, "mean over the decode steps");
  visit("output_tokens_per_s", answer.output_tokens_per_s, "over prefill and decoding");
  visit("decode_tokens_per_s", answer.decode_tokens_per_s, "decode only");
  visit("mfu", answer.mfu, "prefill: share of the dense peak, 0 to 1");
  visit("mbu", answer.mbu, "decode: share of the memory bandwidth, 0 to 1");
  visit("ridge_flops_per_byte", answer.ridge, "intensity above which the GPU is compute-bound");
  visit("compute_bound_batch", answer.compute_bound_batch,
        "sequences above which decode GEMMs are compute-bound; null: not below 2^20");
  visit("prefill_relative_uncertainty", answer.prefill_relative_uncertainty,
        "one standard deviation of the prefill step, as a share of it");
  visit("decode_relative_uncertainty", answer.decode_relative_uncertainty,
        "one standard deviation of the decode step, as a share of it");
  visit("host_s", answer.host, "host time that is not hidden behind the GPU");
  visit("operators", answer.operators, "all operators, in the order of the step");
  visit("fits", answer.fits, "whether all sequences at their full length fit in memory at once");
  visit("variants", answer.variants,
        "the same estimate in other number formats; the given one first");
}

}  // namespace roofcast
