// Serves a workload on a device with our small engine: the simulator's scheduler and client, with
// executed steps. Simulated time advances by measured step times; waiting for arrivals takes no
// time.
#pragma once

#include <cstdint>

#include "calibrate/runtime/device_step.hpp"
#include "simulator/simulate.hpp"

namespace roofcast::runtime {

struct ServeOptions {
  /// Provides scheduler and knobs; asynchronous scheduling, prefix caching and drafts are switched
  /// off. Every layer keeps the K and V of all tokens, including layers with sliding windows.
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

/// Device exceptions pass through.
ServedRun serve(Executor& executor, const Workload& workload, const ServeOptions& options);

}  // namespace roofcast::runtime
