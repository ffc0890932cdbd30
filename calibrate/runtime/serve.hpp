// A workload served by the small engine on a device: the simulator's scheduler and client, with
// steps that are run. Simulated time passes as the steps took; waiting for arrivals takes none.
#pragma once

#include <cstdint>

#include "calibrate/runtime/device_step.hpp"
#include "simulator/simulate.hpp"

namespace roofcast::runtime {

struct ServeOptions {
  /// Its scheduler and knobs; made synchronous, without prefix caching and drafts. Every layer
  /// keeps the K and V of all tokens, those of sliding windows too.
  Engine engine{};
  std::vector<AttentionSpan> spans{};
  std::uint64_t seed = 0;
  SimulationOptions simulation{};  // engine_kind and attach are set here
};

struct ServedRun {
  SimulationResult result{};
  std::vector<TimedStep> steps{};
  /// Tokens of each request, prompt and output.
  std::map<RequestId, std::vector<std::int32_t>> sequences{};
};

/// Throws what the device throws.
ServedRun serve(Executor& executor, const Workload& workload, const ServeOptions& options);

}  // namespace roofcast::runtime
