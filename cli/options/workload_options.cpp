#include "cli/options/workload_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "cli/options/flag_values.hpp"

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

/// The first flag given that is about a trace; null when there is none.
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

/// At most one of the three ways to say how fast a trace is replayed; it replaces the scenario's.
void apply_trace_rate(const WorkloadOptions& options, TraceWorkload& trace) {
  const int given =
      (options.time_scale ? 1 : 0) + (options.rate_scale ? 1 : 0) + (options.trace_rate ? 1 : 0);
  if (given == 0) return;
  if (given > 1) {
    throw UsageError("--time-scale, --rate-scale and --trace-rate exclude each other");
  }
  trace.time_scale = options.time_scale.value_or(1.0);
  trace.rate_scale = options.rate_scale;
  trace.request_rate = options.trace_rate;
}

bool is_synthetic(const WorkloadOptions& options) {
  return options.num_prompts || options.request_rate || options.burstiness || options.input ||
         options.output || is_given(options.shape);
}

void apply_trace(const WorkloadOptions& options, Scenario& scenario) {
  TraceWorkload trace;
  if (const auto* given = std::get_if<TraceWorkload>(&scenario.workload)) trace = *given;
  if (options.trace) trace.path = *options.trace;
  if (trace.path.empty()) {
    throw UsageError(fmt::format("{}: given without --trace", trace_flag(options)));
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

/// Requests that all arrive at once have no gaps to shape.
void refuse_idle_burstiness(const WorkloadOptions& options, const SyntheticWorkload& synthetic) {
  const bool at_once =
      std::holds_alternative<SteadyRate>(synthetic.pattern) && std::isinf(synthetic.request_rate);
  if (at_once && options.burstiness.value_or(1) != 1) {
    throw UsageError("--burstiness: given without a rate (--request-rate): all arrive at once");
  }
}

void apply_synthetic(const WorkloadOptions& options, Scenario& scenario) {
  SyntheticWorkload synthetic;
  if (const auto* given = std::get_if<SyntheticWorkload>(&scenario.workload)) synthetic = *given;
  if (options.num_prompts) synthetic.num_prompts = *options.num_prompts;
  if (options.request_rate) {
    if (has_pattern(options.shape)) {
      throw UsageError(
          "--request-rate and a rate that changes (--ramp-up-strategy, --stages, --cycle, "
          "--diurnal) exclude each other");
    }
    synthetic.request_rate = *options.request_rate;
    synthetic.pattern = SteadyRate{};
  }
  if (options.burstiness) synthetic.burstiness = *options.burstiness;
  if (options.input) synthetic.input = *options.input;
  if (options.output) synthetic.output = *options.output;
  apply(options.shape, options.num_prompts.has_value(), synthetic);
  refuse_idle_burstiness(options, synthetic);
  scenario.workload = synthetic;
}

}  // namespace

po::options_description synthetic_options(WorkloadOptions& target) {
  po::options_description options = option_group("Synthetic load");
  options.add_options()(
      "num-prompts",
      converted(target.num_prompts, "--num-prompts", parse_positive)->value_name("N"),
      "requests, or sessions (default 1000)")(
      "request-rate", converted(target.request_rate, "--request-rate", parse_rate)->value_name("R"),
      "requests a second; inf: all at once (default inf)")(
      "burstiness", converted(target.burstiness, "--burstiness", parse_burstiness)->value_name("B"),
      "gamma shape of gaps; 1 Poisson, below burstier (default 1)")(
      "input-len",
      converted(target.input, "--input-len", naming_flag(parse_length_distribution))
          ->value_name("LENGTHS"),
      "N, uniform:a:b, normal:mean:sd, lognormal:median:sigma or empirical:FILE (default 1024)")(
      "output-len",
      converted(target.output, "--output-len", naming_flag(parse_length_distribution))
          ->value_name("LENGTHS"),
      "likewise (default 128)")("seed",
                                converted(target.seed, "--seed", parse_seed)->value_name("N"),
                                "seed of all random streams (default 0)");
  return options;
}

po::options_description trace_options(WorkloadOptions& target) {
  po::options_description options = option_group("Trace");
  options.add_options()("trace", converted(target.trace, "--trace", parse_text)->value_name("FILE"),
                        "CSV, JSONL or benchmark result; more: roofcast trace --help")(
      "max-requests",
      converted(target.max_requests, "--max-requests", parse_positive)->value_name("N"),
      "the first N of the trace (default: all)")(
      "time-scale",
      converted(target.time_scale, "--time-scale", parse_positive_number)->value_name("X"),
      "factor on arrival times, not on pauses within sessions; 0.5: twice the rate (default 1)")(
      "skip-bad-rows", po::bool_switch(&target.skip_bad_rows),
      "count and skip rows that cannot be read");
  return options;
}

po::options_description trace_form_options(WorkloadOptions& target) {
  po::options_description options = option_group("More of the trace");
  options.add_options()(
      "rate-scale",
      converted(target.rate_scale, "--rate-scale", parse_positive_number)->value_name("X"),
      "factor on the request rate, in place of --time-scale")(
      "trace-rate",
      converted(target.trace_rate, "--trace-rate", parse_positive_number)->value_name("R"),
      "scale to R requests a second on average")(
      "trace-format",
      converted(target.trace_format, "--trace-format", parse_format)->value_name("FORMAT"),
      "csv, jsonl or bench (default: auto, by content)")(
      "trace-columns",
      converted(target.trace_columns, "--trace-columns", naming_flag(parse_trace_columns))
          ->value_name("KEY=NAME,..."),
      "what columns are called, as time=Start,class=Type")(
      "trace-time-unit",
      converted(target.trace_time_unit, "--trace-time-unit", parse_unit)->value_name("UNIT"),
      "s, ms, us or ns (default: by column)")(
      "trace-block-size",
      converted(target.trace_block_size, "--trace-block-size", parse_positive)->value_name("N"),
      "tokens of one hash id (default 512; weka 64)")("drop-failed",
                                                      po::bool_switch(&target.drop_failed),
                                                      "leave out requests that generated nothing");
  return options;
}

po::options_description objective_options(WorkloadOptions& target) {
  po::options_description options = option_group("Client and SLO");
  options.add_options()(
      "max-concurrency",
      converted(target.max_concurrency, "--max-concurrency", parse_positive)->value_name("N"),
      "requests in flight at once (default: no limit)")(
      "goodput", po::value(&target.goodput)->multitoken()->value_name("METRIC:MS ..."),
      "limits of a good request, as ttft:500 tpot:50")(
      "slo", po::value(&target.slo)->multitoken()->value_name("pNN:METRIC:TIME ..."),
      "targets of all requests, as p95:ttft:500ms p95:tpot:50ms; exit 3 when missed or saturated");
  return options;
}

void apply(const WorkloadOptions& options, Scenario& scenario) {
  const bool traced = trace_flag(options) != nullptr;
  if (traced && is_synthetic(options)) {
    throw UsageError(
        "--trace and synthetic load (--request-rate, --input-len ...) exclude each other");
  }
  if (traced) apply_trace(options, scenario);
  if (is_synthetic(options)) apply_synthetic(options, scenario);
  if (options.max_concurrency) scenario.max_concurrency = options.max_concurrency;
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
