#include "roofcast/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {

template <>
struct EnumNames<SampledOut> {
  static constexpr std::array<std::pair<SampledOut, std::string_view>, 3> values = {
      {{SampledOut::kept, "kept"}, {SampledOut::top_k, "top_k"}, {SampledOut::top_p, "top_p"}}};
};

namespace {

constexpr const char* kSamplingCommand = "sampling";
constexpr const char* kText = "The cat sat on the";

/// Invented for the lesson: one clear favourite, some that would do, some that would not.
const std::array<ScoredWord, 8> kWords = {{{"mat", 3.2},
                                           {"sofa", 2.6},
                                           {"floor", 2.3},
                                           {"roof", 1.8},
                                           {"table", 1.5},
                                           {"moon", 0.2},
                                           {"idea", -0.8},
                                           {"of", -2.0}}};

void check(const SamplingQuestion& question) {
  if (!(question.temperature >= 0 && question.temperature <= kMaxTemperature)) {
    throw Error("temperature: expected 0 to 100");
  }
  if (question.top_k && *question.top_k < 1) throw Error("`top_k`: expected 1 word or more");
  if (!(question.top_p > 0 && question.top_p <= 1)) {
    throw Error("`top_p`: expected a share above 0, up to 1");
  }
}

/// Softmax of scores in descending order. Subtracting the largest changes no share and avoids
/// overflow.
std::vector<double> softmax(const std::vector<SampledWord>& words, double temperature) {
  std::vector<double> shares;
  double sum = 0;
  for (const SampledWord& word : words) {
    const double below = word.score - words.front().score;
    shares.push_back(temperature > 0 ? std::exp(below / temperature) : 0.0);
    sum += shares.back();
  }
  if (temperature == 0) shares.front() = sum = 1;
  for (double& share : shares) share /= sum;
  return shares;
}

double sum_of_kept(const std::vector<SampledWord>& words) {
  double sum = 0;
  for (const SampledWord& word : words) {
    if (word.out == SampledOut::kept) sum += word.tempered;
  }
  return sum;
}

}  // namespace

std::vector<SampledWord> sampled(std::span<const ScoredWord> given,
                                 const SamplingQuestion& question) {
  check(question);
  std::vector<SampledWord> words;
  for (const ScoredWord& one : given) words.push_back({.word = one.word, .score = one.score});
  if (words.empty()) return words;
  std::ranges::stable_sort(words, std::ranges::greater(), &SampledWord::score);
  const std::vector<double> plain = softmax(words, 1);
  const std::vector<double> tempered = softmax(words, question.temperature);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i].probability = plain[i];
    words[i].tempered = tempered[i];
    const auto rank = static_cast<std::int64_t>(i);
    if (question.top_k && rank >= *question.top_k) words[i].out = SampledOut::top_k;
  }
  const double among = sum_of_kept(words);
  double sum = 0;  // of those before, as shares of what top-k left
  for (SampledWord& word : words) {
    if (word.out != SampledOut::kept) break;
    if (question.top_p < 1 && sum >= question.top_p) word.out = SampledOut::top_p;
    sum += word.tempered / among;
  }
  const double kept = sum_of_kept(words);
  for (SampledWord& word : words) {
    if (word.out == SampledOut::kept) word.chance = word.tempered / kept;
  }
  return words;
}

SamplingAnswer sampling(const SamplingQuestion& question) {
  SamplingAnswer answer{.head = answer_head(kSamplingCommand),
                        .inputs = question,
                        .text = kText,
                        .words = sampled(kWords, question)};
  answer.kept =
      std::ranges::count_if(answer.words, [](const SampledWord& word) { return word.chance > 0; });
  return answer;
}

Json to_json(const SamplingAnswer& answer) { return record_to_json(answer); }

SamplingAnswer sampling_answer_from_json(const Json& json) {
  return answer_from_json<SamplingAnswer>(json, kSamplingCommand);
}

Json sampling_answer_schema() { return schema_document<SamplingAnswer>("roofcast learn sampling"); }

}  // namespace roofcast
