// One token at a time, and the five guesses: the shape of generation, what grows, the first token
// against the 40th, the cause, the three fixes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "roofcast/lesson/parts.hpp"

namespace roofcast {
namespace {

/// Growth below this is not seen in a drawing.
constexpr double kFlat = 1.1;

double growth(const LessonFacts& facts) {
  const auto& times = facts.numbers.tokens.naive;
  return times.back() / times.front();
}

LessonStep start(const LessonFacts& facts) {
  const Deployment& deployment = facts.deployment;
  return {
      .key = "start",
      .title = "One token at a time",
      .text =
          {"A language model writes its answer token by token. A token is a word or a piece of a "
           "word.",
           fmt::format(
               "To find the next token, the text so far goes through the layers of the model: {} "
               "in {}. Each layer is arithmetic with fixed numbers, the weights; this model has {} "
               "of them. At the end every token that the model knows, {} in all, has a score. One "
               "token is chosen by its score and written behind the text. Then everything starts "
               "again with the longer text. One such round is a step.",
               with_separators(static_cast<std::int64_t>(deployment.model.layers.size())),
               deployment.model.name, amount_words(to_double(facts.parameters)),
               with_separators(deployment.model.vocabulary)),
           "In each layer, attention lets a token look back at the tokens before it. For this, "
           "every token leaves two lists of numbers in every layer: a key, by which later tokens "
           "find it, and a value, which they take from it. People write K and V.",
           fmt::format(
               "In this lesson a prompt of {} is sent to the model, and it answers with {}. "
               "So the loop runs {} times. All times are those that this program predicts "
               "for {}: the model, the machine, and the engine, which is the program that serves "
               "the model (ms: thousandths of a second, us: millionths).",
               counted(facts.prompt, "token"), counted(facts.generate, "token"),
               with_separators(facts.generate), headline(deployment))},
      .reveal = {}};
}

LessonStep shape(const LessonFacts& facts) {
  const auto& times = facts.numbers.tokens.naive;
  const double grown = growth(facts);
  const bool rises = grown >= kFlat;
  LessonStep step{
      .key = "shape",
      .title = "Guess 1: the shape of generation",
      .text = {"Suppose that the program keeps nothing from one token to the next. For every token "
               "of the answer it sends the whole text through the model again."},
      .ask = ask_choice("How does the time for a token change from the first to the last?",
                        {{"flat", "Every token takes about the same time"},
                         {"rises", "Each takes a little longer than the one before"},
                         {"doubles", "Each takes twice as long as the one before"},
                         {"falls", "Each takes a little less than the one before"}},
                        rises ? "rises" : "flat"),
      .reveal = {fmt::format("The first token takes {}, the last one {}: {} times as long.",
                             as_time(times.front()), as_time(times.back()), ratio_words(grown))},
      .figures = {"staircase_token"}};
  step.reveal.push_back(
      rises
          ? "Every step computes one token more than the step before. Drawn one beside the "
            "other, the times climb like a staircase. (The column with a KV cache is what guess 4 "
            "leads to.)"
          : fmt::format(
                "Every step does compute one token more than the step before. But on this {} "
                "such a short text takes hardly longer than a single token. With a longer prompt "
                "and a longer answer the times climb like a staircase.",
                facts.machine()));
  return step;
}

LessonStep grows(const LessonFacts& facts) {
  return {
      .key = "grows",
      .title = "Guess 2: what grows",
      .text = {"Something must be larger in the last step than in the first."},
      .ask = ask_choice("What grows from one step to the next?",
                        {{"weights", "The weights of the model"},
                         {"vocabulary", "The tokens from which the next one is chosen"},
                         {"text", "The text that goes through the model"},
                         {"layers", "The layers that a token passes"}},
                        "text"),
      .reveal = {
          fmt::format("The text. The first step computes the {} tokens of the prompt, the last "
                      "one {}: the prompt plus the {} found so far.",
                      with_separators(facts.prompt),
                      with_separators(facts.prompt + facts.generate - 1),
                      counted(facts.generate - 1, "answer token")),
          fmt::format("Added up over {} steps, {} tokens are computed. The finished text "
                      "has {}.",
                      with_separators(facts.generate),
                      with_separators(facts.counts.naive_kv_computations),
                      with_separators(facts.counts.cached_kv_computations)),
          fmt::format("The weights, {} here, the layers and the {} tokens to choose from "
                      "stay the same. (A GiB is 2^30 bytes, 1.07 billion; a MiB 2^20, 1.05 "
                      "million.{})",
                      size_words(facts.weights), with_separators(facts.deployment.model.vocabulary),
                      facts.read_per_step() < facts.weights
                          ? fmt::format(" A step reads {}: of the input table, with a row for each "
                                        "token of the vocabulary, only those of its tokens.",
                                        size_words(facts.read_per_step()))
                          : "")}};
}

/// Compares two steps of the loop without a cache: how much more they compute, and how much longer
/// they take.
std::string compared(const LessonFacts& facts, double work, double time) {
  // At least half of the extra work shows in the time.
  if (time - 1 >= (work - 1) / 2) return "Here, too, the time follows the work.";
  std::string rest = "starting its kernels, the small programs that it consists of";
  if (facts.decode.limit == LessonLimit::memory) {
    rest = fmt::format("reading {} of weights from memory", size_words(facts.read_per_step()));
  } else if (facts.decode.limit == LessonLimit::losses) {
    rest = fmt::format("what this {} loses on small pieces of work", facts.machine());
  }
  return fmt::format(
      "Why so little? Part of each step is the same however few tokens it computes: "
      "{}.",
      rest);
}

LessonStep fortieth(const LessonFacts& facts) {
  const std::int64_t n = std::min(kComparedToken, facts.generate);
  const auto at = static_cast<std::size_t>(n) - 1;
  const auto& times = facts.numbers.tokens.naive;
  const auto& brief = facts.short_prompt.naive;
  const double ratio = times[at] / times.front();
  const double work = to_double(facts.prompt + n - 1) / to_double(facts.prompt);
  const double brief_ratio = brief[at] / brief.front();
  const double brief_work = to_double(kShortPrompt + n - 1) / to_double(kShortPrompt);
  return {.key = "fortieth",
          .title = fmt::format("Guess 3: token 1 against token {}", n),
          .text = {fmt::format("Still without anything kept: the first token of the answer takes "
                               "{}, after a prompt of {}.",
                               as_time(times.front()), counted(facts.prompt, "token"))},
          .ask = ask_number({.prompt = fmt::format("How many times as long does token {} take?", n),
                             .truth = ratio,
                             .start = 10,
                             .high = 100,
                             .change = true}),
          .reveal = {fmt::format("{} times: {}. Token {} computes {} tokens where token 1 computes "
                                 "{}, which is {} times as many.",
                                 ratio_words(ratio), as_time(times[at]), n,
                                 with_separators(facts.prompt + n - 1),
                                 with_separators(facts.prompt), ratio_words(work)),
                     fmt::format("After a prompt of only {} tokens, token {} computes {} times as "
                                 "many tokens as token 1, and takes {} times as long ({} against "
                                 "{}). {}",
                                 kShortPrompt, n, ratio_words(brief_work), ratio_words(brief_ratio),
                                 as_time(brief[at]), as_time(brief.front()),
                                 compared(facts, brief_work, brief_ratio))}};
}

LessonStep cause(const LessonFacts& facts) {
  const LessonNumbers& numbers = facts.numbers;
  const double waste = facts.counts.waste_factor;
  const double faster = numbers.tokens.naive_total / numbers.tokens.cached_total;
  LessonStep step{
      .key = "cause",
      .title = "Guess 4: the cause",
      .text = {fmt::format("{} tokens are computed for a text of {}. So the same tokens are "
                           "computed again and again.",
                           with_separators(facts.counts.naive_kv_computations),
                           with_separators(facts.counts.cached_kv_computations))},
      .ask = ask_choice(
          "Why are they computed again?",
          {{"new", "A new token changes the keys and values of all tokens before it"},
           {"weights", "The weights change after every token"},
           {"lost", "Their keys and values were thrown away, although they are the same each time"},
           {"choice", "Choosing a token takes all of them into account"}},
          "lost"),
      .reveal =
          {"A token looks back, never ahead. So its key and its value depend on itself and on the "
           "tokens before it, and nothing that comes later changes them. They can be kept. The "
           "memory that keeps them is the KV cache.",
           fmt::format(
               "Without it, keys and values are computed {} times in each layer, with it {} "
               "times, once per token: {} times less. (That is the textbook count. A loop needs "
               "{}, since nothing reads those of the last token.) For the whole answer that is {} "
               "instead of {}: {} times as fast.",
               with_separators(facts.counts.naive_kv_computations),
               with_separators(facts.counts.cached_kv_computations), ratio_words(waste),
               with_separators(facts.counts.needed_kv_computations),
               as_time(numbers.tokens.cached_total), as_time(numbers.tokens.naive_total),
               ratio_words(faster))},
      .figures = {"staircase_total"}};
  if (waste / faster >= 2) {
    step.reveal.push_back(fmt::format(
        "Why {} times and not {} times? Without a cache a step computes the whole text at once, "
        "which this {} does well. With a cache it computes one token, and {}. That is what is "
        "left, "
        "and the next guesses are about it.",
        ratio_words(faster), ratio_words(waste), facts.machine(), what_is_left(facts)));
  }
  step.reveal.push_back(fmt::format("The price is memory: {} for each token, {} for this text.",
                                    size_words(facts.kv_per_token),
                                    size_words(facts.cache_of(facts.context()))));
  return step;
}

LessonStep fixes(const LessonFacts& facts) {
  const LessonNumbers& numbers = facts.numbers;
  const LessonBatch& many = facts.together;
  const Seconds each = many.step / to_double(many.batch);
  const Seconds drafted = facts.numbers.drafts.front().step / facts.tokens_per_step;
  LessonAsk ask{
      .kind = GuessKind::match,
      .prompt = "Which fix removes which waste?",
      .choices = {{"reread", "The weights are read for one text at a time"},
                  {"recompute", "The same keys and values are computed for every token"},
                  {"single", "The weights are read for one token of a text at a time"}},
      .items = {
          {"cache", "KV cache: keep what was computed", "recompute"},
          {"batch", "Batching: several texts share a step", "reread"},
          {"draft", "Speculative decoding: guess some tokens, check them in one step", "single"}}};
  return {
      .key = "fixes",
      .title = "Guess 5: three fixes",
      .text = {"There are three kinds of waste in the simple loop, and a fix for each. One you "
               "know, the KV cache; the other two have steps of their own below."},
      .ask = std::move(ask),
      .reveal = {
          fmt::format("KV cache: the same keys and values are not computed again. The answer "
                      "takes {} instead of {}.",
                      as_time(numbers.tokens.cached_total), as_time(numbers.tokens.naive_total)),
          fmt::format("Batching: the weights are read once for all texts of a step. With {} a "
                      "step takes {} instead of {}, and each token costs {} of the {}'s time.",
                      texts_words(many.batch), as_time(many.step), as_time(facts.decode.step),
                      as_time(each), facts.machine()),
          fmt::format("Speculative decoding: the weights are read once for several tokens of "
                      "one text. With {} guessed a step, each right with probability {}, a "
                      "step takes {} and yields {} tokens on average: {} a token.",
                      counted(facts.drafts, "token"), as_percent(facts.acceptance, 0),
                      as_time(facts.numbers.drafts.front().step), fixed(facts.tokens_per_step, 2),
                      as_time(drafted)),
          "They add up: the programs that serve models, called engines, use all three."}};
}

}  // namespace

void add_guesses(const LessonFacts& facts, std::vector<LessonStep>& steps) {
  for (const auto make : {start, shape, grows, fortieth, cause, fixes}) {
    steps.push_back(make(facts));
  }
}

}  // namespace roofcast
