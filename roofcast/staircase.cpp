#include "roofcast/staircase.hpp"

#include <fmt/format.h>

#include <limits>
#include <variant>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "model/memory/memory_plan.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {
namespace {

constexpr const char* kStaircaseCommand = "staircase";
constexpr int kDrafts = 4;

StaircaseAnswer count(const StaircaseQuestion& question) {
  if (question.prompt < 0) throw Error("prompt: expected 0 tokens or more");
  if (question.generate < 0) throw Error("generate: expected 0 tokens or more");
  if (question.acceptance && !(*question.acceptance >= 0 && *question.acceptance <= 1)) {
    throw Error("`acceptance`: expected a share from 0 to 1");
  }
  if (question.draft_pass && !question.acceptance) {
    throw Error("`draft_pass_time`: requires `acceptance`");
  }
  StaircaseAnswer answer{
      .head = answer_head(kStaircaseCommand),
      .inputs = {.prompt_tokens = question.prompt,
                 .generated_tokens = question.generate,
                 .draft_pass = question.draft_pass},
      .counts = count_staircase(question.prompt, question.generate),
      .prefill_attention_positions = prefill_attention_positions(question.prompt)};
  if (question.generate > 0 && answer.counts.needed_kv_computations <= kMaxGridPositions) {
    answer.grid = staircase_grid(question.prompt, question.generate);
  }
  return answer;
}

/// The KV heads of a layer that computes K and V; 0 for any other.
std::int64_t kv_heads_of(const Layer& layer) {
  if (std::holds_alternative<LatentAttention>(layer.mixer)) return 1;
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  return attention == nullptr || attention->reuses_earlier_cache ? 0 : attention->kv_heads;
}

std::optional<std::int64_t> product(std::int64_t count, std::int64_t factor) {
  if (factor > 0 && count > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
  return count * factor;
}

StaircaseOfModel in_all_of(const Transformer& model, const Staircase& counts) {
  StaircaseOfModel all;
  for (const Layer& layer : model.layers) {
    const std::int64_t heads = kv_heads_of(layer);
    all.layers += heads > 0 ? 1 : 0;
    all.layer_heads += heads;
  }
  all.naive_kv_computations = product(counts.naive_kv_computations, all.layer_heads);
  all.needed_kv_computations = product(counts.needed_kv_computations, all.layer_heads);
  return all;
}

void check_context(const Transformer& model, const StaircaseQuestion& question) {
  const std::int64_t tokens = question.prompt + question.generate;
  if (model.max_context == 0 || tokens <= model.max_context) return;
  throw UsageError(fmt::format(
      "`prompt` and `generate`: {} tokens together, more than the longest context of {}: {}",
      with_separators(tokens), model.name, with_separators(model.max_context)));
}

StaircaseAnswer count_in(const Transformer& model, const StaircaseQuestion& question) {
  StaircaseAnswer answer = count(question);
  answer.of_model = in_all_of(model, answer.counts);
  return answer;
}

/// Called before anything is counted or loaded.
void check_timed(const StaircaseQuestion& question) {
  if (question.generate <= kMaxTimedTokens) return;
  throw Error("generate: expected at most " + std::to_string(kMaxTimedTokens) +
              " tokens, which are timed individually (any number without a deployment)");
}

}  // namespace

StaircaseAnswer staircase_on(const Deployment& deployment, const StaircaseQuestion& question) {
  check_timed(question);
  StaircaseAnswer answer = count_in(deployment.model, question);
  answer.inputs.deployment = inputs_of(deployment);
  answer.times =
      TimedStaircase{.tokens = time_staircase(deployment, question.prompt, question.generate),
                     .max_batch = max_batch_at(deployment, plan_memory(deployment),
                                               question.prompt + question.generate),
                     .cost = idle_cost(deployment)};
  const Drafting drafting{.acceptance = question.acceptance.value_or(0.0),
                          .drafts = question.acceptance ? question.drafts.value_or(kDrafts) : 0,
                          .pass = question.draft_pass.value_or(Seconds{})};
  for (const FlattenedToken& token :
       flatten_staircase(deployment, question.prompt, question.generate, drafting)) {
    answer.times->flattened.push_back({token, token.batch <= answer.times->max_batch,
                                       dollars_for(answer.times->cost, token.per_token * 1e6)});
  }
  return answer;
}

StaircaseAnswer staircase(const StaircaseQuestion& question) {
  if (question.deployment) {
    check_timed(question);
    const Deployment deployment = resolve(*question.deployment).deployment;
    check_context(deployment.model, question);
    return staircase_on(deployment, question);
  }
  if (question.model.empty()) return count(question);
  const Transformer model = load_model_as(question.model, std::nullopt);
  check_context(model, question);
  StaircaseAnswer answer = count_in(model, question);
  answer.inputs.counted_model = model.name;
  return answer;
}

std::vector<std::size_t> shown_tokens(std::size_t count) {
  std::vector<std::size_t> tokens;
  for (std::size_t i = 1; i < count; i *= 2) tokens.push_back(i - 1);
  if (count > 0) tokens.push_back(count - 1);
  return tokens;
}

bool is_yes(const StaircaseAnswer& answer) { return !answer.times || answer.times->max_batch > 0; }

Json to_json(const StaircaseAnswer& answer) { return record_to_json(answer); }

StaircaseAnswer staircase_answer_from_json(const Json& json) {
  return answer_from_json<StaircaseAnswer>(json, kStaircaseCommand);
}

Json staircase_answer_schema() { return schema_document<StaircaseAnswer>("roofcast staircase"); }

}  // namespace roofcast
