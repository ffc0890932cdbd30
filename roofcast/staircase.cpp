#include "roofcast/staircase.hpp"

#include "base/error.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {
namespace {

constexpr const char* kCommand = "staircase";
constexpr int kDrafts = 4;

StaircaseAnswer count(const StaircaseQuestion& question) {
  if (question.prompt < 0) throw Error("prompt: expected 0 tokens or more");
  if (question.generate < 0) throw Error("generate: expected 0 tokens or more");
  if (question.acceptance && !(*question.acceptance >= 0 && *question.acceptance <= 1)) {
    throw Error("acceptance: expected a share from 0 to 1");
  }
  return {.head = answer_head(kCommand),
          .inputs = {.prompt_tokens = question.prompt, .generated_tokens = question.generate},
          .counts = count_staircase(question.prompt, question.generate),
          .prefill_attention_positions = prefill_attention_positions(question.prompt)};
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
  StaircaseAnswer answer = count(question);
  answer.inputs.deployment = inputs_of(deployment);
  answer.times = TimedStaircase{
      .tokens = time_staircase(deployment, question.prompt, question.generate),
      .flattened = flatten_staircase(deployment, question.prompt, question.generate,
                                     question.acceptance.value_or(0.0),
                                     question.acceptance ? question.drafts.value_or(kDrafts) : 0)};
  return answer;
}

StaircaseAnswer staircase(const StaircaseQuestion& question) {
  if (!question.deployment) return count(question);
  check_timed(question);
  return staircase_on(resolve(*question.deployment).deployment, question);
}

Json to_json(const StaircaseAnswer& answer) { return record_to_json(answer); }

StaircaseAnswer staircase_answer_from_json(const Json& json) {
  return answer_from_json<StaircaseAnswer>(json, kCommand);
}

Json staircase_answer_schema() { return schema_document<StaircaseAnswer>("roofcast staircase"); }

}  // namespace roofcast
