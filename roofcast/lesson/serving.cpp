// Many requests at once: paging, SLO classes, what utilisation says and does not say; and how a
// token is chosen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "roofcast/lesson/parts.hpp"
#include "roofcast/sampling.hpp"

namespace roofcast {
namespace {

// ---- memory for many texts

/// What blocks leave unused at the end of a text.
std::string end_of_block(const LessonFacts& facts) {
  const std::int64_t block = facts.plan.layout.block_tokens;
  if (block <= 1) return "This engine takes memory token by token, so nothing is left unused.";
  const std::int64_t unused = (block - facts.context() % block) % block;
  return fmt::format(
      "Only the last block of a text can be partly empty, by {} at most; here by {}.",
      counted(block - 1, "token"), counted(unused, "token"));
}

LessonStep paging(const LessonFacts& facts) {
  const std::int64_t longest = facts.deployment.engine.max_model_len;
  const double used = to_double(facts.context()) / to_double(longest);
  return {
      .key = "paging",
      .title = "Paging and fragmentation",
      .text = {fmt::format("The KV cache has room for {} tokens beside the weights. Nobody knows "
                           "beforehand how long an answer will be; it may be as long as the engine "
                           "allows, up to {} tokens with the prompt.",
                           with_separators(facts.plan.kv_tokens), with_separators(longest)),
               fmt::format(
                   "An engine could set aside memory for the longest text each time. Then {} "
                   "at once. Or it gives out memory in small blocks, of {} each, when they "
                   "are needed: paging.",
                   facts.reserved == 1 ? "1 text fits"
                                       : with_separators(facts.reserved) + " texts fit",
                   counted(facts.plan.layout.block_tokens, "token"))},
      .ask = ask_number({.prompt = fmt::format("With blocks: how many texts of {} tokens fit at "
                                               "once?",
                                               with_separators(facts.context())),
                         .truth = to_double(facts.fitting),
                         .unit = "texts",
                         .start = to_double(std::max<std::int64_t>(1, facts.reserved)),
                         .high = 100'000,
                         .truth_text = texts_words(facts.fitting)}),
      .reveal = {
          fmt::format("{} instead of {}.", with_separators(facts.fitting),
                      with_separators(facts.reserved)),
          fmt::format("Memory that is set aside but holds nothing is called fragmentation. A "
                      "place for {} tokens of which {} are used is {} empty, even when the "
                      "text is finished.",
                      with_separators(longest), with_separators(facts.context()),
                      as_percent(1 - used, 0)),
          end_of_block(facts)}};
}

// ---- promises

bool keeps_chat(const LessonLoad& load) {
  return load.ttft_p95 <= kChatFirstToken && load.tpot_p95 <= kChatFurtherToken;
}

std::string percent_key(double share) { return fixed(share * 100, 0); }

/// The largest load up to which the promise is always kept; null: not even the smallest.
const LessonLoad* largest_chat(const LessonFacts& facts) {
  const LessonLoad* found = nullptr;
  for (const LessonLoad& load : facts.numbers.loads) {
    if (load.share == 1 || !keeps_chat(load)) break;
    found = &load;
  }
  return found;
}

std::string load_words(const LessonLoad& load) {
  const std::string head =
      load.share == 1 ? "When all wait from the start" : "At " + as_percent(load.share, 0);
  return fmt::format("{}: first token within {}, further ones within {}.", head,
                     as_time(load.ttft_p95), as_time(load.tpot_p95));
}

LessonStep slo(const LessonFacts& facts) {
  const LessonLoad& most = facts.numbers.loads.back();
  const LessonLoad* chat = largest_chat(facts);
  std::vector<LessonChoice> choices;
  for (const LessonLoad& load : facts.numbers.loads) {
    if (load.share == 1) continue;
    choices.push_back({percent_key(load.share),
                       fmt::format("{} of the most: {} requests/s", as_percent(load.share, 0),
                                   fixed(load.requests_per_s, 2))});
  }
  choices.push_back({"none", "None of these"});
  LessonStep step{
      .key = "slo",
      .title = "SLO classes: chat and batch",
      .text =
          {"Not everyone waits for the same. Someone who chats reads along. A batch job, such as "
           "a thousand reports to be summarised by tomorrow, waits for the end only.",
           fmt::format("What is promised to requests is their service level objective, SLO. "
                       "Requests with the same promise are an SLO class. Let the promise to "
                       "chat be: of 100 requests, 95 have their first token within {} and "
                       "further tokens within {} each.",
                       duration(kChatFirstToken.value), duration(kChatFurtherToken.value)),
           fmt::format(
               "If all requests wait from the start, this deployment ({}) serves {} a second, "
               "each of {} and {}. That is the most, and all that a batch job asks for.",
               headline(facts.deployment), fixed(most.requests_per_s, 2),
               counted(facts.prompt, "prompt token"), counted(facts.generate, "answer token"))},
      .ask =
          ask_choice("Requests now arrive one by one, at random. Up to which load is the promise "
                     "to chat kept?",
                     std::move(choices), chat ? percent_key(chat->share) : "none"),
      .reveal = {},
      .figures = {"lesson_loads"}};
  for (const LessonLoad& load : facts.numbers.loads) step.reveal.push_back(load_words(load));
  step.reveal.push_back(
      chat
          ? fmt::format("So chat is kept up to {} of the most. The price of a promise is work left "
                        "undone: batch requests can fill what chat leaves, if the engine lets chat "
                        "go first.",
                        as_percent(chat->share, 0))
          : fmt::format("So the promise to chat is not kept at any of these loads. It takes a "
                        "faster {}, a smaller model or a shorter prompt; a batch job can still use "
                        "this one.",
                        facts.machine()));
  return step;
}

// ---- utilisation

LessonStep busy(const LessonFacts& facts) {
  const LessonLoad& trap = facts.load_at(kTrapShare);
  const LessonLoad& little = facts.numbers.loads.front();
  const LessonLoad& most = facts.numbers.loads.back();
  const bool is_trap = trap.busy_share > kTrapShare + 0.15;
  LessonStep step{
      .key = "busy",
      .title = "Busy is not full",
      .text = {fmt::format(
          "Requests arrive at {} a second: {} of the most that this deployment "
          "serves. A dashboard shows how busy the engine is: the share of the time "
          "in which a step is running.",
          fixed(trap.requests_per_s, 2), as_percent(trap.share, 0))},
      .ask = ask_number({.prompt = "How busy is it?",
                         .truth = trap.busy_share * 100,
                         .unit = "%",
                         .start = 50,
                         .high = 100,
                         .truth_text = as_percent(trap.busy_share, 0)}),
      .reveal = {fmt::format("{} at {} of the most, and already {} at {}.",
                             as_percent(trap.busy_share, 0), as_percent(trap.share, 0),
                             as_percent(little.busy_share, 0), as_percent(little.share, 0)),
                 fmt::format(
                     "A step runs as long as any request is there. More requests do not make "
                     "more steps, they make fuller ones: {} texts at once on average at {}, "
                     "{} at {}, {} when all wait.",
                     fixed(little.mean_running, 1), as_percent(little.share, 0),
                     fixed(trap.mean_running, 1), as_percent(trap.share, 0),
                     fixed(most.mean_running, 1))},
      .figures = {"lesson_busy"}};
  step.reveal.push_back(
      is_trap
          ? "So busy says that there is work, not how much more would fit. To know that, compare "
            "the load with the most that is served."
          : "Here busy is close to the load. With a larger batch it stays high long before the "
            "deployment is full, so compare the load with the most that is served.");
  if (!facts.on_cpu()) {
    step.reveal.push_back(
        "The GPU utilisation that nvidia-smi prints is of this kind: the share of the time in "
        "which "
        "any kernel runs.");
  }
  return step;
}

std::string_view key_of(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return "compute";
    case Bound::memory:
      return "memory";
    case Bound::latency:
      return "latency";
    case Bound::communication:
      return "exchange";
  }
  return {};
}

std::string_view work_of(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return "work that waits for arithmetic";
    case Bound::memory:
      return "work that waits for memory";
    case Bound::latency:
      return "starting kernels and the program around them";
    case Bound::communication:
      return "the exchange between GPUs";
  }
  return {};
}

std::string what_helps(const LessonFacts& facts) {
  switch (facts.full.bound) {
    case Bound::memory:
      return "Memory is the limit, so a machine with more FLOP/s gains nothing. What helps is more "
             "bandwidth, or fewer bytes: quantised weights, a quantised KV cache, shorter texts.";
    case Bound::compute:
      return "Arithmetic is the limit, so more bandwidth gains nothing. What helps is a higher "
             "peak, "
             "or cheaper arithmetic: weights and numbers in fewer bits.";
    case Bound::latency:
      return "Neither memory nor arithmetic is the limit: the step waits for kernels to start and "
             "for the program around them. What helps is fewer and larger kernels, more texts in "
             "each step, or a faster processor to start them.";
    case Bound::communication:
      return "The exchange between GPUs is the limit. What helps is a faster link or fewer GPUs "
             "for "
             "each replica.";
  }
  return {};
}

LessonStep night(const LessonFacts& facts) {
  const LessonWork& full = facts.full;
  const LessonLoad& most = facts.numbers.loads.back();
  std::vector<LessonChoice> choices = {
      {"network", "The network between users and server"},
      {"memory", "Reading weights, keys and values from memory"},
      {"compute", "Arithmetic"},
      {"latency", "Starting kernels, and the program around them"}};
  if (facts.deployment.parallel.gpus() > 1) {
    choices.push_back({"exchange", "What the GPUs send each other"});
  }
  return {.key = "night",
          .title = "The case at 2:47",
          .text = {fmt::format(
              "It is 2:47 at night. Users wait, requests queue, {} run in each step. "
              "The dashboard says: utilisation {}. What it shows is the share of the "
              "arithmetic peak that is in use. \"There is plenty left\", someone "
              "writes, \"so it cannot be the {}.\"",
              texts_words(full.batch), as_percent(full.flop_share, 0), facts.machine())},
          .ask = ask_choice("What takes the largest part of such a step?", std::move(choices),
                            std::string(key_of(full.bound))),
          .reveal = {
              fmt::format("A decode step of {} takes {}, and {} of that goes to {}. It uses {} of "
                          "the arithmetic peak and {} of the memory bandwidth; no real step "
                          "reaches all of either.",
                          texts_words(full.batch), as_time(full.step),
                          as_percent(full.bound_share, 0), work_of(full.bound),
                          as_percent(full.flop_share, 0), as_percent(full.bandwidth_share, 0)),
              what_helps(facts),
              fmt::format("Three numbers can be called utilisation: busy, {} here; arithmetic, "
                          "{}; bandwidth, {}. Only the one that belongs to the limit says how "
                          "full the machine is. The first asks whether something runs, the "
                          "others how much of the machine it uses.",
                          as_percent(most.busy_share, 0), as_percent(full.flop_share, 0),
                          as_percent(full.bandwidth_share, 0))}};
}

// ---- choosing a token

const SampledWord& favourite(const SamplingAnswer& answer) { return answer.words.front(); }

LessonStep choosing(const LessonFacts&) {
  constexpr double kCold = 0.5, kHot = 2, kNucleus = 0.9;
  constexpr std::int64_t kTop = 3;
  const SamplingAnswer plain = sampling({});
  const SamplingAnswer cold = sampling({.temperature = kCold});
  const SamplingAnswer hot = sampling({.temperature = kHot});
  const SamplingAnswer few = sampling({.top_k = kTop});
  const SamplingAnswer nucleus = sampling({.top_p = kNucleus});
  const auto chance = [](const SamplingAnswer& answer) {
    return as_percent(favourite(answer).chance, 0);
  };
  return {
      .key = "sampling",
      .title = "Choosing the token",
      .text =
          {fmt::format("At the end of a step every token has a score, and scores become "
                       "probabilities. After \"{}\" let \"{}\" have {}, then \"{}\" {}, and so "
                       "on; the numbers are invented.",
                       plain.text, favourite(plain).word, chance(plain), plain.words.at(1).word,
                       as_percent(plain.words.at(1).chance, 0)),
           "The token is then drawn at random by its probability: sampling. First all scores are "
           "divided by a number, the temperature."},
      .ask = ask_choice(fmt::format("The temperature goes from 1 to {}. What happens to the {} of "
                                    "\"{}\"?",
                                    kCold, chance(plain), favourite(plain).word),
                        {{"falls", "It falls: all tokens become more alike"},
                         {"stays", "It stays: the order of the tokens does not change"},
                         {"rises", "It rises: the likeliest token gains"}},
                        "rises"),
      .reveal = {fmt::format(
                     "It rises to {}: dividing by less than 1 widens the gaps between scores. "
                     "At temperature {} it falls to {}. At 0 the likeliest token is always "
                     "taken.",
                     chance(cold), kHot, chance(hot)),
                 fmt::format("Top-k keeps the k likeliest tokens and drops the rest. With k = {}, "
                             "\"{}\" has {}.",
                             kTop, favourite(plain).word, chance(few)),
                 fmt::format(
                     "Top-p keeps the likeliest tokens until they sum to p. With p = {} that "
                     "takes {} of the {}. Where the model is sure, few tokens stay; where it "
                     "is not, many.",
                     kNucleus, nucleus.kept, plain.words.size())},
      .figures = {}};
}

}  // namespace

void add_serving(const LessonFacts& facts, std::vector<LessonStep>& steps) {
  for (const auto make : {paging, slo, busy, night, choosing}) steps.push_back(make(facts));
}

std::vector<TeachBack> teach_back(const LessonFacts& facts) {
  const LessonNumbers& numbers = facts.numbers;
  const LessonLoad& trap = facts.load_at(kTrapShare);
  const LessonLoad* chat = largest_chat(facts);
  return {
      {"Why does each token take longer than the one before if nothing is kept?",
       fmt::format(
           "The whole text goes through the model for each token, and it has one token more "
           "each time: {} at first, {} at the end.",
           with_separators(facts.prompt), with_separators(facts.prompt + facts.generate - 1))},
      {"What is in the KV cache, why may it be kept, and what does it cost?",
       fmt::format("The keys and values of all tokens so far, in each layer. A token looks back "
                   "only, so later tokens never change them. It costs memory: {} a token here.",
                   size_words(facts.kv_per_token))},
      {fmt::format("With the cache, {} times fewer keys and values are computed. Why is the answer "
                   "not {} times as fast?",
                   ratio_words(facts.counts.waste_factor), ratio_words(facts.counts.waste_factor)),
       fmt::format("A step with the cache computes one token only, but it {}. The answer is {} "
                   "times as fast.",
                   what_is_left(facts),
                   ratio_words(numbers.tokens.naive_total / numbers.tokens.cached_total))},
      {"What limits prefill, and what limits decode?",
       why_prefill(facts) + " " + why_decode(facts)},
      {"What is the ridge point?",
       fmt::format("FLOPs that the machine can do in the time in which it reads one byte: {} here. "
                   "Work with fewer is memory-bound, work with more is compute-bound.",
                   fixed(numbers.ridge.value, 1))},
      {fmt::format("{} share a step. What do they share, and what does each need for itself?",
                   texts_words(facts.together.batch)),
       fmt::format(
           "They share the reading of the weights. Each needs arithmetic and its own keys and "
           "values. So a step takes {} times as long for {} times the tokens.",
           ratio_words(facts.together.step / facts.decode.step),
           with_separators(facts.together.batch))},
      {"When does speculative decoding gain most, and when least?",
       fmt::format(
           "Most when few texts run: the weights are read anyway, and checking {} costs "
           "little beside that. Least with large batches, which already use the arithmetic, "
           "and with drafts that are seldom right.",
           counted(facts.drafts, "draft token"))},
      {"Why does quantisation of the weights help decode?",
       "Decode reads all weights for every token, and fewer bits are fewer bytes to read. Where "
       "something else limits the step, it helps less."},
      {"What does paging save?",
       fmt::format(
           "Memory set aside for text that never comes. In blocks, {} of {} tokens fit, with "
           "a place of {} tokens for each only {}.",
           texts_words(facts.fitting), with_separators(facts.context()),
           with_separators(facts.deployment.engine.max_model_len),
           with_separators(facts.reserved))},
      {"Why can chat and batch not both have what they want from the same load?",
       fmt::format("The most requests are served when many wait, and those who chat must not wait. "
                   "Here chat is kept {}.",
                   chat ? "up to " + as_percent(chat->share, 0) + " of the most"
                        : "at none of the loads that were tried")},
      {fmt::format("The dashboard says: busy {}. Is the deployment full?",
                   as_percent(trap.busy_share, 0)),
       fmt::format(
           "That does not follow: this is at {} of the most that it serves. Busy says that a "
           "step is running, not how much of the machine it uses.",
           as_percent(trap.share, 0))},
      {"What do temperature, top-k and top-p do?",
       "Temperature makes likely tokens likelier (below 1) or less so (above 1). Top-k keeps a "
       "fixed "
       "number of the likeliest tokens, top-p as many as it takes to reach a sum of p."}};
}

}  // namespace roofcast
