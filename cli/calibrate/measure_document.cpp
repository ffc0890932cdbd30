#include "cli/calibrate/measure_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/simulation_rows.hpp"

namespace roofcast {
namespace {

std::string heading(const Measurement& m) {
  const std::size_t layers = m.model.layers.size();
  const std::string part = m.question.layers ? fmt::format(", {} of its layers", layers)
                                             : fmt::format(", {} layers", layers);
  return fmt::format("{}{}, {} random weights, run on {}", m.model.name, part,
                     name_of(m.model.element), m.device.name);
}

Json textbook_json(const runtime::TextbookProfile& profile) {
  return {{"prefill_s", profile.prefill.value},
          {"decode_step_s", profile.decode_step.value},
          {"decode_step_p10_s", profile.decode_p10.value},
          {"decode_step_p90_s", profile.decode_p90.value},
          {"decode_steps", profile.decode_steps},
          {"decode_minimum_s", profile.decode_minimum.value},
          {"decode_efficiency", profile.decode_efficiency}};
}

/// "12.3 ms (predicted 11.9 ms, -3.3 %)"
std::string with_prediction(Seconds measured, std::optional<Seconds> predicted) {
  if (!predicted) return as_time(measured);
  return fmt::format("{} (predicted {}, {:+.1f} %)", as_time(measured), as_time(*predicted),
                     100 * (*predicted / measured - 1));
}

/// The prediction for the same steps: total for prefill, median for decode.
struct PredictedTextbook {
  std::optional<Seconds> prefill{};
  std::optional<Seconds> decode{};
};

PredictedTextbook predicted_textbook(const MeasuredLoop& loop, const runtime::TextbookLoad& load) {
  PredictedTextbook result;
  if (!loop.comparison) return result;
  result.prefill = loop.comparison->prefill.predicted;
  std::vector<double> decodes;
  for (std::size_t i = 0; i < loop.predicted.size(); ++i) {
    if (!runtime::decodes_whole_batch(loop.run.steps[i], load)) continue;
    decodes.push_back(loop.predicted[i].value);
  }
  if (decodes.empty()) return result;
  result.decode = Seconds{median(decodes)};
  return result;
}

void add_textbook(Document& document, const Measurement& m) {
  const runtime::TextbookProfile& profile = *m.textbook;
  document.machine["textbook"] = textbook_json(profile);
  const PredictedTextbook predicted = predicted_textbook(m.cached, {.batch = *m.question.batch});
  const Request& request = m.workload.requests.front();
  const auto batch = static_cast<double>(*m.question.batch);
  Table table{.title = "", .columns = {{"", false}, {"", false}}, .rows = {}};
  table.rows.push_back(
      {"Prefill",
       fmt::format(
           "{}, {} tokens/s", with_prediction(profile.prefill, predicted.prefill),
           fixed(batch * static_cast<double>(request.input_tokens) / profile.prefill.value, 0))});
  if (profile.decode_steps > 0) {
    table.rows.push_back({"Decode step", with_prediction(profile.decode_step, predicted.decode)});
    table.rows.push_back(
        {"  p10 to p90", as_time(profile.decode_p10) + " to " + as_time(profile.decode_p90)});
    table.rows.push_back({"  tokens/s", fixed(batch / profile.decode_step.value, 1)});
    table.rows.push_back(
        {"  least, by weights, KV and bandwidth", as_time(profile.decode_minimum)});
    table.rows.push_back({"  hardware efficiency", as_percent(profile.decode_efficiency)});
  }
  document.sections.push_back(
      {.heading = fmt::format(
           "Batch {}, prompts of {} tokens, {} generated each", with_separators(*m.question.batch),
           with_separators(request.input_tokens), with_separators(request.output_tokens)),
       .lines = {},
       .table = std::move(table)});
}

std::vector<std::string> distribution_row(const std::string& name, const Distribution& d) {
  return {name, as_time(Seconds{d.mean}), as_time(Seconds{d.p50}), as_time(Seconds{d.p90}),
          as_time(Seconds{d.p99})};
}

void add_latencies(Document& document, const Measurement& m) {
  const SimulationResult& result = m.cached.run.result;
  Json& json = document.machine;
  json["requests_completed"] = result.completed;
  json["requests_rejected"] = result.rejected;
  json["steps"] = result.use.steps;
  json["output_tokens_per_s"] = result.output_tokens_per_s;
  json["preemptions"] = result.use.preemptions;
  Table table{.title = "",
              .columns = {{"Latency", false}, {"Mean"}, {"p50"}, {"p90"}, {"p99"}},
              .rows = {}};
  const auto add = [&](const char* name, const char* key, const Distribution& d) {
    if (d.count == 0) return;
    table.rows.push_back(distribution_row(name, d));
    json[key] = {{"mean", d.mean}, {"p50", d.p50}, {"p90", d.p90}, {"p99", d.p99}};
  };
  add("TTFT", "ttft_s", result.ttft);
  add("TPOT", "tpot_s", result.tpot);
  add("E2E", "e2e_s", result.e2e);
  std::vector<std::string> lines{fmt::format(
      "{} requests served in {} steps, {} output tokens/s; waiting for arrivals took no time",
      with_separators(result.completed), with_separators(result.use.steps),
      fixed(result.output_tokens_per_s, 1))};
  if (result.rejected > 0) {
    lines.push_back(with_separators(result.rejected) +
                    " rejected: longer than the engine or its cache takes");
  }
  document.sections.push_back(
      {.heading = m.workload.description, .lines = std::move(lines), .table = std::move(table)});
}

Json summary_json(const runtime::ErrorSummary& errors) {
  return {{"steps", errors.steps},
          {"median_error", errors.median_error},
          {"p95_error", errors.p95_error},
          {"bias", errors.bias},
          {"measured_s", errors.measured.value},
          {"predicted_s", errors.predicted.value}};
}

void add_comparison(Document& document, const Measurement& m) {
  if (!m.cached.comparison) return;
  const runtime::StepComparison& comparison = *m.cached.comparison;
  document.machine["prediction"] = {{"decode", summary_json(comparison.decode)},
                                    {"prefill", summary_json(comparison.prefill)}};
  Table table{.title = "Each step beside the estimate of " + m.deployment.gpu.name,
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
    table.rows.push_back({name, with_separators(errors.steps), as_time(errors.measured),
                          as_time(errors.predicted), fmt::format("{:+.1f} %", 100 * errors.bias),
                          as_percent(errors.median_error), as_percent(errors.p95_error)});
  };
  add("decode", comparison.decode);
  add("with prompt tokens", comparison.prefill);
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
}

/// Rows shown of a staircase: the first tokens, then increasingly few, and the last.
std::vector<std::size_t> shown_tokens(std::size_t count) {
  std::vector<std::size_t> tokens;
  for (std::size_t i = 1; i < count; i *= 2) tokens.push_back(i - 1);
  if (count > 0) tokens.push_back(count - 1);
  return tokens;
}

Json times_of(const std::vector<runtime::TimedStep>& steps) {
  Json times = Json::array();
  for (const runtime::TimedStep& step : steps) times.push_back(step.time.value);
  return times;
}

Json times_of(const std::vector<Seconds>& predicted) {
  Json times = Json::array();
  for (const Seconds time : predicted) times.push_back(time.value);
  return times;
}

void add_staircase(Document& document, const Measurement& m) {
  if (!m.naive) return;
  const auto& naive = *m.naive;
  const auto& cached = m.cached;
  document.machine["staircase"] = {{"naive_token_s", times_of(naive.run.steps)},
                                   {"cached_token_s", times_of(cached.run.steps)},
                                   {"naive_predicted_s", times_of(naive.predicted)},
                                   {"cached_predicted_s", times_of(cached.predicted)}};
  Table table{.title = "The staircase: time of each token",
              .columns = {{"Token"}, {"Naive"}, {"KV cache"}, {"Ratio"}},
              .rows = {}};
  if (m.has_profile) {
    table.columns = {{"Token"}, {"Naive"}, {"predicted"}, {"KV cache"}, {"predicted"}, {"Ratio"}};
  }
  const std::size_t tokens = std::min(naive.run.steps.size(), cached.run.steps.size());
  for (const std::size_t i : shown_tokens(tokens)) {
    const Seconds slow = naive.run.steps[i].time;
    const Seconds fast = cached.run.steps[i].time;
    std::vector<std::string> row{std::to_string(i + 1), as_time(slow)};
    if (m.has_profile) row.push_back(as_time(naive.predicted[i]));
    row.push_back(as_time(fast));
    if (m.has_profile) row.push_back(as_time(cached.predicted[i]));
    row.push_back(fixed(slow / fast, 1) + "x");
    table.rows.push_back(std::move(row));
  }
  document.sections.push_back({.heading = "",
                               .lines = {"The first token of the cached loop is its prefill."},
                               .table = std::move(table)});
}

void add_notes(Document& document, const Measurement& m) {
  std::vector<std::string> notes;
  if (!m.model.left_out.empty()) {
    notes.push_back("not run, being small beside the rest: " + joined(m.model.left_out));
  }
  notes.push_back(
      fmt::format("copy bandwidth of {} just before: {}", m.device.name, as_rate(m.bandwidth)));
  notes.push_back(
      "time is of whole steps: laying out, copying in, all kernels, sampling, copying out");
  const bool decoded = m.textbook && m.textbook->decode_steps > 0;
  if (m.textbook && !decoded && m.workload.requests.front().output_tokens > 1) {
    notes.push_back("no decode step had the whole batch in it: the KV cache has room for fewer");
  }
  if (!m.has_profile) {
    notes.push_back("--gpu PROFILE.json (of roofcast calibrate) puts the estimate beside it");
  }
  document.machine["notes"] = notes;
  document.sections.push_back({.heading = "Notes", .lines = notes, .table = {}});
}

/// The measurement in the form of a simulation of the same scenario.
SimulationRun as_simulation(const Measurement& m) {
  SimulationRun run;
  run.scenario = m.question.scenario;
  PoolRun& pool = run.pools.front();
  pool.deployment = m.deployment;
  pool.profile_hash = m.profile_hash;
  pool.plan.kv_blocks = m.limits.pages + 1;
  run.workload = m.workload;
  run.result = m.cached.run.result;
  return run;
}

}  // namespace

Document measure_document(const Measurement& m) {
  Json inputs = describe(m.deployment);
  inputs["device"] = m.device.name;
  inputs["layers"] = m.model.layers.size();
  inputs["element"] = name_of(m.model.element);
  inputs["kv_pages"] = m.limits.pages;
  Document document{.machine = envelope("measure", std::move(inputs)), .sections = {}};
  document.machine["copy_bandwidth_bytes_per_s"] = m.bandwidth.value;
  document.sections.push_back({.heading = heading(m), .lines = {}, .table = {}});
  if (m.textbook) add_textbook(document, m);
  add_latencies(document, m);
  add_staircase(document, m);
  add_comparison(document, m);
  add_notes(document, m);
  return document;
}

Run measure_row(const Measurement& m, const std::string& command_line, bool keep_requests) {
  Run run = simulation_row(as_simulation(m), command_line, keep_requests);
  run.row.kind = "measure";
  run.row.engine = "roofcast";
  const auto add = [&](const char* name, double value) {
    run.metrics.push_back({name, "value", value});
  };
  add("copy_bandwidth_bytes_per_s", m.bandwidth.value);
  if (m.textbook) {
    add("prefill_s", m.textbook->prefill.value);
    add("decode_step_s", m.textbook->decode_step.value);
    add("decode_minimum_s", m.textbook->decode_minimum.value);
    add("decode_efficiency", m.textbook->decode_efficiency);
  }
  return run;
}

}  // namespace roofcast
