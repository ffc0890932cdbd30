// Typical requests and steps of a simulated run, and those steps on its roofline.
#pragma once

#include <cstdint>

#include "model/step/generation_estimate.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// A typical request, and the typical number running in one decoding replica.
struct TypicalLoad {
  std::int64_t input_tokens = 1;
  std::int64_t output_tokens = 1;
  std::int64_t prefill_tokens = 1;  // of a prompt, per step
  std::int64_t batch = 1;
};

/// Means over the run's requests.
TypicalLoad typical_load(const SimulationRun& run);

/// The typical steps of such a run: prefill of as much of one prompt as fits in one step, on the
/// pool that prefills; decode of all running requests, on the pool that decodes.
GenerationEstimate typical_steps(const SimulationRun& run, const TypicalLoad& load);

/// These two steps, operator by operator, on the GPU's roofline.
Figure steps_figure(const SimulationRun& run, const TypicalLoad& load,
                    const GenerationEstimate& estimate);

}  // namespace roofcast
