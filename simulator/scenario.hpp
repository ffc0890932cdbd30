// A simulation asked for: everything that decides its result, by name, as a user writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/engine.hpp"
#include "model/parallelism.hpp"
#include "simulator/results/slo.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

struct Scenario {
  std::string name{};
  std::string model{};  // catalogue name or path
  std::string gpu{};
  std::string engine = "vllm-0.19";
  std::optional<std::string> weight_format{};  // overrides the checkpoint's ("fp8", "awq", ...)
  Parallelism parallel{};
  EngineOverrides overrides{};
  WorkloadSpec workload{};
  std::optional<std::int64_t> max_concurrency{};  // client semaphore: sent when a slot is free
  Slo slo{};
  std::uint64_t seed = 0;
};

}  // namespace roofcast
