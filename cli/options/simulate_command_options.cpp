#include "cli/options/simulate_command_options.hpp"

#include <utility>

#include "base/error.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {

void add_scenario_options(SimulateOptions& target, po::options_description& common,
                          po::options_description& more) {
  common.add(machine_options(target.deployment))
      .add(synthetic_options(target.workload))
      .add(trace_options(target.workload))
      .add(objective_options(target.workload))
      .add(cluster_options(target.cluster))
      .add(engine_options(target.deployment));
  more.add(from_command_option(target.from_command))
      .add(load_shape_options(target.workload.shape))
      .add(trace_form_options(target.workload))
      .add(pricing_options(target.pricing))
      .add(scheduler_options(target.deployment))
      .add(feature_options(target.deployment.overrides));
}

Usage simulate_usage(SimulateOptions& target) {
  Usage usage{.synopsis = "roofcast simulate [SCENARIO.json] [--from-cmd LINE] [options]",
              .example =
                  "roofcast simulate --model llama-3.1-8b --gpu h100 --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = option_group("Result"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("scenario", po::value(&target.scenario_path)->value_name("FILE"),
                              "scenario file; flags override it")(
      "store", po::value(&target.store_path)->value_name("FILE"),
      "the SQLite store (default roofcast.db)")(
      "no-store", po::bool_switch()->notifier([&target](bool off) { target.store = !off; }),
      "do not store the run")("keep-requests", po::bool_switch(&target.keep_requests),
                              "store every request too")(
      "requests-out", po::value(&target.requests_out)->value_name("FILE"),
      "one row per request, .csv or .jsonl");
  target.question.intervals = Intervals::of_small_loads;
  usage.unlisted.add_options()("no-intervals", po::bool_switch(&target.no_intervals),
                               "skip the 30 further simulations behind the intervals");
  add_flags(usage.options, simulation_flags(), target.question);
  add_flags(usage.unlisted, interval_flags(), target.question);
  add_scenario_options(target, usage.options, usage.unlisted);
  usage.more =
      "More: --from-cmd LINE, load shapes (--stages, --turns ...), trace formats, scheduler "
      "knobs,\n"
      "speculative decoding, LoRA adapters, KV offloading to host memory";
  usage.positional.add("scenario", 1);
  return usage;
}

namespace {

/// Rejects `simulate t.csv`: a trace in place of a scenario.
void refuse_trace(const std::string& path) {
  const bool trace = path.ends_with(".csv") || path.ends_with(".jsonl") || path.ends_with(".gz");
  if (!trace) return;
  throw UsageError(path + ": is not a scenario file (JSON); to replay a trace use --trace " + path);
}

}  // namespace

Scenario simulate_scenario(const SimulateOptions& options) {
  Scenario scenario;
  if (!options.scenario_path.empty()) {
    refuse_trace(options.scenario_path);
    scenario = read_scenario(options.scenario_path);
  }
  return with_flags(std::move(scenario), options);
}

bool has_free_length(const SimulateOptions& options) {
  return options.scenario_path.empty() && !options.workload.num_prompts;
}

ScenarioOptions scenario_options(const SimulateOptions& options) {
  return {.deployment = options.deployment,
          .cluster = options.cluster,
          .workload = options.workload,
          .pricing = options.pricing};
}

Scenario with_flags(Scenario scenario, const SimulateOptions& options) {
  return with_options(std::move(scenario), scenario_options(options));
}

}  // namespace roofcast
