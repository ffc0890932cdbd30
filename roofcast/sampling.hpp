// How the next token is chosen: temperature, top-k and top-p on a small, invented distribution, for
// the lesson.
//
//   const SamplingAnswer answer = sampling({.temperature = 0.7, .top_p = 0.9});
//   std::cout << answer.words.front().chance << "\n";
//
// Fields of an answer are described by its `members`, key by key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

/// No engine's users set more; higher ones only flatten the distribution further.
inline constexpr double kMaxTemperature = 100;

/// The knobs under the names that engines give them.
struct SamplingQuestion {
  double temperature = 1;               // 0 to kMaxTemperature; 0: always the likeliest
  std::optional<std::int64_t> top_k{};  // 1 or more: this many stay; unset: all
  double top_p = 1;                     // above 0 to 1
};

/// A token that may come next, and its score (logit).
struct ScoredWord {
  std::string word{};
  double score = 0;
};

/// The rule that removed a word.
enum class SampledOut { kept, top_k, top_p };

struct SampledWord {
  std::string word{};
  double score = 0;
  double probability = 0;  // by the model: at temperature 1
  double tempered = 0;     // after the temperature
  double chance = 0;       // of being chosen, after top-k and top-p; 0 if removed
  SampledOut out = SampledOut::kept;
};

struct SamplingAnswer {
  AnswerHead head{};
  SamplingQuestion inputs{};
  std::string text{};  // the text that the words may continue
  std::vector<SampledWord> words{};
  std::int64_t kept = 0;
};

/// The probabilities of `words`, likeliest first (ties keep their order):
///
///   probability_i = exp(score_i / T) / sum over j of exp(score_j / T)
///
/// then the top_k likeliest stay, and of those, rescaled to a sum of 1, the smallest set of
/// likeliest ones whose probabilities sum to top_p or more (nucleus sampling: Holtzman et al.,
/// arXiv 1904.09751, section 3.1). The order of the three is that of vLLM (Sampler.sample in
/// vllm/v1/sample/sampler.py, apply_top_k_top_p in vllm/v1/sample/ops/topk_topp_sampler.py). Throws
/// Error naming the knob that is out of range.
std::vector<SampledWord> sampled(std::span<const ScoredWord> given,
                                 const SamplingQuestion& question);

/// The same for the lesson's words.
SamplingAnswer sampling(const SamplingQuestion& question);

/// What `roofcast learn sampling -o json` prints.
Json to_json(const SamplingAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
SamplingAnswer sampling_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json sampling_answer_schema();

template <class Visitor>
void members(Visitor& visit, SamplingQuestion& question) {
  visit("temperature", question.temperature, "0: always the likeliest");
  visit("top_k", question.top_k, "how many of the likeliest words stay; null: all");
  visit("top_p", question.top_p, "the likeliest words stay until they sum to this");
}

template <class Visitor>
void members(Visitor& visit, SampledWord& word) {
  visit("word", word.word, "a token that may come next");
  visit("score", word.score, "its logit, from the model's last layer");
  visit("probability", word.probability, "by the model: at temperature 1");
  visit("tempered", word.tempered, "after the temperature");
  visit("chance", word.chance, "of being chosen, after top-k and top-p");
  visit("out", word.out, "what removed it; kept: nothing");
}

template <class Visitor>
void members(Visitor& visit, SamplingAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed");
  visit("text", answer.text, "what the words may continue");
  visit("words", answer.words, "likeliest first; invented for the lesson");
  visit("kept", answer.kept, "words that can be chosen");
}

}  // namespace roofcast
