#include "roofcast/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "calibrate/device_choice.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "roofcast/record_parts.hpp"

namespace roofcast {

// ---- the record

namespace runtime {

template <class Visitor>
void members(Visitor& visit, TextbookProfile& profile) {
  visit("repeats", profile.repeats, "runs of the load");
  visit("prefill_s", profile.prefill, "all prompts of the batch, median of the repeats");
  visit("prefill_p25_s", profile.prefill_p25, "lower quartile of the repeats");
  visit("prefill_p75_s", profile.prefill_p75, "upper quartile of the repeats");
  visit("decode_step_s", profile.decode_step, "of the whole batch, median");
  visit("decode_step_p10_s", profile.decode_p10, "of the whole batch");
  visit("decode_step_p25_s", profile.decode_p25, "of the whole batch");
  visit("decode_step_p75_s", profile.decode_p75, "of the whole batch");
  visit("decode_step_p90_s", profile.decode_p90, "of the whole batch");
  visit("decode_steps", profile.decode_steps, "of the whole batch, in all repeats");
  visit("decode_minimum_s", profile.decode_minimum,
        "to read weights and KV once at the memory bandwidth");
  visit("decode_efficiency", profile.decode_efficiency, "decode_minimum_s / decode_step_s");
}

template <class Visitor>
void members(Visitor& visit, ErrorSummary& errors) {
  visit("steps", errors.steps, "compared");
  visit("median_error", errors.median_error, "of the absolute relative errors");
  visit("p95_error", errors.p95_error, "of the absolute relative errors");
  visit("bias", errors.bias, "predicted_s / measured_s - 1");
  visit("measured_s", errors.measured, "sum");
  visit("predicted_s", errors.predicted, "sum");
}

template <class Visitor>
void members(Visitor& visit, StepComparison& comparison) {
  visit("decode", comparison.decode, "steps without prompt tokens");
  visit("prefill", comparison.prefill, "the others");
}

}  // namespace runtime

template <class Visitor>
void members(Visitor& visit, MeasureInputs& inputs) {
  members(visit, inputs.deployment);
  visit("device", inputs.device, "that the model ran on");
  visit("layers", inputs.layers, "that ran");
  visit("weights", inputs.weights, "number formats of the matrices, by falling bytes");
  visit("element", inputs.element, "number format of activations and KV");
  visit("kv_pages", inputs.kv_pages, "of the KV cache");
}

template <class Visitor>
void members(Visitor& visit, MeasuredStaircase& staircase) {
  visit("naive_token_s", staircase.naive,
        "time of each token without a KV cache, median of the repeats");
  visit("naive_token_p25_s", staircase.naive_p25, "lower quartile");
  visit("naive_token_p75_s", staircase.naive_p75, "upper quartile");
  visit("cached_token_s", staircase.cached, "with one; of the first token, its prefill");
  visit("cached_token_p25_s", staircase.cached_p25, "lower quartile");
  visit("cached_token_p75_s", staircase.cached_p75, "upper quartile");
  visit("equal_tokens", staircase.equal_tokens,
        "generated alike by both loops before the first difference");
  visit("naive_predicted_s", staircase.naive_predicted, "empty without a profile");
  visit("cached_predicted_s", staircase.cached_predicted, "empty without a profile");
}

template <class Visitor>
void members(Visitor& visit, MeasureAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as understood, every knob resolved");
  visit("copy_bandwidth_bytes_per_s", answer.copy_bandwidth,
        "of the device's memory: copied, or read where that is faster");
  visit.if_set("textbook", answer.textbook, "of equal requests at once");
  visit("requests_completed", answer.completed, "requests");
  visit("requests_rejected", answer.rejected, "longer than the engine or its cache takes");
  visit("repeats", answer.repeats,
        "measured runs of the load; of all but the textbook figures "
        "and the staircase, the one of median time is shown");
  visit("warm_ups", answer.warm_ups, "runs before them");
  visit("steps", answer.steps, "of the engine, in one run");
  visit("output_tokens_per_s", answer.output_tokens_per_s, "over the run");
  visit("preemptions", answer.preemptions, "requests that lost their KV blocks");
  visit_latency(visit, "ttft_s", answer.ttft, "time to the first token");
  visit_latency(visit, "tpot_s", answer.tpot, "time per output token after the first");
  visit_latency(visit, "e2e_s", answer.e2e, "from sent to finished");
  visit.if_set("staircase", answer.staircase, "the same request without and with a KV cache");
  visit.if_set("prediction", answer.prediction, "each step beside the estimate of the profile");
  visit("notes", answer.notes, "for people");
}

namespace {

constexpr const char* kMeasureCommand = "measure";

std::string headline_of(const Measurement& m) {
  const std::size_t layers = m.model.layers.size();
  const std::string part = m.task.layers ? fmt::format(", {} of its layers", layers)
                                         : fmt::format(", {} layers", layers);
  return fmt::format("{}{}, {} {}weights, run on {}", m.model.name, part,
                     runtime::weight_format_text(m.model), m.weights_file.empty() ? "random " : "",
                     m.device.name);
}

MeasureInputs inputs_of(const Measurement& m) {
  return {.deployment = inputs_of(m.deployment),
          .device = m.device.name,
          .layers = std::ssize(m.model.layers),
          .weights = runtime::weight_format_text(m.model),
          .element = std::string(name_of(m.model.element)),
          .kv_pages = m.limits.pages};
}

std::optional<Distribution> latency_of(const Distribution& d) {
  return d.count == 0 ? std::nullopt : std::optional(d);
}

/// A quantile over the repeats, of each step.
std::vector<Seconds> times_of(const MeasuredLoop& loop, double q) {
  std::vector<Seconds> times;
  for (std::size_t step = 0; step < loop.run.steps.size(); ++step) {
    std::vector<double> samples;
    for (const auto& repeat : loop.repeats) samples.push_back(repeat.at(step).time.value);
    times.emplace_back(quantile(sorted(samples), q));
  }
  return times;
}

std::int64_t equal_tokens(const Measurement& m) {
  const auto& naive = m.naive->run.sequences;
  const auto& cached = m.cached.run.sequences;
  if (naive.empty() || cached.empty()) return 0;
  const auto& a = naive.begin()->second;
  const auto& b = cached.begin()->second;
  const auto same = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  return std::max<std::int64_t>(0, same - m.workload.requests.front().input_tokens);
}

std::optional<MeasuredStaircase> staircase_of(const Measurement& m) {
  if (!m.naive) return std::nullopt;
  return MeasuredStaircase{.naive = times_of(*m.naive, 0.5),
                           .cached = times_of(m.cached, 0.5),
                           .naive_p25 = times_of(*m.naive, 0.25),
                           .naive_p75 = times_of(*m.naive, 0.75),
                           .cached_p25 = times_of(m.cached, 0.25),
                           .cached_p75 = times_of(m.cached, 0.75),
                           .naive_predicted = m.naive->predicted,
                           .cached_predicted = m.cached.predicted,
                           .equal_tokens = equal_tokens(m)};
}

/// The prediction for the same steps: total for prefill, median for decode.
void predict_textbook(const MeasuredLoop& loop, MeasureAnswer& answer) {
  if (!loop.comparison) return;
  answer.predicted_prefill = loop.comparison->prefill.predicted;
  std::vector<double> decodes;
  for (std::size_t i = 0; i < loop.predicted.size(); ++i) {
    if (!runtime::decodes_whole_batch(loop.run.steps[i], {.batch = answer.batch})) continue;
    decodes.push_back(loop.predicted[i].value);
  }
  if (!decodes.empty()) answer.predicted_decode = Seconds{median(decodes)};
}

/// Whether the two loops generated the same.
std::string tokens_note(const Measurement& m) {
  const std::int64_t generated = m.workload.requests.front().output_tokens;
  const std::int64_t equal = equal_tokens(m);
  if (equal >= generated) {
    return "both loops generated the same tokens: K and V of old tokens do not change, so nothing "
           "is lost by keeping them";
  }
  return fmt::format(
      "the loops differ from generated token {} on: their kernels round differently in {}, which "
      "decides between close logits of random weights (fp32 rounds less: `dtype` fp32)",
      with_separators(equal + 1), name_of(m.model.element));
}

std::vector<std::string> notes_of(const Measurement& m) {
  std::vector<std::string> notes;
  if (!m.model.left_out.empty()) {
    notes.push_back("not run, because small compared with the rest: " + joined(m.model.left_out));
  }
  if (!m.weights_file.empty()) notes.push_back("weights of " + m.weights_file + ", as stored");
  if (!m.why_random_weights.empty()) notes.push_back(m.why_random_weights);
  notes.push_back(
      fmt::format("memory bandwidth of {} just before: {}", m.device.name, as_rate(m.bandwidth)));
  notes.emplace_back(
      "times are of whole steps: layout, copying in, all kernels, sampling, copying out");
  const bool decoded = m.textbook && m.textbook->decode_steps > 0;
  if (m.textbook && !decoded && m.workload.requests.front().output_tokens > 1) {
    notes.emplace_back(
        "no decode step had the whole batch: the KV cache has room for fewer sequences");
  }
  if (m.naive) notes.push_back(tokens_note(m));
  if (!m.has_profile) {
    notes.emplace_back(
        "`gpu` PROFILE.json (from roofcast calibrate) adds the estimate for comparison");
  }
  return notes;
}

MeasureAnswer answer_of(const Measurement& m) {
  const SimulationResult& result = m.cached.run.result;
  const Request first = m.workload.requests.empty() ? Request{} : m.workload.requests.front();
  MeasureAnswer answer{.head = answer_head(kMeasureCommand),
                       .inputs = inputs_of(m),
                       .copy_bandwidth = m.bandwidth,
                       .textbook = m.textbook,
                       .completed = result.completed,
                       .rejected = result.rejected,
                       .repeats = std::ssize(m.cached.repeats),
                       .warm_ups = m.task.batch ? m.task.warm_ups : 0,
                       .steps = result.use.steps,
                       .output_tokens_per_s = result.output_tokens_per_s,
                       .preemptions = result.use.preemptions,
                       .ttft = latency_of(result.ttft),
                       .tpot = latency_of(result.tpot),
                       .e2e = latency_of(result.e2e),
                       .staircase = staircase_of(m),
                       .prediction = m.cached.comparison,
                       .notes = notes_of(m),
                       .headline = headline_of(m),
                       .workload = m.workload.description,
                       .batch = m.task.batch.value_or(0),
                       .prompt_tokens = first.input_tokens,
                       .output_tokens = first.output_tokens};
  if (answer.textbook) predict_textbook(m.cached, answer);
  return answer;
}

/// The measurement in the form of a simulation of the same scenario.
SimulationRun as_simulation(const Measurement& m) {
  SimulationRun run;
  run.scenario = m.task.scenario;
  // Empty, it would be read as the default; what runs then is another engine.
  std::string& engine = run.scenario.deployment.engine;
  if (engine.empty()) engine = m.deployment.engine.name;
  PoolRun& pool = run.pools.front();
  pool.deployment = m.deployment;
  pool.profile_hash = m.profile_hash;
  pool.plan.kv_blocks = m.limits.pages + 1;
  run.workload = m.workload;
  run.result = m.cached.run.result;
  return run;
}

}  // namespace

std::optional<MeasureOutcome> measure_with_requests(const MeasureQuestion& question,
                                                    const Progress& progress) {
  const auto backend = open_device(question.device, question.threads);
  bool goes_on = true;
  MeasureOutcome outcome{.measurement = run_measurement(
                             *backend, question, [&](std::int64_t done, std::int64_t total) {
                               goes_on = goes_on && (!progress || progress(done, total));
                               return goes_on;
                             })};
  const std::int64_t requests =
      outcome.measurement.loops * std::ssize(outcome.measurement.workload.requests);
  if (!goes_on || (progress && !progress(requests, requests))) return std::nullopt;
  outcome.answer = answer_of(outcome.measurement);
  return outcome;
}

std::optional<MeasureAnswer> measure(const MeasureQuestion& question, const Progress& progress) {
  auto outcome = measure_with_requests(question, progress);
  if (!outcome) return std::nullopt;
  return std::move(outcome->answer);
}

Run measure_row(const Measurement& m, const std::string& command_line, bool keep_requests) {
  Run run = simulation_row(as_simulation(m), command_line, keep_requests);
  run.row.kind = "measure";
  run.row.engine = "roofcast";
  const auto add = [&](const std::string& name, double value,
                       const std::string& statistic = "value") {
    run.metrics.push_back({name, statistic, value});
  };
  add("copy_bandwidth_bytes_per_s", m.bandwidth.value);
  if (m.textbook) {
    add("prefill_s", m.textbook->prefill.value);
    add("prefill_s", m.textbook->prefill_p25.value, "p25");
    add("prefill_s", m.textbook->prefill_p75.value, "p75");
    add("decode_step_s", m.textbook->decode_step.value);
    add("decode_step_s", m.textbook->decode_p25.value, "p25");
    add("decode_step_s", m.textbook->decode_p75.value, "p75");
    add("decode_minimum_s", m.textbook->decode_minimum.value);
    add("decode_efficiency", m.textbook->decode_efficiency);
  }
  if (const auto staircase = staircase_of(m)) {
    const auto add_loop = [&](const std::string& name, const auto& p25, const auto& p50,
                              const auto& p75) {
      for (std::size_t i = 0; i < p50.size(); ++i) {
        const std::string token = fmt::format("token_{:06}", i + 1);
        add(name, p25[i].value, token + "_p25");
        add(name, p50[i].value, token);
        add(name, p75[i].value, token + "_p75");
      }
    };
    add_loop("naive_token_s", staircase->naive_p25, staircase->naive, staircase->naive_p75);
    add_loop("cached_token_s", staircase->cached_p25, staircase->cached, staircase->cached_p75);
    add("equal_tokens", static_cast<double>(staircase->equal_tokens));
  }
  return run;
}

Json to_json(const MeasureAnswer& answer) { return record_to_json(answer); }

MeasureAnswer measure_answer_from_json(const Json& json) {
  return answer_from_json<MeasureAnswer>(json, kMeasureCommand);
}

Json measure_answer_schema() {
  return schema_document<MeasureAnswer>("What roofcast measure answers");
}

}  // namespace roofcast
