#include "planner/flags/workload_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

std::uint64_t parse_seed(const std::string& text, const std::string& flag) {
  if (const auto seed = to_number<std::uint64_t>(text)) return *seed;
  throw UsageError(flag + ": '" + text + "' is not a whole number from 0 to 2^64 - 1");
}

double parse_burstiness(const std::string& text, const std::string& flag) {
  return parse_number_by({.what = "gamma shape of gaps",
                          .examples = "1, 0.5, inf",
                          .min = kMinBurstiness,
                          .max = std::numeric_limits<double>::infinity(),
                          .allow_infinite = true},
                         text, flag);
}

std::int64_t parse_max_tokens(const std::string& text, const std::string& flag) {
  if (text == "none") return kNoMaxTokens;
  return parse_count_by(
      {.what = "count of tokens, or none", .examples = "4096, none", .min = 1, .max = kMaxTokens},
      text, flag);
}

TraceFormat parse_format(const std::string& text, const std::string& flag) {
  const auto format = parse_trace_format(text);
  if (!format) throw UsageError(flag + ": '" + text + "' is not auto, csv, jsonl or bench");
  return *format;
}

TraceTimeUnit parse_unit(const std::string& text, const std::string& flag) {
  const auto unit = parse_trace_time_unit(text);
  if (!unit) throw UsageError(flag + ": '" + text + "' is not s, ms, us or ns");
  return *unit;
}

/// The first given flag that concerns a trace; null if there is none.
const char* trace_flag(const WorkloadOptions& options) {
  struct Flag {
    bool given;
    const char* name;
  };
  const std::array flags{Flag{options.trace.has_value(), "--trace"},
                         Flag{options.max_requests.has_value(), "--max-requests"},
                         Flag{options.time_scale.has_value(), "--time-scale"},
                         Flag{options.rate_scale.has_value(), "--rate-scale"},
                         Flag{options.trace_rate.has_value(), "--trace-rate"},
                         Flag{options.trace_format.has_value(), "--trace-format"},
                         Flag{options.trace_columns.has_value(), "--trace-columns"},
                         Flag{options.trace_time_unit.has_value(), "--trace-time-unit"},
                         Flag{options.trace_block_size.has_value(), "--trace-block-size"},
                         Flag{options.skip_bad_rows, "--skip-bad-rows"},
                         Flag{options.drop_failed, "--drop-failed"}};
  const auto* given =
      std::find_if(flags.begin(), flags.end(), [](const Flag& flag) { return flag.given; });
  return given == flags.end() ? nullptr : given->name;
}

/// Applies at most one of the three flags for a trace's replay rate; it replaces the scenario's.
void apply_trace_rate(const WorkloadOptions& options, TraceWorkload& trace) {
  const int given =
      (options.time_scale ? 1 : 0) + (options.rate_scale ? 1 : 0) + (options.trace_rate ? 1 : 0);
  if (given == 0) return;
  if (given > 1) {
    throw UsageError("--time-scale, --rate-scale and --trace-rate are mutually exclusive");
  }
  trace.time_scale = options.time_scale.value_or(1.0);
  trace.rate_scale = options.rate_scale;
  trace.request_rate = options.trace_rate;
}

void apply_trace(const WorkloadOptions& options, Scenario& scenario) {
  TraceWorkload trace;
  if (const auto* given = std::get_if<TraceWorkload>(&scenario.workload)) trace = *given;
  if (options.trace) {
    trace.path = *options.trace;
    trace.bytes = options.trace_bytes;
  }
  if (trace.path.empty()) {
    throw UsageError(fmt::format("{}: needs --trace", trace_flag(options)));
  }
  if (options.max_requests) trace.max_requests = *options.max_requests;
  if (options.trace_format) trace.format = *options.trace_format;
  if (options.trace_columns) trace.columns = *options.trace_columns;
  if (options.trace_time_unit) trace.time_unit = options.trace_time_unit;
  if (options.trace_block_size) trace.block_size = options.trace_block_size;
  apply_trace_rate(options, trace);
  if (options.skip_bad_rows) trace.skip_bad_rows = true;
  if (options.drop_failed) trace.drop_failed = true;
  scenario.workload = trace;
}

std::int64_t parse_requests(const std::string& text, const std::string& flag) {
  return parse_count_by(
      {.what = "number of requests", .examples = "1000, 20k", .min = 1, .max = kMaxRequests}, text,
      flag);
}

/// Requests that all arrive at once have no gaps to shape.
void refuse_idle_burstiness(const WorkloadOptions& options, const SyntheticWorkload& synthetic) {
  const bool at_once =
      std::holds_alternative<SteadyRate>(synthetic.pattern) && std::isinf(synthetic.request_rate);
  if (at_once && options.burstiness.value_or(1) != 1) {
    throw UsageError(
        "--burstiness: needs a rate (--request-rate); otherwise all requests arrive at once");
  }
}

void apply_synthetic(const WorkloadOptions& options, Scenario& scenario) {
  SyntheticWorkload synthetic;
  if (const auto* given = std::get_if<SyntheticWorkload>(&scenario.workload)) synthetic = *given;
  if (options.num_prompts) synthetic.num_prompts = *options.num_prompts;
  if (options.request_rate) {
    if (has_pattern(options.shape)) {
      throw UsageError(
          "--request-rate excludes a varying rate (--ramp-up-strategy, --stages, --cycle, "
          "--diurnal)");
    }
    synthetic.request_rate = *options.request_rate;
    synthetic.pattern = SteadyRate{};
  }
  if (options.burstiness) synthetic.burstiness = *options.burstiness;
  if (options.input) synthetic.input = *options.input;
  if (options.output) {
    synthetic.output = *options.output;
    synthetic.states_output = true;
  }
  apply(options.shape, options.num_prompts.has_value(), synthetic);
  refuse_idle_burstiness(options, synthetic);
  scenario.workload = synthetic;
}

using W = WorkloadOptions;

}  // namespace

bool is_synthetic(const WorkloadOptions& options) {
  return options.num_prompts || options.request_rate || options.burstiness || options.input ||
         options.output || is_given(options.shape);
}

const Flags<WorkloadOptions>& synthetic_flags() {
  static const std::string input_help = fmt::format(
      "N, uniform:a:b, normal:mean:sd, lognormal:median:sigma or empirical:FILE (default {})",
      kDefaultInputTokens);
  static const std::string output_help =
      fmt::format("same forms as --input-len (default {}, pooled 1)", kDefaultOutputTokens);
  static const Flags<W> flags = {
      {.name = "num-prompts",
       .placeholder = "N",
       .help = "requests, or sessions (default: as many as a verdict needs)",
       .read = into(&W::num_prompts, parse_requests),
       .place = "workload.num_prompts",
       .aliases = {"--num-requests"}},
      {.name = "request-rate",
       .placeholder = "R",
       .help = "requests/s, or sessions/s with --turns (default inf)",
       .read = into(&W::request_rate, parse_rate),
       .place = "workload.request_rate"},
      {.name = "burstiness",
       .placeholder = "B",
       .help = "gamma shape of the gaps; 1: Poisson, less: burstier (default 1)",
       .read = into(&W::burstiness, parse_burstiness),
       .place = "workload.burstiness"},
      {.name = "input-len",
       .placeholder = "LENGTHS",
       .help = input_help,
       .read = into(&W::input, naming_flag(parse_length_distribution)),
       .place = "workload.input_len",
       .aliases = {"--isl", "--random-input-len", "--gsp-question-len",
                   "--prefix-repetition-suffix-len"}},
      {.name = "output-len",
       .placeholder = "LENGTHS",
       .help = output_help,
       .read = into(&W::output, naming_flag(parse_length_distribution)),
       .place = "workload.output_len",
       .aliases = {"--osl", "--random-output-len", "--gsp-output-len",
                   "--prefix-repetition-output-len"}},
      {.name = "seed",
       .placeholder = "N",
       .help = "seed of all random streams (default 0)",
       .read = into(&W::seed, parse_seed),
       .place = "seed"}};
  return flags;
}

const Flags<WorkloadOptions>& trace_flags() {
  static const Flags<W> flags = {
      {.name = "trace",
       .placeholder = "FILE",
       .help = "CSV, JSONL or benchmark result; more: roofcast trace --help",
       .read = into(&W::trace, parse_text),
       .place = "workload.path"},
      {.name = "max-requests",
       .placeholder = "N",
       .help = "only the first N requests of the trace (default: all)",
       .read = into(&W::max_requests, parse_positive),
       .place = "workload.max_requests"},
      {.name = "time-scale",
       .placeholder = "X",
       .help = "factor on arrival times, not on think times of sessions; 0.5 doubles the rate "
               "(default 1)",
       .read = into(&W::time_scale, parse_positive_number),
       .place = "workload.time_scale"},
      {.name = "skip-bad-rows",
       .help = "skip and count unreadable rows",
       .read = set_to(&W::skip_bad_rows, true),
       .form = FlagForm::toggle,
       .place = "workload.skip_bad_rows"}};
  return flags;
}

const Flags<WorkloadOptions>& trace_form_flags() {
  static const Flags<W> flags = {{.name = "rate-scale",
                                  .placeholder = "X",
                                  .help = "factor on the request rate, instead of --time-scale",
                                  .read = into(&W::rate_scale, parse_positive_number),
                                  .place = "workload.rate_scale"},
                                 {.name = "trace-rate",
                                  .placeholder = "R",
                                  .help = "rescale to R requests per second on average",
                                  .read = into(&W::trace_rate, parse_positive_number),
                                  .place = "workload.request_rate"},
                                 {.name = "trace-format",
                                  .placeholder = "FORMAT",
                                  .help = "csv, jsonl or bench (default: auto, by content)",
                                  .read = into(&W::trace_format, parse_format),
                                  .place = "workload.format"},
                                 {.name = "trace-columns",
                                  .placeholder = "KEY=NAME,...",
                                  .help = "names of the columns, such as time=Start,class=Type",
                                  .read = into(&W::trace_columns, naming_flag(parse_trace_columns)),
                                  .place = "workload.columns"},
                                 {.name = "trace-time-unit",
                                  .placeholder = "UNIT",
                                  .help = "s, ms, us or ns (default: by column)",
                                  .read = into(&W::trace_time_unit, parse_unit),
                                  .place = "workload.time_unit"},
                                 {.name = "trace-block-size",
                                  .placeholder = "N",
                                  .help = "tokens per hash id (default 512; weka 64)",
                                  .read = into(&W::trace_block_size, parse_positive),
                                  .place = "workload.trace_block_size"},
                                 {.name = "drop-failed",
                                  .help = "leave out requests without output tokens",
                                  .read = set_to(&W::drop_failed, true),
                                  .form = FlagForm::toggle,
                                  .place = "workload.drop_failed"}};
  return flags;
}

const Flags<WorkloadOptions>& objective_flags() {
  static const Flags<W> flags = {
      {.name = "max-concurrency",
       .placeholder = "N",
       .help = "users at once: requests in flight at most (default: no limit)",
       .read = into(&W::max_concurrency, parse_positive),
       .place = "max_concurrency"},
      {.name = "max-tokens",
       .placeholder = "N",
       .help = "max_tokens that clients declare (default: their output) or none",
       .read = into(&W::max_tokens, parse_max_tokens),
       .place = "max_tokens"},
      {.name = "goodput",
       .placeholder = "METRIC:MS ...",
       .help = "limits of a good request, such as ttft:500 tpot:50",
       .read = added_to(&W::goodput),
       .form = FlagForm::list,
       .place = "slo.goodput"},
      {.name = "slo",
       .placeholder = "pNN:METRIC:TIME ...",
       .help = "SLO over all requests, such as p95:ttft:500ms "
               "p95:tpot:50ms; exit code 3 if missed",
       .read = added_to(&W::slo),
       .form = FlagForm::list,
       .place = "slo.targets"}};
  return flags;
}

void apply(const WorkloadOptions& options, Scenario& scenario) {
  const bool traced = trace_flag(options) != nullptr;
  if (traced && is_synthetic(options)) {
    throw UsageError(
        "--trace and synthetic load (--request-rate, --input-len ...) are mutually exclusive");
  }
  if (traced) apply_trace(options, scenario);
  if (is_synthetic(options)) apply_synthetic(options, scenario);
  if (options.max_concurrency) scenario.max_concurrency = options.max_concurrency;
  if (options.max_tokens) scenario.max_tokens = options.max_tokens;
  if (options.seed) scenario.seed = *options.seed;
  if (!options.goodput.empty()) scenario.slo.goodput.clear();
  for (const std::string& text : options.goodput) {
    scenario.slo.goodput.push_back(naming_flag(parse_goodput_limit)(text, "--goodput"));
  }
  if (options.slo.empty()) return;
  scenario.slo.classes.clear();
  scenario.slo.targets.clear();
  for (const std::string& text : options.slo) {
    scenario.slo.targets.push_back(naming_flag(parse_percentile_target)(text, "--slo"));
  }
}

}  // namespace roofcast
