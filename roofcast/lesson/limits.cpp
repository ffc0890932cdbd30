// The limits of a step: prefill and decode, the roofline, batches, speculation, quantisation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "model/architecture/experts.hpp"
#include "roofcast/lesson/parts.hpp"

namespace roofcast {
namespace {

double prefill_gain(const LessonFacts& facts) {
  return to_double(facts.prompt) * facts.decode.step / facts.prefill.step;
}

LessonStep phases(const LessonFacts& facts) {
  const Seconds one_by_one = facts.decode.step * to_double(facts.prompt);
  return {.key = "phases",
          .title = "Prefill and decode",
          .text = {fmt::format("With a KV cache a request, that is a prompt and its answer, has "
                               "two phases. In prefill, all {} tokens "
                               "of the prompt go through the model together, in one step of {}. In "
                               "decode, each step takes the newest token only and finds the next "
                               "one.",
                               with_separators(facts.prompt), as_time(facts.prefill.step))},
          .ask = ask_number(
              {.prompt = fmt::format("If the prompt went through the model token by token, as in "
                                     "decode: how many times as long would its {} tokens take?",
                                     with_separators(facts.prompt)),
               .truth = prefill_gain(facts),
               .start = 2,
               .high = 2000}),
          .reveal = {fmt::format("{} steps of {} are {}: {} times as long.",
                                 with_separators(facts.prompt), as_time(facts.decode.step),
                                 as_time(one_by_one), ratio_words(prefill_gain(facts))),
                     why_prefill(facts), why_decode(facts)}};
}

/// "293 times below", "1.7 times".
std::string beside_ridge(FlopsPerByte intensity, FlopsPerByte ridge) {
  const double ratio = intensity / ridge;
  return ratio < 1 ? ratio_words(1 / ratio) + " times below" : ratio_words(ratio) + " times";
}

LessonStep roofline(const LessonFacts& facts) {
  const LessonNumbers& numbers = facts.numbers;
  const double bits =
      facts.weights.value * 8 /
      (to_double(facts.parameters) / to_double(std::int64_t{facts.deployment.parallel.tensor} *
                                               facts.deployment.parallel.pipeline));
  const bool two_bytes =
      std::abs(bits - 16) < 0.5 && std::abs(facts.decode.intensity.value - 1) < 0.2;
  LessonStep step{
      .key = "roofline",
      .title = "The roofline and its ridge",
      .text =
          {fmt::format(
               "Two numbers say most about a machine. {} computes at most {}: a FLOP is one "
               "multiplication or one addition. And it reads at most {} from its memory: the "
               "bandwidth. (G stands for 10^9, T for 10^12, B for bytes.)",
               facts.deployment.gpu.display_name, as_rate(numbers.peak),
               as_rate(numbers.bandwidth)),
           "Every piece of work needs both: bytes to be read and FLOPs to be done. The one that "
           "takes longer sets the time. Drawn over the FLOPs for each byte, the two limits look "
           "like "
           "a roof, hence the name."},
      .ask =
          ask_number({.prompt = "How many FLOPs can it do in the time in which it reads one byte?",
                      .truth = numbers.ridge.value,
                      .unit = "FLOPs",
                      .start = 2,
                      .high = 2000,
                      .truth_text = fixed(numbers.ridge.value, 1) + " FLOPs"}),
      .reveal = {fmt::format(
                     "{} divided by {} is {} FLOPs for each byte. This is the ridge point. "
                     "Work that does fewer FLOPs for each byte is memory-bound, work that "
                     "does more is compute-bound. FLOPs for each byte are called arithmetic "
                     "intensity.",
                     as_rate(numbers.peak), as_rate(numbers.bandwidth),
                     fixed(numbers.ridge.value, 1)),
                 fmt::format("A decode step of one text does {} FLOPs for each byte of weights and "
                             "KV cache that it reads: {} the ridge point.{}",
                             fixed(facts.decode.intensity.value, 1),
                             beside_ridge(facts.decode.intensity, numbers.ridge),
                             two_bytes ? " A weight of 2 bytes is used for one multiplication and "
                                         "one addition, and that is all."
                                       : ""),
                 fmt::format("Prefill of {} tokens uses each weight {} times and does {} FLOPs for "
                             "each byte: {} the ridge point.",
                             with_separators(facts.prompt), with_separators(facts.prompt),
                             fixed(facts.prefill.intensity.value, 0),
                             beside_ridge(facts.prefill.intensity, numbers.ridge))},
      .figures = {"lesson_roofline"}};
  return step;
}

std::string where_batches_end(const LessonFacts& facts) {
  std::string text =
      fmt::format("Where does that end? Memory: {} of {} tokens fit beside the weights.",
                  texts_words(facts.fitting), with_separators(facts.context()));
  if (facts.compute_bound_batch) {
    text += fmt::format(
        " Arithmetic: from {} on, multiplying with the weights takes longer than reading them, and "
        "each further text costs its full arithmetic.",
        texts_words(*facts.compute_bound_batch));
    if (to_double(*facts.compute_bound_batch) > 1.02 * facts.numbers.ridge.value) {
      text += fmt::format(
          " (More than the {} FLOPs for each byte at the ridge point: besides weights, some "
          "numbers "
          "of each text are read and written.)",
          fixed(facts.numbers.ridge.value, 1));
    }
  }
  return text;
}

/// Says what sharing does not help: the step as a whole may never be compute-bound.
std::string whole_step(const LessonFacts& facts) {
  const std::string text =
      "Keys and values are not shared: each text reads its own and does few FLOPs for each "
      "of their bytes, however many texts there are.";
  if (!facts.compute_bound_step) {
    return text + " So here the step as a whole stays below the ridge point with any batch.";
  }
  return text + fmt::format(" So the step as a whole crosses the ridge point only at {}.",
                            texts_words(*facts.compute_bound_step));
}

LessonStep batching(const LessonFacts& facts) {
  const LessonBatch& many = facts.together;
  const double longer = many.step / facts.decode.step;
  const double gain = many.tokens_per_s / facts.decode.tokens_per_s;
  return {
      .key = "batching",
      .title = "Batching",
      .text = {fmt::format("A decode step of one text takes {} and yields one token. Now {} texts "
                           "share each step, each with a token of its own: a batch.",
                           as_time(facts.decode.step), with_separators(many.batch))},
      .ask = ask_number({.prompt = fmt::format("How many times as long does a step of {} take?",
                                               texts_words(many.batch)),
                         .truth = longer,
                         .start = to_double(many.batch),
                         .high = 2 * to_double(many.batch),
                         .change = true}),
      .reveal = {fmt::format(
                     "{} times: {}. It yields {} tokens, so {} tokens/s become {}: {} times "
                     "as many.",
                     ratio_words(longer), as_time(many.step), with_separators(many.batch),
                     fixed(facts.decode.tokens_per_s, 0), fixed(many.tokens_per_s, 0),
                     ratio_words(gain)),
                 fmt::format(
                     "The weights, {}, are read once for all of them. What grows with each "
                     "text are the arithmetic and its own keys and values, {} of them halfway "
                     "through the answer.",
                     size_words(facts.read_per_step()),
                     size_words(facts.cache_of(facts.prompt + facts.generate / 2))),
                 where_batches_end(facts), whole_step(facts)},
      .figures = {"lesson_batches"}};
}

/// Why drafts gain less in large batches, or not less, by the figures of the largest one.
std::string why_drafts_gain(const LessonFacts& facts) {
  const LessonDrafts& one = facts.numbers.drafts.front();
  const LessonDrafts& many = facts.numbers.drafts.back();
  const std::string sum = fmt::format("{}, each with {} to be checked, are {} tokens in a step",
                                      texts_words(many.batch), counted(facts.drafts, "draft token"),
                                      with_separators(many.tokens));
  const double thrown_away = facts.drafts + 1 - facts.tokens_per_step;
  const std::string longer = ratio_words(many.step / many.without);
  if (many.gain > 1.05 * one.gain) {
    return fmt::format(
        "{}: it takes {} times as long as without drafts, a step of one text {} times.{}", sum,
        longer, ratio_words(one.step / one.without),
        has_experts(facts.deployment.model)
            ? " Each token chooses experts of its own: the drafts of one text have more weights "
              "read, those of many texts hardly any that are not read anyway."
            : "");
  }
  if (many.gain >= 0.95 * one.gain) {
    return fmt::format(
        "{}. Here even that costs little: the step takes {} times as long as without drafts.", sum,
        longer);
  }
  const bool arithmetic = many.flop_share >= kNearLimit && facts.compute_bound_batch &&
                          many.tokens > *facts.compute_bound_batch;
  return fmt::format(
      "{}{}: the step takes {} times as long, and of {} tokens computed for a text {} are thrown "
      "away again, on average.",
      sum,
      arithmetic ? fmt::format(
                       ", more than the {} from which on multiplying with the weights takes longer "
                       "than reading them. So each draft costs its full arithmetic",
                       with_separators(*facts.compute_bound_batch))
                 : ". Each costs time that reading or starting kernels no longer hides",
      longer, facts.drafts + 1, fixed(thrown_away, 2));
}

std::string half_right(const LessonFacts& facts) {
  const LessonDrafts& one = facts.numbers.drafts.front();
  const LessonDrafts& many = facts.numbers.drafts.back();
  return fmt::format(
      "A helper that is right half as often gains less: {} tokens a step, {} times as fast for one "
      "text and {} times with {}{}",
      fixed(tokens_per_speculative_step(facts.acceptance / 2, facts.drafts), 2),
      ratio_words(one.gain_half_right), ratio_words(many.gain_half_right), texts_words(many.batch),
      many.gain_half_right < 1 ? ": there its drafts cost more than they bring." : ".");
}

LessonStep speculative(const LessonFacts& facts) {
  const LessonDrafts& one = facts.numbers.drafts.front();
  const LessonDrafts& many = facts.numbers.drafts.back();
  std::string sum = "1";
  double term = 1;
  for (int i = 0; i < std::min(facts.drafts, 4); ++i) {
    term *= facts.acceptance;
    sum += " + " + fixed(term, 2);
  }
  if (facts.drafts > 4) sum += " + ...";
  return {
      .key = "speculative",
      .title = "Speculative decoding",
      .text = {fmt::format(
                   "A step that computes a few tokens takes hardly longer than one that computes a "
                   "single token, as long as reading is the limit. So a cheap helper guesses the "
                   "next {}: the draft. The model checks all of them in one step.",
                   counted(facts.drafts, "token")),
               fmt::format("Say that it agrees with each guess with probability {}. At the first "
                           "guess that is wrong, the rest is dropped. The token that the model "
                           "finds there itself always counts.",
                           as_percent(facts.acceptance, 0))},
      .ask = ask_number({.prompt = "How many tokens does a step yield on average?",
                         .truth = facts.tokens_per_step,
                         .unit = "tokens",
                         .start = to_double(facts.drafts) + 1,
                         .high = to_double(facts.drafts) + 1,
                         .truth_text = fixed(facts.tokens_per_step, 2) + " tokens",
                         .plain = PlainGuess{to_double(facts.drafts),
                                             "Less: a guess counts only if those before it are "
                                             "right, too."}}),
      .reveal = {fmt::format("{} = {} tokens: the model's own, then the first guess if it is "
                             "right, the second if both are, and so on.",
                             sum, fixed(facts.tokens_per_step, 2)),
                 fmt::format("For one text a step takes {} with drafts and {} without: {} times as "
                             "fast. With {} it takes {} instead of {}: {} times as fast.",
                             as_time(one.step), as_time(one.without), ratio_words(one.gain),
                             texts_words(many.batch), as_time(many.step), as_time(many.without),
                             ratio_words(many.gain)),
                 why_drafts_gain(facts), half_right(facts),
                 "The time of the helper is not counted here. Drafts change the speed, not the "
                 "answers."},
      .figures = {"lesson_drafts"}};
}

/// Why a decode step with weights in 8 bits takes what it takes; `bytes`: how many times smaller
/// the weights are.
std::string why_narrow_decode(const LessonFacts& facts, double gain, double bytes) {
  if (facts.decode.limit != LessonLimit::memory) {
    return fmt::format("But reading them is not what limits a decode step on this {}.",
                       facts.machine());
  }
  const std::string elsewhere =
      " Where something else limits a step, as arithmetic does in a large batch, fewer bits help "
      "little or not at all.";
  if (gain >= 0.9 * bytes) return "Decode of one text does little but read them." + elsewhere;
  return "The rest of the step does not shrink with the weights." + elsewhere;
}

/// Why prefill with weights in 8 bits takes what it takes. No cause is named for a difference that
/// is within the spread of the two estimates.
std::string why_narrow_prefill(const LessonFacts& facts, const LessonFormat& wide,
                               const LessonFormat& narrow) {
  const Seconds spread =
      wide.prefill * wide.prefill_uncertainty + narrow.prefill * narrow.prefill_uncertainty;
  const Seconds apart =
      std::max(wide.prefill, narrow.prefill) - std::min(wide.prefill, narrow.prefill);
  if (apart <= spread) {
    return fmt::format(
        "That is within the spread of the two estimates, ±{} and ±{}, so it says nothing about "
        "which is faster.",
        as_percent(narrow.prefill_uncertainty, 0), as_percent(wide.prefill_uncertainty, 0));
  }
  const Gpu& gpu = facts.deployment.gpu;
  if (facts.prefill.limit == LessonLimit::latency) {
    return "Starting kernels takes most of it either way.";
  }
  if (gpu.peak_for(DType::fp8) <= gpu.peak_for(DType::bf16)) {
    return fmt::format(
        "This {} multiplies in more bits than the weights are stored in and has to "
        "widen them first.",
        facts.machine());
  }
  if (narrow.prefill < wide.prefill) {
    return fmt::format("This {} multiplies in 8 bits faster than in 16.", facts.machine());
  }
  return fmt::format(
      "This {}'s peak is higher in 8 bits than in 16, but at this length its kernels do not reach "
      "it; roofcast estimate compares other lengths.",
      facts.machine());
}

/// "7.0 ms (±8 % fitted)"
std::string with_source(Seconds time, const std::string& source) {
  return fmt::format("{} ({})", as_time(time), source);
}

/// Times of the formats, where all rest on figures of the same kind.
std::vector<std::string> format_times(const LessonFacts& facts, const LessonFormat& wide,
                                      const LessonFormat& narrow, double gain) {
  const LessonFormat& least = facts.format("awq weights");
  std::vector<std::string> said = {
      fmt::format("{} times: {} instead of {}. The weights shrink from {} to {}. {}",
                  ratio_words(gain), as_time(narrow.decode_step), as_time(wide.decode_step),
                  size_words(wide.weights), size_words(narrow.weights),
                  why_narrow_decode(facts, gain, wide.weights / narrow.weights)),
      fmt::format("Prefill takes {} instead of {}. {}", as_time(narrow.prefill),
                  as_time(wide.prefill), why_narrow_prefill(facts, wide, narrow))};
  if (least.comparable) {
    said.push_back(fmt::format(
        "With 4 bits (AWQ) a decode step takes {}, prefill {}: the weights are widened to 16 bits "
        "before they are multiplied.",
        as_time(least.decode_step), as_time(least.prefill)));
  }
  return said;
}

LessonAsk ask_decode_gain(const LessonFormat& wide, const LessonFormat& narrow, double gain) {
  return ask_number(
      {.prompt = "With 8 bits instead of 16: how many times as fast is a decode step "
                 "of one text?",
       .truth = gain,
       .start = 4,
       .high = 16,
       .change = true,
       .plain = PlainGuess{2, fmt::format("{}: the weights as a whole shrink {} "
                                          "times, and part of the step does not "
                                          "shrink with them.",
                                          gain < 2 ? "Less" : "More",
                                          ratio_words(wide.weights / narrow.weights))}});
}

/// Where the two formats' times rest on figures of different kinds, only the bytes can be compared.
LessonAsk ask_weights_gain(double smaller) {
  return ask_number({.prompt = "With 8 bits instead of 16: how many times smaller are the weights?",
                     .truth = smaller,
                     .start = 4,
                     .high = 16,
                     .change = true});
}

std::string size_gain(const LessonFormat& wide, const LessonFormat& narrow) {
  return fmt::format(
      "{} times: {} instead of {}. The first table, which has a list of numbers for each token "
      "(the embedding), and the last layer keep their 16 bits.",
      ratio_words(wide.weights / narrow.weights), size_words(narrow.weights),
      size_words(wide.weights));
}

std::vector<std::string> format_sizes(const LessonFacts& facts, const LessonFormat& wide,
                                      const LessonFormat& narrow) {
  const auto min_time = [&](Bytes weights) {
    return as_time(weights / facts.deployment.gpu.memory_bandwidth);
  };
  return {
      size_gain(wide, narrow),
      fmt::format(
          "At full bandwidth reading them takes {} instead of {}, and a decode step of one text "
          "does little else.",
          min_time(narrow.weights), min_time(wide.weights)),
      fmt::format("The estimates are {} and {}. They rest on figures of different kinds, so their "
                  "ratio would say more about the figures than about the formats: it is not "
                  "compared. A calibration on this {} would make them comparable.",
                  with_source(narrow.decode_step, narrow.decode_source),
                  with_source(wide.decode_step, wide.decode_source), facts.machine())};
}

/// The words beside each time of the table.
constexpr const char* kTimeSources =
    "Decode reads the weights for every token, so fewer bytes are less to read. Beside each time "
    "stand its spread and what it rests on: measured on such a machine, interpolated or extended "
    "from such measurements, fitted to them, or the datasheet with a usual share of its peak.";

/// Where the estimates of the two decode steps do not differ clearly.
std::vector<std::string> formats_alike(const LessonFacts& facts, const LessonFormat& wide,
                                       const LessonFormat& narrow) {
  const Bytes fewer = facts.read_per_step() * (1 - narrow.weights / wide.weights);
  const Seconds saved = fewer / facts.deployment.gpu.memory_bandwidth;
  std::vector<std::string> said = {
      size_gain(wide, narrow),
      fmt::format("Does that make a decode step of one text faster? The estimates are {} and {}: "
                  "they differ by no more than their spread, so they cannot tell. At full "
                  "bandwidth, reading that much less saves {}, {} of the step. {}",
                  with_source(narrow.decode_step, narrow.decode_source),
                  with_source(wide.decode_step, wide.decode_source), as_time(saved),
                  as_percent(saved / wide.decode_step, 0), why_decode(facts))};
  if (facts.narrow_example) {
    const NarrowExample& example = *facts.narrow_example;
    said.push_back(fmt::format(
        "It helps where reading the weights is what a step does. On the same {}, {} has {} of "
        "them, and its decode step takes {} with 8 bits instead of {} with 16: {} times as fast. "
        "(roofcast learn quantisation --model {} --gpu {})",
        facts.machine(), example.model, size_words(example.wide.weights),
        as_time(example.narrow.decode_step), as_time(example.wide.decode_step),
        ratio_words(example.wide.decode_step / example.narrow.decode_step), example.model,
        facts.options.gpu));
  }
  return said;
}

/// Says how much room fewer bits leave for keys and values.
std::string room_for_texts(const LessonFacts& facts, const LessonFormat& wide,
                           const LessonFormat& narrow) {
  return fmt::format(
      "Fewer bits also leave more memory for the KV cache: {} of {} tokens fit with 8-bit weights, "
      "{} with 16-bit ones, and {} if keys and values have 8 bits, too. What rounding does to the "
      "answers has to be measured on your own tasks.",
      texts_words(narrow.texts), with_separators(facts.context()), with_separators(wide.texts),
      with_separators(facts.format("fp8 weights and KV cache").texts));
}

LessonStep quantisation(const LessonFacts& facts) {
  const LessonFormat& wide = facts.format(kWideFormat);
  const LessonFormat& narrow = facts.format(kNarrowFormat);
  const double gain = wide.decode_step / narrow.decode_step;
  const bool told_apart = LessonFacts::can_tell_apart(wide, narrow);
  LessonStep step{
      .key = "quantisation",
      .title = "Quantisation",
      .text =
          {"Weights are usually stored in 16 bits each (the format bf16). Quantisation stores them "
           "in fewer bits, such as 8 (fp8), rounded so that the answers change as little as "
           "possible."},
      .ask = told_apart ? ask_decode_gain(wide, narrow, gain)
                        : ask_weights_gain(wide.weights / narrow.weights),
      .reveal = told_apart          ? format_times(facts, wide, narrow, gain)
                : narrow.comparable ? formats_alike(facts, wide, narrow)
                                    : format_sizes(facts, wide, narrow),
      .figures = {"lesson_formats"}};
  step.reveal.push_back(kTimeSources);
  step.reveal.push_back(room_for_texts(facts, wide, narrow));
  return step;
}

}  // namespace

std::string what_is_left(const LessonFacts& facts) {
  switch (facts.decode.limit) {
    case LessonLimit::memory:
      return fmt::format("still has to read {} of weights for it",
                         size_words(facts.read_per_step()));
    case LessonLimit::compute:
      return "still has to do all the arithmetic of that token";
    case LessonLimit::latency:
      return "still has to start all its kernels, which takes longer than they run";
    case LessonLimit::communication:
      return "still has to wait for what the GPUs send each other";
    case LessonLimit::losses:
      return "does that far below the machine's speed";
  }
  return {};
}

std::string why_prefill(const LessonFacts& facts) {
  const std::string tokens = with_separators(facts.prompt);
  switch (facts.prefill.limit) {
    case LessonLimit::compute:
      return fmt::format(
          "Prefill is compute-bound: each weight is read once and used for all {} "
          "tokens, so the arithmetic takes longer than the reading.",
          tokens);
    case LessonLimit::memory:
      return fmt::format(
          "Prefill of {} tokens is memory-bound here: they are too few to keep the "
          "arithmetic busy while the weights are read. Longer prompts, or several at "
          "once, make it compute-bound.",
          tokens);
    case LessonLimit::latency:
      return fmt::format(
          "Prefill of {} tokens is neither compute-bound nor memory-bound here: the "
          "model is so small that starting its kernels takes most of the step. "
          "Longer prompts make it compute-bound.",
          tokens);
    case LessonLimit::communication:
      return fmt::format("Prefill of {} tokens is limited by what the GPUs send each other here.",
                         tokens);
    case LessonLimit::losses:
      return fmt::format(
          "Prefill of {} tokens takes {} and comes near neither limit here. {} The rest is lost in "
          "kernels that run below the machine's speed.",
          tokens, as_time(facts.prefill.step), at_full_speed(facts.prefill));
  }
  return {};
}

std::string why_decode(const LessonFacts& facts) {
  switch (facts.decode.limit) {
    case LessonLimit::memory:
      return fmt::format(
          "Decode is memory-bound: every step reads the weights again, {}, and uses "
          "each for a single token. The arithmetic waits for the memory.",
          size_words(facts.read_per_step()));
    case LessonLimit::compute:
      return fmt::format(
          "Decode is compute-bound here: this {} computes so slowly beside its "
          "memory that even a single token keeps the arithmetic busy.",
          facts.machine());
    case LessonLimit::latency:
      return "Decode of one text is neither compute-bound nor memory-bound here: the model is so "
             "small that starting its kernels takes most of the step.";
    case LessonLimit::communication:
      return "Decode of one text is limited by what the GPUs send each other here.";
    case LessonLimit::losses:
      return fmt::format(
          "A decode step of one text takes {} and comes near neither limit here, though it reads "
          "{} of weights for a single token. {} The rest is lost in kernels that run below the "
          "machine's speed.",
          as_time(facts.decode.step), size_words(facts.read_per_step()),
          at_full_speed(facts.decode));
  }
  return {};
}

std::string what_narrow_gains(const LessonFacts& facts) {
  const LessonFormat& wide = facts.format(kWideFormat);
  const LessonFormat& narrow = facts.format(kNarrowFormat);
  if (LessonFacts::can_tell_apart(wide, narrow)) {
    return fmt::format("Here a step takes {} with 8 bits instead of {} with 16.",
                       as_time(narrow.decode_step), as_time(wide.decode_step));
  }
  return fmt::format(
      "Here the weights take {} instead of {}, but {}.", size_words(narrow.weights),
      size_words(wide.weights),
      narrow.comparable ? "the estimates cannot tell whether a step gets faster: they differ by no "
                          "more than their spread"
                        : "the times rest on figures of different kinds and are not compared");
}

std::string at_full_speed(const LessonWork& work) {
  return fmt::format(
      "At full bandwidth its reading would take {} of that, and at the peak its arithmetic {}.",
      as_percent(work.bandwidth_share, 0), as_percent(work.flop_share, 0));
}

void add_limits(const LessonFacts& facts, std::vector<LessonStep>& steps) {
  for (const auto make : {phases, roofline, batching, speculative, quantisation}) {
    steps.push_back(make(facts));
  }
}

}  // namespace roofcast
