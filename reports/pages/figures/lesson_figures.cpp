#include "reports/pages/figures/lesson_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "reports/pages/figures/staircase_figures.hpp"

namespace roofcast {
namespace {

std::vector<Figure> staircase_of(const LessonAnswer& answer) {
  StaircaseAnswer staircase;
  staircase.inputs.prompt_tokens = answer.inputs.prompt_tokens;
  staircase.inputs.generated_tokens = answer.inputs.generated_tokens;
  staircase.times = TimedStaircase{.tokens = answer.numbers.tokens};
  return staircase_figures(staircase);
}

// ---- roofline

/// FLOP/s that a step reaches: its share of the peak.
FigurePoint reached(const LessonBatch& step, const LessonNumbers& numbers,
                    const std::string& name) {
  const FlopsPerSecond rate = numbers.peak * step.flop_share;
  return {.x = step.intensity.value,
          .y = rate.value / 1e9,
          .label = fmt::format("{}: {} FLOP/byte, {}", name, fixed(step.intensity.value, 1),
                               as_rate(rate))};
}

Figure roofline(const LessonAnswer& answer) {
  const LessonNumbers& numbers = answer.numbers;
  const double low = 0.1, high = std::max(10'000.0, 10 * numbers.ridge.value);
  const double peak = numbers.peak.value / 1e9, slope = numbers.bandwidth.value / 1e9;
  const std::string prompt = counted(answer.inputs.prompt_tokens, "prompt token");
  Figure figure{
      .key = "lesson_roofline",
      .title = "The roofline: what the machine can do, and what a step does",
      .caption = fmt::format(
          "The slope is the memory, {}; the flat part is the arithmetic, {}. They "
          "meet at the ridge point, {} FLOP/byte.",
          as_rate(numbers.bandwidth), as_rate(numbers.peak), fixed(numbers.ridge.value, 1)),
      .x = {.title = "arithmetic intensity (FLOP/byte)",
            .scale = AxisScale::logarithmic,
            .low = low,
            .high = high},
      .y = {.title = "rate (GFLOP/s)", .scale = AxisScale::logarithmic},
      .table = {
          .title = "",
          .columns =
              {{"Step", false}, {"FLOP/byte"}, {"Rate"}, {"Of the peak"}, {"Of the bandwidth"}},
          .rows = {}}};
  figure.series.push_back({.name = "roofline",
                           .points = {{.x = low, .y = low * slope},
                                      {.x = numbers.ridge.value, .y = peak},
                                      {.x = high, .y = peak}}});
  const auto add_row = [&](const std::string& name, const LessonBatch& step) {
    figure.table.rows.push_back({name, printed::fixed(step.intensity.value, 1),
                                 printed::rate(numbers.peak * step.flop_share),
                                 printed::percent(step.flop_share),
                                 printed::percent(step.bandwidth_share)});
  };
  FigureSeries decode{.name = "decode", .mark = Mark::points};
  for (const LessonBatch& step : numbers.batches) {
    const std::string name = "decode of " + counted(step.batch, "text");
    decode.points.push_back(reached(step, numbers, name));
    add_row(name, step);
  }
  figure.series.push_back(std::move(decode));
  figure.series.push_back({.name = "prefill of " + prompt,
                           .mark = Mark::points,
                           .points = {reached(numbers.prefill, numbers, "prefill of " + prompt)}});
  add_row("prefill of " + prompt, numbers.prefill);
  figure.marked.push_back(
      {.axis = MarkedValue::Across::x, .value = numbers.ridge.value, .name = "ridge point"});
  return figure;
}

// ---- batches and formats

Figure batches(const LessonAnswer& answer) {
  Figure figure{.key = "lesson_batches",
                .title = "Tokens per second over the texts in a batch",
                .caption =
                    "Decode steps in the middle of the answer, up to as many texts as fit or "
                    "as the engine takes, at most 256.",
                .x = {.title = "texts in a step", .scale = AxisScale::logarithmic},
                .y = {.title = "tokens/s of all texts", .scale = AxisScale::logarithmic},
                .table = {.title = "",
                          .columns = {{"Texts"}, {"Step"}, {"Tokens/s"}, {"Time per token"}},
                          .rows = {}}};
  FigureSeries series{.name = "decode"};
  for (const LessonBatch& step : answer.numbers.batches) {
    series.points.push_back({.x = to_double(step.batch), .y = step.tokens_per_s});
    figure.table.rows.push_back({printed::count(step.batch), printed::time(step.step),
                                 printed::fixed(step.tokens_per_s, 0),
                                 printed::time(Seconds{1 / step.tokens_per_s})});
  }
  figure.series.push_back(std::move(series));
  return figure;
}

Figure drafts(const LessonAnswer& answer) {
  Figure figure{.key = "lesson_drafts",
                .title = "Drafts over the texts in a batch",
                .caption = fmt::format(
                    "Decode steps with {} of each text checked, beside steps without drafts. "
                    "The time of the helper is not counted.",
                    counted(answer.inputs.drafts, "draft token")),
                .x = {.title = "texts in a step", .scale = AxisScale::logarithmic},
                .y = {.title = "times as fast as without drafts", .low = 0},
                .table = {.title = "",
                          .columns = {{"Texts"},
                                      {"Tokens computed"},
                                      {"Without drafts"},
                                      {"With drafts"},
                                      {"Of the FLOP/s"},
                                      {"Times as fast"}},
                          .rows = {}}};
  const auto agrees = [](double share) { return as_percent(share, 0) + " are right"; };
  FigureSeries as_set{.name = agrees(answer.inputs.acceptance)};
  FigureSeries half{.name = agrees(answer.inputs.acceptance / 2)};
  for (const LessonDrafts& one : answer.numbers.drafts) {
    as_set.points.push_back({.x = to_double(one.batch), .y = one.gain});
    half.points.push_back({.x = to_double(one.batch), .y = one.gain_half_right});
    figure.table.rows.push_back({printed::count(one.batch), printed::count(one.tokens),
                                 printed::time(one.without), printed::time(one.step),
                                 printed::percent(one.flop_share), printed::fixed(one.gain, 2)});
  }
  figure.series = {std::move(as_set), std::move(half)};
  figure.marked.push_back({.value = 1, .name = "as fast as without"});
  return figure;
}

Figure formats(const LessonAnswer& answer) {
  const auto& rows = answer.numbers.formats;
  double longest = 0;
  for (const LessonFormat& one : rows) longest = std::max(longest, one.decode_step.value);
  const TimeUnit unit = unit_for(longest);
  Figure figure{.key = "lesson_formats",
                .title = "A decode step in other number formats",
                .caption =
                    "One text, mean over its answer. A format that the hardware cannot "
                    "multiply is widened first. awq: 4 bits.",
                .x = {.title = "weights, KV cache", .scale = AxisScale::category},
                .y = {.title = with_unit("decode step", unit), .low = 0},
                .horizontal = true,
                .table = {.title = "",
                          .columns = {{"Format", false},
                                      {"Weights"},
                                      {"Decode"},
                                      {"rests on", false},
                                      {"Prefill"},
                                      {"rests on", false},
                                      {"Texts"}},
                          .rows = {}}};
  FigureSeries series{.name = "decode step", .mark = Mark::bars};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    figure.x.names.push_back(rows[i].name);
    series.points.push_back({.x = static_cast<double>(i), .y = unit.of(rows[i].decode_step.value)});
    figure.table.rows.push_back({rows[i].name, printed::gib(rows[i].weights),
                                 printed::time(rows[i].decode_step), rows[i].decode_source,
                                 printed::time(rows[i].prefill), rows[i].prefill_source,
                                 printed::count(rows[i].texts)});
  }
  figure.series.push_back(std::move(series));
  return figure;
}

// ---- block sizes

Figure blocks(const LessonAnswer& answer) {
  Figure figure{
      .key = "lesson_blocks",
      .title = "Block sizes compared",
      .caption =
          "Texts that fit in memory at once, by its plan alone: engines offer few of these "
          "sizes. Empty: slots that are given out but hold nothing, on average while the "
          "answer is written.",
      .x = {.title = "tokens per block", .scale = AxisScale::category},
      .y = {.title = "empty share of slots (%)", .low = 0, .high = 100},
      .table = {.title = "",
                .columns = {{"Tokens per block", false}, {"Texts at once"}, {"Empty"}},
                .rows = {}}};
  FigureSeries empty{.name = "empty", .mark = Mark::bars};
  for (const LessonBlocks& one : answer.numbers.blocks) {
    const std::string name = with_separators(one.block_tokens) + (one.longest ? ", reserved" : "");
    empty.points.push_back(
        {.x = static_cast<double>(figure.x.names.size()),
         .y = one.empty_share * 100,
         .label = fmt::format("{}: {} at once, {} empty", name, counted(one.texts, "text"),
                              as_percent(one.empty_share))});
    figure.x.names.push_back(name);
    figure.table.rows.push_back(
        {name, printed::count(one.texts), printed::percent(one.empty_share)});
  }
  figure.series.push_back(std::move(empty));
  return figure;
}

// ---- loads

Table load_table(const std::vector<LessonLoad>& loads) {
  Table table{.title = "",
              .columns = {{"Load", false},
                          {"Requests/s"},
                          {"TTFT p95"},
                          {"TPOT p95"},
                          {"Busy"},
                          {"FLOP/s used"},
                          {"Bandwidth used"},
                          {"Texts at once"}},
              .rows = {}};
  for (const LessonLoad& load : loads) {
    table.rows.push_back({load.share == 1 ? "all wait" : printed::percent(load.share, 0),
                          printed::fixed(load.requests_per_s, 2), printed::time(load.ttft_p95),
                          printed::time(load.tpot_p95), printed::percent(load.busy_share),
                          printed::percent(load.flop_share), printed::percent(load.bandwidth_share),
                          printed::fixed(load.mean_running, 1)});
  }
  return table;
}

Figure loads(const LessonAnswer& answer) {
  const auto& all = answer.numbers.loads;
  Figure figure{.key = "lesson_loads",
                .title = "Waiting over the load",
                .caption =
                    "What 95 of 100 requests wait at most: for the first token (TTFT), and "
                    "for each further one (TPOT). The load is a share of the most that is "
                    "served.",
                .x = {.title = "load", .scale = AxisScale::category},
                .y = {.title = "p95 (ms)", .scale = AxisScale::logarithmic},
                .table = load_table(all)};
  FigureSeries first{.name = "first token"}, further{.name = "further token"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto x = static_cast<double>(i);
    figure.x.names.push_back(all[i].share == 1 ? "all wait" : as_percent(all[i].share, 0));
    first.points.push_back({.x = x, .y = all[i].ttft_p95.value * 1e3});
    further.points.push_back({.x = x, .y = all[i].tpot_p95.value * 1e3});
  }
  figure.series = {std::move(first), std::move(further)};
  return figure;
}

std::string job_words(JobArrival job) {
  switch (job) {
    case JobArrival::none:
      return "chat alone";
    case JobArrival::at_once:
      return "job at once";
    case JobArrival::behind_chat:
      return "chat goes first";
    case JobArrival::spread:
      return "job spread";
  }
  return {};
}

Figure classes(const LessonAnswer& answer) {
  Figure figure{.key = "lesson_classes",
                .title = "Chat beside a batch job",
                .caption = fmt::format(
                    "What 95 of 100 requests of chat wait at most, alone and beside a job of {}: "
                    "handed in at once, the same with waiting requests of chat going first, and "
                    "sent one by one.",
                    counted(answer.numbers.job_requests, "request")),
                .x = {.title = "batch job", .scale = AxisScale::category},
                .y = {.title = "p95 of chat (ms)", .scale = AxisScale::logarithmic},
                .horizontal = true,
                .table = {.title = "",
                          .columns = {{"Batch job", false},
                                      {"TTFT p95 of chat"},
                                      {"TPOT p95 of chat"},
                                      {"Promise to chat", false},
                                      {"Job done after"}},
                          .rows = {}}};
  FigureSeries first{.name = "first token", .mark = Mark::bars};
  FigureSeries further{.name = "further token", .mark = Mark::bars};
  for (const LessonClasses& one : answer.numbers.classes) {
    const auto x = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(job_words(one.job));
    first.points.push_back({.x = x, .y = one.ttft_p95.value * 1e3});
    further.points.push_back({.x = x, .y = one.tpot_p95.value * 1e3});
    figure.table.rows.push_back({job_words(one.job), printed::time(one.ttft_p95),
                                 printed::time(one.tpot_p95), one.kept ? "kept" : "not kept",
                                 one.job == JobArrival::none ? "-" : printed::time(one.job_done)});
  }
  figure.series = {std::move(first), std::move(further)};
  return figure;
}

Figure busy(const LessonAnswer& answer) {
  const auto& all = answer.numbers.loads;
  Figure figure{.key = "lesson_busy",
                .title = "Busy over the load",
                .caption =
                    "The share of the time with a step in progress, beside the share of the "
                    "most that is served.",
                .x = {.title = "load (% of the most)", .low = 0, .high = 100},
                .y = {.title = "share (%)", .low = 0, .high = 100},
                .table = load_table(all)};
  FigureSeries busy{.name = "busy"}, load_itself{.name = "load"};
  for (const LessonLoad& load : all) {
    busy.points.push_back({.x = load.share * 100, .y = load.busy_share * 100});
    load_itself.points.push_back({.x = load.share * 100, .y = load.share * 100});
  }
  figure.series = {std::move(busy), std::move(load_itself)};
  return figure;
}

}  // namespace

std::vector<Figure> lesson_figures(const LessonAnswer& answer) {
  std::vector<Figure> figures = staircase_of(answer);
  for (const auto make : {roofline, batches, drafts, formats, blocks, classes, loads, busy})
    figures.push_back(make(answer));
  return figures;
}

Figure sampling_figure(const SamplingAnswer& answer) {
  Figure figure{.key = "sampling",
                .title = fmt::format("After \"{}\"", answer.text),
                .caption = fmt::format(
                    "{} of {} words can be chosen. The words and their scores are invented.",
                    answer.kept, answer.words.size()),
                .x = {.title = "next word", .scale = AxisScale::category},
                .y = {.title = "probability (%)", .low = 0, .high = 100},
                .table = {.title = "",
                          .columns = {{"Word", false},
                                      {"Score"},
                                      {"Model"},
                                      {"Temperature"},
                                      {"Chance"},
                                      {"Removed by", false}},
                          .rows = {}}};
  FigureSeries model{.name = "model", .mark = Mark::bars};
  FigureSeries chance{.name = "as set", .mark = Mark::bars};
  for (std::size_t i = 0; i < answer.words.size(); ++i) {
    const SampledWord& word = answer.words[i];
    const auto x = static_cast<double>(i);
    figure.x.names.push_back(word.word);
    model.points.push_back({.x = x, .y = word.probability * 100});
    chance.points.push_back({.x = x, .y = word.chance * 100});
    const char* removed = word.out == SampledOut::top_k   ? "top-k"
                          : word.out == SampledOut::top_p ? "top-p"
                                                          : "";
    figure.table.rows.push_back(
        {word.word, printed::fixed(word.score, 1), printed::percent(word.probability),
         printed::percent(word.tempered), printed::percent(word.chance), removed});
  }
  figure.series = {std::move(model), std::move(chance)};
  return figure;
}

}  // namespace roofcast
