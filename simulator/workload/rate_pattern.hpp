// Request rate of a synthetic workload over time.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "simulator/time.hpp"

namespace roofcast {

/// A constant rate from first to last arrival: SyntheticWorkload::request_rate.
struct SteadyRate {
  bool operator==(const SteadyRate&) const = default;
};

/// `vllm bench serve --ramp-up-strategy`: the gap before request i of n (from 0) is drawn at the
/// rate start + (end - start) p, or start (end / start)^p, with p = i / (n - 1)
/// (_get_current_request_rate in vllm/benchmarks/serve.py). The schedule is never rescaled.
struct RampUp {
  enum class Strategy { linear, exponential };
  Strategy strategy = Strategy::linear;
  double start = 0;  // requests per second, above 0
  double end = 0;

  bool operator==(const RampUp&) const = default;
};

/// A rate that applies for a given time.
struct RateStage {
  double rate = 0;  // requests per second
  Seconds duration{};
  bool warm_up = false;  // served, but left out of all statistics

  bool operator==(const RateStage&) const = default;
};

/// Consecutive stages, each reported separately, like `load.stages` of inference-perf. They
/// determine the number of requests, so num_prompts is not used.
struct StagedLoad {
  std::vector<RateStage> stages{};

  bool operator==(const StagedLoad&) const = default;
};

/// Rates that repeat in a cycle until all requests have arrived: bursts (a high rate, then a low
/// one or none), or the hours of a day.
struct RateCycle {
  std::vector<RateStage> phases{};

  bool operator==(const RateCycle&) const = default;
};

/// A rate that varies as a cosine from `low` (at the start) to `high` (half a period later) and
/// back. Arrivals are Poisson.
struct DiurnalRate {
  double low = 0;  // requests per second
  double high = 0;
  Seconds period{86'400};

  bool operator==(const DiurnalRate&) const = default;
};

using RatePattern = std::variant<SteadyRate, RampUp, StagedLoad, RateCycle, DiurnalRate>;

/// Parses "10:60" (10 requests per second for 60 seconds) and "5:30:warm-up". Throws Error naming
/// the text.
RateStage parse_rate_stage(const std::string& text);

/// Parses "LOW:HIGH" or "LOW:HIGH:PERIOD" (seconds). Throws Error naming the text.
DiurnalRate parse_diurnal(const std::string& text);

/// "10 /s for 60 s".
std::string name_of(const RateStage& stage);

}  // namespace roofcast
