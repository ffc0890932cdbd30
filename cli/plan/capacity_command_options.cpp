#include "cli/plan/capacity_command_options.hpp"

#include "base/dates.hpp"
#include "base/error.hpp"
#include "cli/options/from_command.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

po::options_description capacity_options(CapacityOptions& target) {
  po::options_description options = option_group("Capacity");
  SimulateOptions& simulate = target.simulate;
  options.add_options()("scenario", po::value(&simulate.scenario_path)->value_name("FILE"),
                        "scenario file; flags override it")(
      "least-goodput",
      converted(target.min_goodput, "--least-goodput", parse_share)->value_name("SHARE"),
      "minimum share of requests within all limits of --goodput, such as 99%")(
      "explain", po::bool_switch(&target.explain), "also the capacity with each limit 10 % wider")(
      "growth",
      converted(target.growth, "--growth", naming_flag(parse_growth))->value_name("P%/PERIOD"),
      "growth of the requested load, such as 10%/month: shows when the SLO fails")(
      "from", converted(target.from, "--from", naming_flag(parse_date))->value_name("DATE"),
      "start date of the growth, such as 2026-11-22")("lose-one", po::bool_switch(&target.lose_one),
                                                      "also the capacity with one replica fewer")(
      "store", po::value(&simulate.store_path)->value_name("FILE"),
      "the SQLite store (default roofcast.db)")(
      "no-store", po::bool_switch()->notifier([&simulate](bool off) { simulate.store = !off; }),
      "do not store the run");
  return options;
}

void refuse_idle_flags(const CapacityOptions& options, const Scenario& scenario) {
  if (options.from && !options.growth) throw UsageError("--from: needs --growth");
  if (options.min_goodput && scenario.slo.goodput.empty()) {
    throw UsageError("--least-goodput: needs --goodput, the limits of a good request");
  }
}

/// Whether no number of requests was given: a scenario file gives one, even if by default.
bool has_free_length(const SimulateOptions& options) {
  return options.scenario_path.empty() && !options.workload.num_prompts;
}

}  // namespace

Usage capacity_usage(CapacityOptions& target) {
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
  usage.more = "More: --from-cmd LINE, engine knobs, load shapes, trace formats";
  usage.positional.add("scenario", 1);
  return usage;
}

CapacityQuestion capacity_question(const CapacityOptions& options) {
  CapacityQuestion question{.scenario = simulate_scenario(options.simulate),
                            .min_goodput_share = options.min_goodput,
                            .free_length = has_free_length(options.simulate),
                            .explain = options.explain,
                            .lose_one = options.lose_one};
  refuse_idle_flags(options, question.scenario);
  if (options.growth) question.growth = GrowthQuestion{*options.growth, options.from};
  return question;
}

}  // namespace roofcast
