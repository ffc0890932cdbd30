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

/// Says how much blocks leave unused at the end of a text.
std::string end_of_block(const LessonFacts& facts) {
  const std::int64_t block = facts.plan.layout.block_tokens;
  if (block <= 1) return "This engine takes memory token by token, so nothing is left unused.";
  const std::int64_t unused = (block - facts.context() % block) % block;
  return fmt::format(
      "Only the last block of a text can be partly empty, by {} at most; here by {}.",
      counted(block - 1, "token"), counted(unused, "token"));
}

/// Explains the table of block sizes.
std::string block_sizes(const LessonFacts& facts) {
  const LessonBlocks& least = facts.numbers.blocks.front();
  const LessonBlocks& widest = facts.numbers.blocks.at(facts.numbers.blocks.size() - 2);
  return fmt::format(
      "Small blocks waste least: with blocks of {} {} of the slots that are given out are empty "
      "while the answer is written, with blocks of {} {}, and with a place for the longest text "
      "{}. But every block has to be found and looked up, so engines take blocks of some tokens.",
      counted(least.block_tokens, "token"), as_percent(least.empty_share),
      with_separators(widest.block_tokens), as_percent(widest.empty_share),
      as_percent(facts.numbers.blocks.back().empty_share));
}

LessonStep paging(const LessonFacts& facts) {
  const std::int64_t longest = facts.deployment.engine.max_model_len;
  const double used = to_double(facts.context()) / to_double(longest);
  return {
      .key = "paging",
      .title = "Paging and fragmentation",
      .text = {fmt::format("The KV cache has room for {} tokens beside the weights. Nobody knows "
                           "beforehand how long an answer will be; it may be as long as the engine "
                           "allows, up to {} tokens with the prompt.{}",
                           with_separators(facts.plan.kv_tokens), with_separators(longest),
                           facts.kv_per_token.value == to_double(longest)
                               ? " (That one token takes as many bytes, above, is a coincidence.)"
                               : ""),
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
      .reveal = {fmt::format("{} instead of {}.", with_separators(facts.fitting),
                             with_separators(facts.reserved)),
                 fmt::format(
                     "Memory that is set aside but holds nothing is called fragmentation. A "
                     "place for {} tokens of which {} are used is {} empty, even when the "
                     "text is finished.",
                     with_separators(longest), with_separators(facts.context()),
                     as_percent(1 - used, 0)),
                 end_of_block(facts), block_sizes(facts)},
      .figures = {"lesson_blocks"}};
}

// ---- promises

bool keeps_chat(const LessonLoad& load) {
  return load.ttft_p95 <= kChatFirstToken && load.tpot_p95 <= kChatFurtherToken;
}

/// The largest load up to which the promise is always kept; null: not even the smallest.
const LessonLoad* largest_chat(const LessonFacts& facts) {
  const LessonLoad* found = nullptr;
  for (const LessonLoad& load : facts.numbers.loads) {
    if (load.share == 1 || !keeps_chat(load)) break;
    found = &load;
  }
  return found;
}

/// "10 %, 30 %, 60 % and 90 %": the loads that were tried.
std::string loads_tried(const LessonFacts& facts) {
  std::string text;
  const std::size_t count = facts.numbers.loads.size() - 1;  // the last one: all wait
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += i + 1 == count ? " and " : ", ";
    text += as_percent(facts.numbers.loads[i].share, 0);
  }
  return text;
}

/// The effect of waiting on batch and step, where the figures bear it out.
std::string why_not_both(const LessonFacts& facts) {
  const LessonLoad& little = facts.numbers.loads.front();
  const LessonLoad& most = facts.numbers.loads.back();
  std::string text = fmt::format(
      "When requests wait, there is always one to fill the batch: {} texts at once on average "
      "instead of {} at {}.",
      fixed(most.mean_running, 1), fixed(little.mean_running, 1), as_percent(little.share, 0));
  if (most.tpot_p95 > 1.1 * little.tpot_p95) {
    text += fmt::format(
        " Fuller steps serve more requests, but each takes longer, so further tokens come within "
        "{} instead of {}.",
        as_time(most.tpot_p95), as_time(little.tpot_p95));
  }
  return text + " Full batches need waiting requests, and those who chat must not wait.";
}

/// Where decode alone is fastest with fewer texts than the engine takes, the limit on texts is
/// worth a try.
std::string where_decode_peaks(const LessonFacts& facts) {
  const auto& batches = facts.numbers.batches;
  const LessonBatch& best = *std::ranges::max_element(batches, {}, &LessonBatch::tokens_per_s);
  if (best.tokens_per_s < 1.02 * batches.back().tokens_per_s) return "";
  return fmt::format(
      " (As it is set: decode is fastest with {} in a step, so a limit of that, `max_num_seqs` {}, "
      "might serve more.)",
      texts_words(best.batch), best.batch);
}

/// Up to which load the promise to chat is kept if all requests are chat.
std::string chat_alone(const LessonFacts& facts) {
  const LessonLoad* chat = largest_chat(facts);
  if (chat) {
    return fmt::format(
        "If all requests come one by one, the promise to chat is kept up to {} of the most, the "
        "largest of the loads tried ({}).",
        as_percent(chat->share, 0), loads_tried(facts));
  }
  return fmt::format(
      "If all requests come one by one, the promise to chat is kept at none of the loads tried "
      "({}). It takes a faster {}, a smaller model or a shorter prompt; a batch job can still use "
      "this one.",
      loads_tried(facts), facts.machine());
}

// ---- chat beside a batch job

const LessonClasses& classes_with(const LessonFacts& facts, JobArrival arrival) {
  return *std::ranges::find(facts.numbers.classes, arrival, &LessonClasses::job);
}

bool can_go_first(const LessonFacts& facts) {
  return std::ranges::find(facts.numbers.classes, JobArrival::behind_chat, &LessonClasses::job) !=
         facts.numbers.classes.end();
}

/// The fate of chat if the job is handed in at once: the key of the right choice.
std::string fate_of_chat(const LessonFacts& facts) {
  if (classes_with(facts, JobArrival::at_once).kept) return "yes";
  return can_go_first(facts) && classes_with(facts, JobArrival::behind_chat).kept ? "first" : "no";
}

LessonAsk ask_fate_of_chat(const LessonFacts& facts) {
  std::vector<LessonChoice> choices = {
      {"yes", "Yes: together they are less than the most"},
      {"first", "Only if the engine lets waiting requests of chat go first"},
      {"no", "No, not even if chat goes first"}};
  if (!can_go_first(facts)) {
    choices = {{"yes", "Yes: together they are less than the most"},
               {"no", "No: those who chat wait behind the job"}};
  }
  return ask_choice(
      fmt::format("All {} requests of the job are handed in at once. Is the promise to chat kept "
                  "beside them?",
                  with_separators(facts.numbers.job_requests)),
      std::move(choices), fate_of_chat(facts));
}

/// "first token within 52.5 ms, further ones within 11.0 ms: kept."
std::string chat_words(const LessonClasses& classes) {
  return fmt::format("first token within {}, further ones within {}: {}.",
                     as_time(classes.ttft_p95), as_time(classes.tpot_p95),
                     classes.kept ? "kept" : "not kept");
}

/// The ways in which the job can come in, and what they do to either class.
std::vector<std::string> chat_and_job(const LessonFacts& facts) {
  const LessonClasses& alone = classes_with(facts, JobArrival::none);
  const LessonClasses& at_once = classes_with(facts, JobArrival::at_once);
  const LessonClasses& spread = classes_with(facts, JobArrival::spread);
  std::vector<std::string> said = {
      "Chat alone: " + chat_words(alone) +
          (alone.kept ? "" : " So this load is too much for it even without a job."),
      fmt::format("With the job handed in at once: {} The job is done after {}.{}",
                  chat_words(at_once), as_time(at_once.job_done),
                  at_once.kept || !alone.kept
                      ? ""
                      : " That is all it was promised, so the same engine at the same "
                        "time keeps one promise and breaks the other.")};
  if (can_go_first(facts)) {
    const LessonClasses& first = classes_with(facts, JobArrival::behind_chat);
    said.push_back(fmt::format(
        "With waiting requests of chat going first (`scheduling_policy` priority): {} The job is "
        "done after {}.{}",
        chat_words(first), as_time(first.job_done),
        first.kept || !alone.kept
            ? ""
            : " Requests of the job that already run keep their memory, and make each step "
              "longer."));
  }
  said.push_back(fmt::format(
      "With the job's requests sent one by one, evenly over the {} of chat: {} The job is done "
      "after {}.{}",
      as_time(facts.numbers.chat_span), chat_words(spread), as_time(spread.job_done),
      spread.kept && !at_once.kept
          ? " Here both have what they were promised. The price is the job's time."
          : ""));
  return said;
}

LessonStep slo(const LessonFacts& facts) {
  const LessonLoad& most = facts.numbers.loads.back();
  LessonStep step{
      .key = "slo",
      .title = "SLO classes: chat and batch",
      .text =
          {"Not everyone waits for the same. Someone who chats reads along. A batch job, such as "
           "a thousand reports to be summarised by tomorrow, waits for the end only.",
           fmt::format("What is promised to users is the service level objective, SLO. "
                       "Requests with the same promise are an SLO class. Let the promise to "
                       "chat be: of 100 requests, 95 have their first token within {} and "
                       "further tokens within {} on average over the answer.",
                       as_time(kChatFirstToken), as_time(kChatFurtherToken)),
           fmt::format(
               "If all requests wait from the start, this deployment, that is model, machine and "
               "engine with its settings ({}), serves {} a second, each of {} and {}. Call that "
               "the most; a batch job asks for nothing else.{}",
               headline(facts.deployment), fixed(most.requests_per_s, 2),
               counted(facts.prompt, "prompt token"), counted(facts.generate, "answer token"),
               where_decode_peaks(facts)),
           fmt::format("Let chat come at {} of the most, {} requests/s, one by one and at random. "
                       "Beside it comes a batch job of {}, as many as make up another {} in that "
                       "time. Together they are less than the most.",
                       as_percent(kChatShare, 0), fixed(kChatShare * most.requests_per_s, 2),
                       counted(facts.numbers.job_requests, "request"), as_percent(kJobShare, 0))},
      .ask = ask_fate_of_chat(facts),
      .reveal = chat_and_job(facts),
      .figures = {"lesson_classes", "lesson_loads"}};
  step.reveal.push_back(why_not_both(facts));
  step.reveal.push_back(chat_alone(facts));
  step.reveal.push_back(
      "In the table, TTFT is the time to first token, TPOT the time per output token after it, and "
      "p95 what 95 of 100 requests stay within.");
  return step;
}

// ---- utilisation

/// By so much more of the time is it busy than the load explains, or from one load to another.
constexpr double kClearlyMore = 0.15;

/// Whether busy says more than the load.
bool is_trap(const LessonFacts& facts) {
  return facts.load_at(kTrapShare).busy_share > kTrapShare + kClearlyMore;
}

/// Whether steps follow each other without a pause even at little load.
bool is_always_busy(const LessonFacts& facts) {
  return facts.load_at(kTrapShare).busy_share - facts.numbers.loads.front().busy_share <
         kClearlyMore;
}

LessonStep busy(const LessonFacts& facts) {
  const LessonLoad& trap = facts.load_at(kTrapShare);
  const LessonLoad& little = facts.numbers.loads.front();
  const LessonLoad& most = facts.numbers.loads.back();
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
      .reveal = {fmt::format("{} at {} of the most, and {}{} at {}.",
                             as_percent(trap.busy_share, 0), as_percent(trap.share, 0),
                             little.busy_share > little.share + kClearlyMore ? "already " : "",
                             as_percent(little.busy_share, 0), as_percent(little.share, 0)),
                 fmt::format(
                     "A step runs as long as any request is there. More requests {}: {} texts at "
                     "once on average at {}, {} at {}, {} when all wait.",
                     is_always_busy(facts)
                         ? "do not make more steps, they make fuller ones"
                         : "fill the pauses with more steps, and make them fuller",
                     fixed(little.mean_running, 1), as_percent(little.share, 0),
                     fixed(trap.mean_running, 1), as_percent(trap.share, 0),
                     fixed(most.mean_running, 1))},
      .figures = {"lesson_busy"}};
  step.reveal.push_back(
      is_trap(facts)
          ? "So busy says that there is work, not how much more would fit. To know that, compare "
            "the load with the most that is served."
          : "Here busy is close to the load. With a larger batch it stays high long before the "
            "deployment is full, so compare the load with the most that is served.");
  if (!facts.on_cpu()) {
    step.reveal.push_back(
        "The GPU utilisation that nvidia-smi prints is of this kind: the share of the time in "
        "which "
        "any kernel, that is any program on the GPU, runs.");
  }
  return step;
}

std::string_view limit_key(LessonLimit limit) {
  switch (limit) {
    case LessonLimit::compute:
      return "compute";
    case LessonLimit::memory:
      return "memory";
    case LessonLimit::latency:
      return "latency";
    case LessonLimit::communication:
      return "exchange";
    case LessonLimit::losses:
      return "losses";
  }
  return {};
}

std::string_view work_of(LessonLimit limit) {
  switch (limit) {
    case LessonLimit::compute:
      return "work that waits for arithmetic";
    case LessonLimit::memory:
      return "work that waits for memory";
    case LessonLimit::latency:
      return "starting kernels, the small programs that it consists of, and the program around "
             "them";
    case LessonLimit::communication:
      return "the exchange between GPUs";
    case LessonLimit::losses:
      return "kernels that run below the machine's speed";
  }
  return {};
}

/// The gain from more of the other resource: `share` of the step waits for it.
std::string gained(double share, std::string_view other) {
  constexpr double kNothing = 0.02;
  if (share < kNothing) return "gains nothing";
  return fmt::format("gains less: only the {} of the step that waits for {} would get shorter",
                     as_percent(share, 0), other);
}

/// Why the load serves fewer tokens than its decode steps alone would yield.
std::string prompts_take_the_rest(const LessonFacts& facts) {
  const LessonLoad& most = facts.numbers.loads.back();
  // Computed from the rate as it is printed, so that the product is what a reader gets.
  const double served = std::round(most.requests_per_s * 100) / 100 * to_double(facts.generate);
  if (served > 0.9 * facts.full.tokens_per_s) return "";
  return fmt::format(
      "One after the other, such steps would yield {} tokens/s; served are {} x {} = {}. Prefill "
      "takes the rest of the time{}.",
      with_separators(std::llround(facts.full.tokens_per_s)), fixed(most.requests_per_s, 2),
      with_separators(facts.generate), with_separators(std::llround(served)),
      most.tpot_p95 > 1.1 * facts.full.step
          ? fmt::format(", and a text in decode waits meanwhile: hence further tokens within {} "
                        "when all wait",
                        as_time(most.tpot_p95))
          : "");
}

std::string what_helps(const LessonFacts& facts) {
  switch (facts.full.limit) {
    case LessonLimit::memory:
      return fmt::format(
          "Memory is the limit, so a machine with more FLOP/s {}. What helps most is more "
          "bandwidth, "
          "or fewer bytes: a quantised KV cache, shorter texts and, where weights are much of what "
          "is read, quantised weights.",
          gained(facts.full.compute_share, "arithmetic"));
    case LessonLimit::compute:
      return fmt::format(
          "Arithmetic is the limit, so more bandwidth {}. What helps most is a higher peak, or "
          "cheaper arithmetic: weights and numbers in fewer bits.",
          gained(facts.full.memory_share, "memory"));
    case LessonLimit::latency:
      return "Neither memory nor arithmetic is the limit: the step waits for kernels to start and "
             "for the program around them. What helps is fewer and larger kernels, more texts in "
             "each step, or a faster processor to start them.";
    case LessonLimit::communication:
      return "The exchange between GPUs is the limit. What helps is a faster link or fewer GPUs "
             "for "
             "each replica.";
    case LessonLimit::losses:
      return fmt::format(
          "Neither memory nor arithmetic is used up: {} The rest is lost in kernels that run below "
          "the machine's speed. What helps is better kernels, or fewer texts in a step if they "
          "are what slows it down; a larger machine alone would change little.",
          at_full_speed(facts.full));
  }
  return {};
}

/// The case has these figures in courses: a step that uses 98 % of the bandwidth and 45 % of the
/// arithmetic does 0.45 / 0.98 of the ridge point's FLOPs for each byte.
std::string as_courses_tell_it(const LessonFacts& facts) {
  constexpr double kArithmetic = 0.45, kBandwidth = 0.98;
  return fmt::format(
      "The case is often told with {} of the arithmetic and {} of the bandwidth, which is more "
      "than "
      "real steps reach. On this {} that is a step of {} / {} x {} = {} FLOPs for each byte: below "
      "the ridge point, so memory is the limit, and it is full.",
      as_percent(kArithmetic, 0), as_percent(kBandwidth, 0), facts.machine(), kArithmetic,
      kBandwidth, fixed(facts.numbers.ridge.value, 1),
      fixed(kArithmetic / kBandwidth * facts.numbers.ridge.value, 1));
}

LessonStep night(const LessonFacts& facts) {
  const LessonWork& full = facts.full;
  const LessonLoad& most = facts.numbers.loads.back();
  std::vector<LessonChoice> choices = {
      {"network", "The network between users and server"},
      {"memory", "Reading weights, keys and values from memory"},
      {"compute", "Arithmetic"},
      {"latency", "Starting kernels, and the program around them"}};
  if (full.limit == LessonLimit::losses) {
    choices.push_back({"losses", "Neither: kernels that run below the machine's speed"});
  }
  if (facts.deployment.parallel.gpus() > 1) {
    choices.push_back({"exchange", "What the GPUs send each other"});
  }
  LessonStep step{
      .key = "night",
      .title = "The case at 2:47",
      .text = {fmt::format("It is 2:47 at night. Users wait, requests queue, {} run in each step. "
                           "The dashboard says: utilisation {}. What it shows is the share of the "
                           "arithmetic peak that is in use. \"There is plenty left\", someone "
                           "writes, \"so it cannot be the {}.\"",
                           texts_words(full.batch), as_percent(full.flop_share, 0),
                           facts.machine())},
      .ask = ask_choice("What takes the largest part of such a step?", std::move(choices),
                        std::string(limit_key(full.limit))),
      .reveal = {fmt::format("A decode step of {} takes {}, and {} goes to {}. It uses {} of "
                             "the arithmetic peak and {} of the memory bandwidth; no real step "
                             "reaches all of either.",
                             texts_words(full.batch), as_time(full.step),
                             full.limit == LessonLimit::losses
                                 ? "most of that"
                                 : as_percent(full.limit_share, 0) + " of that",
                             work_of(full.limit), as_percent(full.flop_share, 0),
                             as_percent(full.bandwidth_share, 0)),
                 what_helps(facts),
                 fmt::format("Three numbers can be called utilisation: busy, {} here; arithmetic, "
                             "{}; bandwidth, {}. Only the one that belongs to the limit says how "
                             "full the machine is, and since no step reaches all of it, not all of "
                             "the rest is free. The first asks whether something runs, the "
                             "others how much of the machine it uses.",
                             as_percent(most.busy_share, 0), as_percent(full.flop_share, 0),
                             as_percent(full.bandwidth_share, 0))}};
  const std::string rest = prompts_take_the_rest(facts);
  if (!rest.empty()) step.reveal.push_back(rest);
  step.reveal.push_back(as_courses_tell_it(facts));
  return step;
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
      .text = {fmt::format(
                   "At the end of a step every token has a score. All scores are divided by a "
                   "number, the temperature, 1 unless it is set, and then become "
                   "probabilities: the higher the score, the likelier. After \"{}\" let \"{}\" "
                   "have {}, then \"{}\" {}, and so "
                   "on; the numbers are invented.",
                   plain.text, favourite(plain).word, chance(plain), plain.words.at(1).word,
                   as_percent(plain.words.at(1).chance, 0)),
               "The token is then drawn at random by its probability: sampling."},
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
                     "takes {} of these {} candidates. Where the model is sure, few tokens stay; "
                     "where it "
                     "is not, many.",
                     kNucleus, nucleus.kept, plain.words.size())},
      .figures = {}};
}

}  // namespace

void add_serving(const LessonFacts& facts, std::vector<LessonStep>& steps) {
  for (const auto make : {paging, slo, busy, night, choosing}) steps.push_back(make(facts));
}

namespace {

/// Whether a step of several texts takes less than half the time of as many steps of one.
bool shares_pay(const LessonFacts& facts) {
  return facts.together.step / facts.decode.step < to_double(facts.together.batch) / 2;
}

}  // namespace

std::vector<TeachBack> teach_back(const LessonFacts& facts) {
  const LessonNumbers& numbers = facts.numbers;
  const LessonLoad& trap = facts.load_at(kTrapShare);
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
       fmt::format("A step without the cache computes many tokens, but all at once, which takes "
                   "less than one by one. A step with the cache computes one token only, but it "
                   "{}. The answer is {} times as fast.",
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
           "values. {} a step takes {} times as long for {} times the tokens.",
           shares_pay(facts) ? "So" : "Here the shared part is small, so sharing gains little:",
           ratio_words(facts.together.step / facts.decode.step),
           with_separators(facts.together.batch))},
      {"When does speculative decoding gain most, and when least?",
       fmt::format(
           "Most when few texts run: the weights are read anyway, and checking {} costs "
           "little beside that. Least with large batches, which already use the arithmetic, "
           "and with drafts that are seldom right. Here it is {} times as fast for one text, {} "
           "times with {}, and {} times if drafts are right half as often there.",
           counted(facts.drafts, "draft token"), ratio_words(numbers.drafts.front().gain),
           ratio_words(numbers.drafts.back().gain), texts_words(numbers.drafts.back().batch),
           ratio_words(numbers.drafts.back().gain_half_right))},
      {"When does quantisation of the weights help decode, and when does it not?",
       "Decode reads the weights for every token, and fewer bits are fewer bytes to read. Where "
       "something else limits the step, it helps little or not at all. " +
           what_narrow_gains(facts)},
      {"What does paging save?",
       fmt::format(
           "Memory set aside for text that never comes. In blocks, {} of {} tokens fit, with "
           "a place of {} tokens for each only {}.",
           texts_words(facts.fitting), with_separators(facts.context()),
           with_separators(facts.deployment.engine.max_model_len),
           with_separators(facts.reserved))},
      {"Why can chat and batch not both have what they want from the same load?",
       fmt::format(
           "{} Here, beside a job handed in at once, those who chat have their first token within "
           "{} instead of {}, and the job is done after {}. If its requests are sent evenly, that "
           "is {}, and the job is done after {}.",
           why_not_both(facts), as_time(classes_with(facts, JobArrival::at_once).ttft_p95),
           as_time(classes_with(facts, JobArrival::none).ttft_p95),
           as_time(classes_with(facts, JobArrival::at_once).job_done),
           as_time(classes_with(facts, JobArrival::spread).ttft_p95),
           as_time(classes_with(facts, JobArrival::spread).job_done))},
      {fmt::format("The dashboard says: busy {}. Is the deployment full?",
                   as_percent(trap.busy_share, 0)),
       fmt::format("{} {} of the most that it serves. Busy says that a step is running, not how "
                   "much of the machine it uses{}.",
                   is_trap(facts) ? "That does not follow: this is at"
                                  : "No, though here busy happens to be close to the load,",
                   as_percent(trap.share, 0),
                   is_trap(facts)
                       ? ""
                       : "; with larger batches it is high long before the deployment is "
                         "full")},
      {"What do temperature, top-k and top-p do?",
       "Temperature makes likely tokens likelier (below 1) or less so (above 1). Top-k keeps a "
       "fixed "
       "number of the likeliest tokens, top-p as many as it takes to reach a sum of p."}};
}

}  // namespace roofcast
