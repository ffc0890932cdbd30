// Checks request rates and their patterns.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/wording.hpp"
#include "simulator/workload/varying_rate.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxPhases = 1000;
constexpr double kMaxRate = 1e9;            // one per nanosecond
constexpr double kShortestDuration = 1e-3;  // seconds
const double kLongest = to_seconds(kLongestSpan).value;

/// Throws unless the rate is above 0 and at most kMaxRate.
void check_rate(double rate, const char* knob) {
  if (rate > 0 && rate <= kMaxRate) return;
  throw Error(fmt::format("{} is {}, expected requests per second above 0, up to {:g}", knob, rate,
                          kMaxRate));
}

void check_span(double requests, double rate, const std::string& what) {
  if (requests / rate <= kLongest) return;
  throw Error(fmt::format("{}: {} would take over ten years to arrive", what,
                          counted(static_cast<std::int64_t>(requests), "request")));
}

void check_stages(const std::vector<RateStage>& stages, const char* knob) {
  if (stages.empty() || stages.size() > kMaxPhases) {
    throw Error(
        fmt::format("{} has {} entries, expected 1 to {}", knob, stages.size(), kMaxPhases));
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const RateStage& stage = stages[i];
    const bool lasts =
        stage.duration.value >= kShortestDuration && stage.duration.value <= kLongest;
    if (lasts && stage.rate >= 0 && stage.rate <= kMaxRate) continue;
    throw Error(fmt::format("{}[{}] is {}, expected a rate from 0 to {:g} for {} s to ten years",
                            knob, i, name_of(stage), kMaxRate, kShortestDuration));
  }
}

void check(const StagedLoad& load) {
  check_stages(load.stages, "stages");
  double requests = 0;
  double seconds = 0;
  for (const RateStage& stage : load.stages) {
    requests += stage.rate * stage.duration.value;
    seconds += stage.duration.value;
  }
  if (requests < 1 || requests > static_cast<double>(kMaxRequests)) {
    throw Error(fmt::format("stages hold {:g} requests, expected 1 to {}", requests, kMaxRequests));
  }
  if (seconds > kLongest) throw Error("stages last over ten years");
}

void check(const RateCycle& cycle, std::int64_t requests) {
  check_stages(cycle.phases, "cycle");
  double in_cycle = 0;
  double seconds = 0;
  for (const RateStage& phase : cycle.phases) {
    if (phase.warm_up) throw Error("cycle: a phase cannot be a warm-up, because it repeats");
    in_cycle += phase.rate * phase.duration.value;
    seconds += phase.duration.value;
  }
  if (seconds > kLongest) throw Error("cycle lasts over ten years");
  if (in_cycle <= 0) throw Error("cycle has no phase with a rate above 0");
  check_span(static_cast<double>(requests), in_cycle / seconds, "cycle");
}

void check(const DiurnalRate& rate, const SyntheticWorkload& spec) {
  check_rate(rate.high, "diurnal.high");
  if (!(rate.low >= 0 && rate.low <= rate.high)) {
    throw Error(fmt::format("diurnal.low is {}, expected a rate from 0 to diurnal.high ({})",
                            rate.low, rate.high));
  }
  if (!(rate.period.value >= kShortestDuration && rate.period.value <= kLongest)) {
    throw Error(fmt::format("diurnal.period_s is {}, expected {} to {:g}", rate.period.value,
                            kShortestDuration, kLongest));
  }
  if (spec.burstiness != 1) {
    throw Error(
        fmt::format("burstiness is {}, expected 1: diurnal arrivals are Poisson", spec.burstiness));
  }
  check_span(static_cast<double>(spec.num_prompts), (rate.low + rate.high) / 2, "diurnal");
}

}  // namespace

void check_rates(const SyntheticWorkload& spec) {
  if (const auto* ramp = std::get_if<RampUp>(&spec.pattern)) {
    check_rate(ramp->start, "ramp_up.start_rps");
    check_rate(ramp->end, "ramp_up.end_rps");
    check_span(static_cast<double>(spec.num_prompts), std::min(ramp->start, ramp->end), "ramp_up");
  } else if (const auto* staged = std::get_if<StagedLoad>(&spec.pattern)) {
    check(*staged);
  } else if (const auto* cycle = std::get_if<RateCycle>(&spec.pattern)) {
    check(*cycle, spec.num_prompts);
  } else if (const auto* diurnal = std::get_if<DiurnalRate>(&spec.pattern)) {
    check(*diurnal, spec);
  }
}

}  // namespace roofcast
