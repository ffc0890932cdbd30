#include "cli/plan/capacity_command_options.hpp"

#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"

namespace roofcast {
namespace {

po::options_description capacity_options(CapacityCommandOptions& target) {
  po::options_description options = option_group("Capacity");
  SimulateOptions& simulate = target.simulate;
  options.add_options()("scenario", po::value(&simulate.scenario_path)->value_name("FILE"),
                        "scenario file; flags override it");
  add_flags(options, capacity_flags(), target.capacity);
  options.add_options()("store", po::value(&simulate.store_path)->value_name("FILE"),
                        "the SQLite store (default roofcast.db)")(
      "no-store", po::bool_switch()->notifier([&simulate](bool off) { simulate.store = !off; }),
      "keep nothing");
  return options;
}

/// Whether no number of requests was given: a scenario file gives one, even if by default.
bool has_free_length(const SimulateOptions& options) {
  return options.scenario_path.empty() && !options.workload.num_prompts;
}

}  // namespace

Usage capacity_usage(CapacityCommandOptions& target) {
  SimulateOptions& simulate = target.simulate;
  Usage usage{.synopsis = "roofcast capacity [SCENARIO.json] [options]",
              .example =
                  "roofcast capacity --model llama-3.1-8b --gpu h100 --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = capacity_options(target),
              .unlisted = {},
              .positional = {}};
  usage.options.add(machine_options(simulate.deployment))
      .add(synthetic_options(simulate.workload))
      .add(trace_options(simulate.workload))
      .add(objective_options(simulate.workload))
      .add(cluster_options(simulate.cluster));
  usage.unlisted.add(from_command_option(simulate.from_command))
      .add(engine_options(simulate.deployment))
      .add(load_shape_options(simulate.workload.shape))
      .add(trace_form_options(simulate.workload))
      .add(scheduler_options(simulate.deployment))
      .add(feature_options(simulate.deployment.overrides));
  usage.more = "More: --from-cmd LINE, engine knobs, load shapes, forms of traces";
  usage.positional.add("scenario", 1);
  return usage;
}

CapacityQuestion capacity_question(const CapacityCommandOptions& options) {
  return capacity_question(simulate_scenario(options.simulate), options.capacity,
                           has_free_length(options.simulate));
}

}  // namespace roofcast
