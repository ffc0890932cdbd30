#include "cli/options/deployment_options.hpp"

#include <ostream>

#include "cli/options/flag_options.hpp"
#include "model/engines/engine.hpp"
#include "planner/deploy.hpp"

namespace roofcast {

po::options_description machine_options(DeploymentOptions& target) {
  return flag_options("Model and GPUs", machine_flags(), target);
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

}  // namespace roofcast
