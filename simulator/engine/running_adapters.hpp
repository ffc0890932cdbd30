// The distinct LoRA adapters of a step (scheduled_loras in vllm/v1/core/sched/scheduler.py).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

class RunningAdapters {
 public:
  /// Starts with the adapters of the requests that the plan has scheduled.
  RunningAdapters(const EngineState& state, const StepPlan& plan);

  /// Whether a request with this adapter may join the step.
  bool admit(std::int32_t adapter) const;
  void add(std::int32_t adapter);

  /// Time that they add to the step.
  Seconds time() const;

 private:
  bool has(std::int32_t adapter) const;

  LoraServing lora_;
  std::vector<std::int32_t> adapters_;
};

}  // namespace roofcast
