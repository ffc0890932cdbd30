// Savings of the KV cache: exact counts of computations with and without one. With a deployment
// also their times, and what batching and speculative decoding change.
//
//   StaircaseQuestion question;
//   question.prompt = 500;
//   question.generate = 200;
//   const StaircaseAnswer answer = staircase(question);
//   std::cout << answer.counts.waste_factor << " times the K/V computations\n";
//
// Fields of an answer are described by its `members`, key by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/step/staircase.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

/// Tokens are timed and listed in the JSON one by one.
inline constexpr std::int64_t kMaxTimedTokens = 1'000'000;

inline constexpr std::int64_t kStaircasePrompt = 500;    // tokens, unless asked otherwise
inline constexpr std::int64_t kStaircaseGenerate = 200;  // likewise

struct StaircaseQuestion {
  /// Where to time the tokens: model and GPU are required. Unset: tokens are only counted.
  std::optional<DeploymentOptions> deployment{};
  std::int64_t prompt = kStaircasePrompt;  // tokens of the prompt, 0 or more
  /// Tokens generated, 0 or more; at most kMaxTimedTokens if timed.
  std::int64_t generate = kStaircaseGenerate;
  std::optional<double> acceptance{};  // per draft token, 0 to 1; unset: no speculative decoding
  std::optional<int> drafts{};         // draft tokens per step; unset: 4 with `acceptance`
  /// Time of the draft model, per draft of the whole batch; unset: drafting is free. With
  /// `acceptance`.
  std::optional<Seconds> draft_pass{};
  std::string model{};  // if not timed: whose layers and heads to count; empty: of one head
};

/// Sequences of up to this many positions get a grid.
inline constexpr std::int64_t kMaxGridPositions = 24;

struct StaircaseInputs {
  std::optional<DeploymentInputs> deployment{};
  std::optional<std::string> counted_model{};  // whose layers are counted, if it is not timed
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  std::optional<Seconds> draft_pass{};  // as in the question
};

/// The counts of one layer and head, in all that compute K and V of their own. Unset beyond 64
/// bits.
struct StaircaseOfModel {
  std::int64_t layers = 0;       // that compute K and V
  std::int64_t layer_heads = 0;  // KV heads of all of them; a latent counts as one
  std::optional<std::int64_t> naive_kv_computations{}, needed_kv_computations{};
};

struct FlattenedRow : FlattenedToken {
  bool fits = true;                                    // the batch's whole sequences, in memory
  std::optional<double> dollars_per_million_tokens{};  // of the GPUs for per_token
};

struct TimedStaircase {
  StaircaseTimes tokens{};
  std::int64_t max_batch = 0;  // sequences of prompt and answer that fit in memory at once
  ServingCost cost{};          // whatever runs
  std::vector<FlattenedRow> flattened{};
};

struct StaircaseAnswer {
  AnswerHead head{};
  StaircaseInputs inputs{};
  Staircase counts{};
  std::optional<StaircaseOfModel> of_model{};
  std::optional<StaircaseGrid> grid{};  // if it has at most kMaxGridPositions positions
  std::int64_t prefill_attention_positions = 0;
  std::optional<TimedStaircase> times{};
};

/// Throws Error if the model, GPU or engine is missing, unknown or incompatible, for counts out of
/// range, and for a sequence longer than the model's context.
StaircaseAnswer staircase(const StaircaseQuestion& question);

/// The same on a loaded deployment, whatever its model's context; question.deployment is ignored.
StaircaseAnswer staircase_on(const Deployment& deployment, const StaircaseQuestion& question);

/// The tokens of a staircase that are listed, from 0: the first, then fewer and fewer,
/// and the last of `count`.
std::vector<std::size_t> shown_tokens(std::size_t count);

/// Whether a sequence fits in memory; true if no GPU was asked about.
bool is_yes(const StaircaseAnswer& answer);

/// What `roofcast staircase -o json` prints.
Json to_json(const StaircaseAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
StaircaseAnswer staircase_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json staircase_answer_schema();

template <class Visitor>
void members(Visitor& visit, StaircaseInputs& inputs) {
  visit.part_if_set("model", inputs.deployment, "the deployment whose tokens are timed");
  visit.if_set("counted_model", inputs.counted_model,
               "the model whose layers and heads are counted, without times");
  visit("prompt_tokens", inputs.prompt_tokens, "tokens of the prompt");
  visit("generated_tokens", inputs.generated_tokens, "tokens generated");
  visit.if_set("draft_pass_s", inputs.draft_pass, "time of the draft model per draft");
}

template <class Visitor>
void members(Visitor& visit, Staircase& counts) {
  visit("naive_kv_computations", counts.naive_kv_computations,
        "K/V computed without a cache, in tokens per layer and head");
  visit("cached_kv_computations", counts.cached_kv_computations,
        "K/V computed with a cache: those of prompt and generated tokens");
  visit("needed_kv_computations", counts.needed_kv_computations,
        "the same without the last token, whose K/V nothing reads");
  visit("redundant_kv_computations", counts.redundant_kv_computations,
        "naive_kv_computations less needed_kv_computations");
  visit("waste_factor", counts.waste_factor, "naive over cached_kv_computations");
  visit("growth_if_doubled", counts.growth_if_doubled,
        "factor on naive_kv_computations if twice as many tokens are generated");
  visit.if_set("naive_attention_positions", counts.naive_attention_positions,
               "without a cache: positions that causal attention reads in all steps, per layer and "
               "head; absent beyond 64 bits");
  visit(
      "attention_positions", counts.attention_positions,
      "with a cache: positions that attention reads for the generated tokens, per layer and head");
  visit("mean_attention_positions", counts.mean_attention_positions,
        "the same per generated token");
}

template <class Visitor>
void members(Visitor& visit, FlattenedToken& token) {
  visit("batch", token.batch, "sequences at once");
  visit("drafts", token.drafts, "draft tokens per step; 0: no speculative decoding");
  visit("tokens_per_step", token.tokens_per_step, "mean tokens per step and sequence");
  visit("step_s", token.step, "time of a step of the whole batch, drafting included");
  visit("per_token_s", token.per_token, "GPU time per token: step_s / (batch * tokens_per_step)");
}

template <class Visitor>
void members(Visitor& visit, FlattenedRow& row) {
  members(visit, static_cast<FlattenedToken&>(row));
  visit.if_set("break_even_draft_pass_s", row.break_even_pass,
               "time per draft at which drafts gain nothing; below 0: never");
  visit("fits", row.fits, "the batch's whole sequences fit in memory");
  visit.if_set("cost_usd_per_million_tokens", row.dollars_per_million_tokens,
               "of the GPUs for per_token_s");
}

template <class Visitor>
void members(Visitor& visit, StaircaseOfModel& model) {
  visit("layers", model.layers, "that compute K and V");
  visit("layer_heads", model.layer_heads, "KV heads of all these layers; a latent counts as one");
  visit("naive_kv_computations_in_all", model.naive_kv_computations,
        "naive_kv_computations in all layers and heads; null beyond 64 bits");
  visit("needed_kv_computations_in_all", model.needed_kv_computations,
        "needed_kv_computations in all layers and heads; null beyond 64 bits");
}

template <class Visitor>
void members(Visitor& visit, StaircaseStep& step) {
  visit("computed", step.computed, "positions whose K/V the step computes");
  visit("redundant", step.redundant, "of them, computed by an earlier step");
}

template <class Visitor>
void members(Visitor& visit, StaircaseGrid& grid) {
  visit("steps", grid.steps, "of the naive loop");
  visit("times_computed", grid.times_computed, "by position: how often its K/V are computed");
}

template <class Visitor>
void members(Visitor& visit, TimedStaircase& times) {
  visit("naive_token_s", times.tokens.naive, "time of each generated token without a cache");
  visit("cached_token_s", times.tokens.cached,
        "time of each with a cache; the first is the prompt's prefill");
  visit("naive_total_s", times.tokens.naive_total, "sum without a cache");
  visit("cached_total_s", times.tokens.cached_total, "sum with a cache");
  visit("max_batch", times.max_batch,
        "sequences of prompt and generated tokens that fit in memory at once");
  members(visit, times.cost);
  visit("flattened", times.flattened, "time per token when batched, and with speculative decoding");
}

template <class Visitor>
void members(Visitor& visit, StaircaseAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed, every knob resolved");
  members(visit, answer.counts);
  visit.part_if_set("layers", answer.of_model, "with a model: in all its layers and heads");
  visit.if_set("grid", answer.grid, "of a short sequence: step by position");
  visit("prefill_attention_positions", answer.prefill_attention_positions,
        "positions that causal attention reads while the prompt is computed, per layer and head");
  visit.part_if_set("naive_token_s", answer.times, "with a deployment: times");
}

}  // namespace roofcast
