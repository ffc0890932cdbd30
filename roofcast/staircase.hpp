// What the KV cache saves: exact counts of computations with and without one. With a deployment
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
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/step/staircase.hpp"
#include "planner/deploy.hpp"
#include "planner/deployment_description.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

/// Tokens are timed and listed in the JSON one by one.
inline constexpr std::int64_t kMaxTimedTokens = 1'000'000;

struct StaircaseQuestion {
  /// Where to time the tokens: model and GPU are required. Unset: tokens are only counted.
  std::optional<DeploymentOptions> deployment{};
  std::int64_t prompt = 0;    // tokens of the prompt, 0 or more
  std::int64_t generate = 0;  // tokens generated, 0 or more; at most kMaxTimedTokens if timed
  std::optional<double> acceptance{};  // per draft token, 0 to 1; unset: no speculative decoding
  std::optional<int> drafts{};         // draft tokens per step; unset: 4 with `acceptance`
};

struct StaircaseInputs {
  std::optional<DeploymentInputs> deployment{};
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
};

struct TimedStaircase {
  StaircaseTimes tokens{};
  std::vector<FlattenedToken> flattened{};
};

struct StaircaseAnswer {
  AnswerHead head{};
  StaircaseInputs inputs{};
  Staircase counts{};
  std::int64_t prefill_attention_positions = 0;
  std::optional<TimedStaircase> times{};
};

/// Throws Error if the model, GPU or engine is missing, unknown or incompatible, and for counts out
/// of range.
StaircaseAnswer staircase(const StaircaseQuestion& question);

/// The same on a loaded deployment; question.deployment is ignored.
StaircaseAnswer staircase_on(const Deployment& deployment, const StaircaseQuestion& question);

/// What `roofcast staircase -o json` prints.
Json to_json(const StaircaseAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
StaircaseAnswer staircase_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json staircase_answer_schema();

template <class Visitor>
void members(Visitor& visit, StaircaseInputs& inputs) {
  visit.part_if_set("model", inputs.deployment, "the deployment whose tokens are timed");
  visit("prompt_tokens", inputs.prompt_tokens, "tokens of the prompt");
  visit("generated_tokens", inputs.generated_tokens, "tokens generated");
}

template <class Visitor>
void members(Visitor& visit, Staircase& counts) {
  visit("naive_kv_computations", counts.naive_kv_computations,
        "K/V computed without a cache, in tokens per layer and head");
  visit("cached_kv_computations", counts.cached_kv_computations,
        "K/V computed with a cache: those of prompt and generated tokens");
  visit("waste_factor", counts.waste_factor, "first over second");
  visit("attention_positions", counts.attention_positions,
        "with a cache: positions that attention reads in all decode steps, per layer and head");
  visit("mean_attention_positions", counts.mean_attention_positions,
        "the same per generated token");
}

template <class Visitor>
void members(Visitor& visit, FlattenedToken& token) {
  visit("batch", token.batch, "sequences at once");
  visit("drafts", token.drafts, "draft tokens per step; 0: no speculative decoding");
  visit("tokens_per_step", token.tokens_per_step, "mean tokens per step and sequence");
  visit("step_s", token.step, "time of a step of the whole batch");
  visit("per_token_s", token.per_token, "GPU time per token: step_s / (batch * tokens_per_step)");
}

template <class Visitor>
void members(Visitor& visit, TimedStaircase& times) {
  visit("naive_token_s", times.tokens.naive, "time of each generated token without a cache");
  visit("cached_token_s", times.tokens.cached,
        "time of each with a cache; the first is the prompt's prefill");
  visit("naive_total_s", times.tokens.naive_total, "sum without a cache");
  visit("cached_total_s", times.tokens.cached_total, "sum with a cache");
  visit("flattened", times.flattened, "time per token when batched, and with speculative decoding");
}

template <class Visitor>
void members(Visitor& visit, StaircaseAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed, every knob resolved");
  members(visit, answer.counts);
  visit("prefill_attention_positions", answer.prefill_attention_positions,
        "positions that causal attention reads while the prompt is computed, per layer and head");
  visit.part_if_set("naive_token_s", answer.times, "with a deployment: times");
}

}  // namespace roofcast
