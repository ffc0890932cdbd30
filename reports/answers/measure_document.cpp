#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "roofcast/measure.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {
namespace {

/// "12.3 ms (predicted 11.9 ms, -3.3 %)"
Cell with_prediction(Seconds measured, std::optional<Seconds> predicted) {
  const Printed time = printed::time(measured);
  if (!predicted) return time;
  return followed(time, fmt::format(" (predicted {}, {:+.1f} %)", as_time(*predicted),
                                    100 * (*predicted / measured - 1)));
}

Cell quartiles(Seconds low, Seconds high) { return range(printed::time(low), printed::time(high)); }

Section textbook_section(const MeasureAnswer& answer) {
  const runtime::TextbookProfile& profile = *answer.textbook;
  const auto batch = static_cast<double>(answer.batch);
  Table table{.title = "", .columns = {{"", false}, {"", false}}, .rows = {}};
  table.rows.push_back(
      {"Prefill", followed(with_prediction(profile.prefill, answer.predicted_prefill),
                           fmt::format(", {} tokens/s",
                                       fixed(batch * static_cast<double>(answer.prompt_tokens) /
                                                 profile.prefill.value,
                                             0)))});
  table.rows.push_back({"  quartiles", quartiles(profile.prefill_p25, profile.prefill_p75)});
  if (profile.decode_steps > 0) {
    table.rows.push_back(
        {"Decode step", with_prediction(profile.decode_step, answer.predicted_decode)});
    table.rows.push_back({"  quartiles", quartiles(profile.decode_p25, profile.decode_p75)});
    table.rows.push_back({"  p10 to p90", quartiles(profile.decode_p10, profile.decode_p90)});
    table.rows.push_back({"  tokens/s", printed::fixed(batch / profile.decode_step.value, 1)});
    table.rows.push_back(
        {"  minimum, from weights, KV and bandwidth", printed::time(profile.decode_minimum)});
    table.rows.push_back({"  hardware efficiency", printed::percent(profile.decode_efficiency)});
  }
  return {.heading = fmt::format(
              "Batch {}, prompts of {} tokens, {} generated each", with_separators(answer.batch),
              with_separators(answer.prompt_tokens), with_separators(answer.output_tokens)),
          .lines = {fmt::format("{} after {}: medians", counted(answer.repeats, "run"),
                                counted(answer.warm_ups, "warm-up"))},
          .table = std::move(table)};
}

Section latency_section(const MeasureAnswer& answer) {
  Table table{.title = "", .columns = {{"Latency", false}}, .rows = {}};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (is_mean_or_percentile(statistic)) table.columns.push_back({statistic.name});
  }
  const auto add = [&](const char* name, const std::optional<Distribution>& latency) {
    if (!latency) return;
    std::vector<Cell> row{name};
    for (const DistributionStatistic& statistic : kDistributionStatistics) {
      if (!is_mean_or_percentile(statistic)) continue;
      row.push_back(printed::time(Seconds{(*latency).*statistic.value}));
    }
    table.rows.push_back(std::move(row));
  };
  add("TTFT", answer.ttft);
  add("TPOT", answer.tpot);
  add("E2E", answer.e2e);
  std::vector<std::string> lines{
      fmt::format("{} served in {}, {} output tokens/s; idle time between arrivals is skipped",
                  counted(answer.completed, "request"), counted(answer.steps, "step"),
                  fixed(answer.output_tokens_per_s, 1))};
  if (answer.repeats > 1) {
    lines.emplace_back(
        "Of the run whose steps took the median time; the medians above are of all.");
  }
  if (answer.rejected > 0) {
    lines.push_back(with_separators(answer.rejected) +
                    " rejected: longer than the engine or its cache allows");
  }
  return {.heading = answer.workload, .lines = std::move(lines), .table = std::move(table)};
}

Section comparison_section(const MeasureAnswer& answer) {
  Table table{.title = "Each step against the estimate of " + answer.inputs.deployment.gpu,
              .columns = {{"Steps", false},
                          {"Number"},
                          {"Measured"},
                          {"Predicted"},
                          {"Bias"},
                          {"Median error"},
                          {"p95 error"}},
              .rows = {}};
  const auto add = [&](const char* name, const runtime::ErrorSummary& errors) {
    if (errors.steps == 0) return;
    table.rows.push_back({name, printed::count(errors.steps), printed::time(errors.measured),
                          printed::time(errors.predicted), signed_percent(errors.bias),
                          printed::percent(errors.median_error),
                          printed::percent(errors.p95_error)});
  };
  add("decode", answer.prediction->decode);
  add("with prompt tokens", answer.prediction->prefill);
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

Section staircase_section(const MeasuredStaircase& times) {
  const bool predicted = !times.naive_predicted.empty();
  Table table{.title = "The staircase: time of each token", .columns = {{"Token"}}, .rows = {}};
  for (const char* loop : {"Naive", "KV cache"}) {
    table.columns.push_back({loop});
    table.columns.push_back({"quartiles"});
    if (predicted) table.columns.push_back({"predicted"});
  }
  table.columns.push_back({"Ratio"});
  for (const std::size_t i : shown_tokens(std::min(times.naive.size(), times.cached.size()))) {
    std::vector<Cell> row{verbatim(std::to_string(i + 1)), printed::time(times.naive[i]),
                          quartiles(times.naive_p25[i], times.naive_p75[i])};
    if (predicted) row.push_back(printed::time(times.naive_predicted[i]));
    row.push_back(printed::time(times.cached[i]));
    row.push_back(quartiles(times.cached_p25[i], times.cached_p75[i]));
    if (predicted) row.push_back(printed::time(times.cached_predicted[i]));
    row.push_back(in(times.naive[i] / times.cached[i], 1, "x"));
    table.rows.push_back(std::move(row));
  }
  return {.heading = "",
          .lines = {"Medians of the repeats. With a cache, the first token is the prefill."},
          .table = std::move(table)};
}

}  // namespace

Document measure_document(const MeasureAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  document.sections.push_back({.heading = answer.headline, .lines = {}, .table = {}});
  if (answer.textbook) document.sections.push_back(textbook_section(answer));
  document.sections.push_back(latency_section(answer));
  if (answer.staircase) document.sections.push_back(staircase_section(*answer.staircase));
  if (answer.prediction) document.sections.push_back(comparison_section(answer));
  document.sections.push_back({.heading = "Notes", .lines = answer.notes, .table = {}});
  return document;
}

}  // namespace roofcast
