// What the requests and the steps of a simulated run are like, and those steps on its roofline.
#pragma once

#include <cstdint>

#include "model/step/generation_estimate.hpp"
#include "planner/scenario_run.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// What most requests are like, and how many run at once in a replica that decodes.
struct TypicalLoad {
  std::int64_t input_tokens = 1;
  std::int64_t output_tokens = 1;
  std::int64_t prefill_tokens = 1;  // of a prompt, in one step
  std::int64_t batch = 1;
};

/// Means of the run's requests.
TypicalLoad typical_load(const SimulationRun& run);

/// The steps that such a run has: prefill of one prompt, as far as one step takes it, where prompts
/// are prefilled; decode of all that run at once, where they are decoded.
GenerationEstimate typical_steps(const SimulationRun& run, const TypicalLoad& load);

/// These two steps, operator by operator, under the GPU's roofs.
Figure steps_figure(const SimulationRun& run, const TypicalLoad& load,
                    const GenerationEstimate& estimate);

}  // namespace roofcast
