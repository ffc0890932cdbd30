#include "cli/options/option_groups.hpp"

#include <ostream>
#include <string_view>

#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "model/engines/engine.hpp"
#include "model/engines/engine_version.hpp"

namespace roofcast {

namespace {

/// Machine flags that --help lists, or those that --help-all adds.
Flags<DeploymentOptions> machine_flags_of(bool common) {
  constexpr std::string_view kRare = "prefill-context-parallel-size";
  Flags<DeploymentOptions> flags = machine_flags();
  std::erase_if(flags, [&](const auto& flag) { return (flag.name != kRare) != common; });
  return flags;
}

}  // namespace

po::options_description machine_options(DeploymentOptions& target) {
  static const Flags<DeploymentOptions> flags = machine_flags_of(true);
  return flag_options("Model and GPUs", flags, target);
}

po::options_description more_machine_options(DeploymentOptions& target) {
  static const Flags<DeploymentOptions> flags = machine_flags_of(false);
  return flag_options("More ranks", flags, target);
}

po::options_description engine_options(DeploymentOptions& target) {
  po::options_description options =
      flag_options("Engine (default: the engine's own choice)", engine_choice_flags(), target);
  add_flags(options, knob_flags(KnobGroup::memory_and_batch), target.overrides);
  return options;
}

po::options_description scheduler_options(DeploymentOptions& target) {
  return flag_options("Scheduler (default: the engine's own choice)",
                      knob_flags(KnobGroup::scheduler), target.overrides);
}

void note_version(const DeploymentOptions& options, std::ostream& err) {
  if (options.engine.empty() || options.engine == "all") return;
  const auto note = uncompared_version(engine_choice(options.engine).preset);
  if (note) err << "note: " << *note << "\n";
}

po::options_description feature_options(EngineOverrides& target) {
  return flag_options(
      "Sampling, speculative decoding, LoRA adapters, KV offloading to host memory (vLLM)",
      knob_flags(KnobGroup::features), target);
}

po::options_description synthetic_options(WorkloadOptions& target) {
  return flag_options("Synthetic load", synthetic_flags(), target);
}

po::options_description load_shape_options(LoadShapeOptions& target) {
  return flag_options("Shape of the synthetic load", load_shape_flags(), target);
}

po::options_description trace_options(WorkloadOptions& target) {
  return flag_options("Trace", trace_flags(), target);
}

po::options_description trace_form_options(WorkloadOptions& target) {
  return flag_options("More trace options", trace_form_flags(), target);
}

po::options_description objective_options(WorkloadOptions& target) {
  return flag_options("Client and SLO", objective_flags(), target);
}

po::options_description cluster_options(ClusterOptions& target) {
  return flag_options("Cluster", cluster_flags(), target);
}

po::options_description pricing_options(PricingOptions& target) {
  return flag_options("Prices", pricing_flags(), target);
}

void add_scenario_file(Usage& usage, std::string& path, const char* help) {
  usage.options.add_options()("scenario", po::value(&path)->value_name("FILE"), help);
  usage.positional.add("scenario", 1);
}

void add_scenario_options(ScenarioOptions& target, std::string& from_command,
                          po::options_description& common, po::options_description& more) {
  common.add(machine_options(target.deployment))
      .add(synthetic_options(target.workload))
      .add(trace_options(target.workload))
      .add(objective_options(target.workload))
      .add(cluster_options(target.cluster))
      .add(engine_options(target.deployment));
  more.add(from_command_option(from_command))
      .add(more_machine_options(target.deployment))
      .add(load_shape_options(target.workload.shape))
      .add(trace_form_options(target.workload))
      .add(pricing_options(target.pricing))
      .add(scheduler_options(target.deployment))
      .add(feature_options(target.deployment.overrides));
}

}  // namespace roofcast
