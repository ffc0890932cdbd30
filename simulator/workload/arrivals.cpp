#include "simulator/workload/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/wording.hpp"
#include "simulator/workload/varying_rate.hpp"

namespace roofcast {
namespace {

void check(const SyntheticWorkload& spec) {
  if (spec.num_prompts < 1 || spec.num_prompts > kMaxRequests) {
    throw UsageError(
        fmt::format("`num_prompts` is {}, expected 1 to {}", spec.num_prompts, kMaxRequests));
  }
  if (!(spec.burstiness >= kMinBurstiness)) {
    throw Error(fmt::format("burstiness is {}, expected at least {} or inf", spec.burstiness,
                            kMinBurstiness));
  }
  check_rates(spec);
  if (!std::holds_alternative<SteadyRate>(spec.pattern)) return;
  if (!(spec.request_rate > 0)) {
    throw Error(
        fmt::format("`request_rate` is {}, expected a positive number of requests per second "
                    "or inf",
                    spec.request_rate));
  }
  const double span = static_cast<double>(spec.num_prompts) / spec.request_rate;
  if (span > to_seconds(kLongestSpan).value) {
    throw Error(fmt::format("`request_rate` is {}: {} would take over ten years to arrive",
                            spec.request_rate, counted(spec.num_prompts, "request")));
  }
}

/// The rate before arrival `index` (from 0) of `count`.
double rate_at(const SyntheticWorkload& spec, std::int64_t index) {
  const auto* ramp = std::get_if<RampUp>(&spec.pattern);
  if (ramp == nullptr) return spec.request_rate;
  const double progress = static_cast<double>(index) /
                          static_cast<double>(std::max<std::int64_t>(spec.num_prompts - 1, 1));
  if (ramp->strategy == RampUp::Strategy::linear) {
    return ramp->start + (ramp->end - ramp->start) * progress;
  }
  return ramp->start * std::pow(ramp->end / ramp->start, progress);
}

/// The first request has a gap before it too.
std::vector<Nanoseconds> cumulative_gaps(const SyntheticWorkload& spec, UnitGaps& gaps) {
  std::vector<Nanoseconds> times;
  times.reserve(static_cast<std::size_t>(spec.num_prompts));
  Nanoseconds time = 0;
  for (std::int64_t i = 0; i < spec.num_prompts; ++i) {
    time = later_by(time, gaps.next() / rate_at(spec, i));
    times.push_back(time);
  }
  return times;
}

std::vector<Nanoseconds> steady_arrivals(const SyntheticWorkload& spec, UnitGaps& gaps) {
  if (std::isinf(spec.request_rate)) {
    return std::vector<Nanoseconds>(static_cast<std::size_t>(spec.num_prompts), 0);
  }
  auto times = cumulative_gaps(spec, gaps);
  if (spec.normalised) {
    const double last = static_cast<double>(spec.num_prompts) / spec.request_rate;
    rescale(times, to_nanoseconds(Seconds{last}));
  }
  return times;
}

void refuse_empty(const Arrivals& arrivals) {
  if (arrivals.times.empty()) {
    throw Error("stages: no request arrived in any stage, expected longer stages or higher rates");
  }
  if (std::ssize(arrivals.times) > kMaxRequests) {
    throw Error(fmt::format("stages: more than {} requests arrived", kMaxRequests));
  }
}

}  // namespace

Arrivals draw_arrivals(const SyntheticWorkload& spec, std::uint64_t seed) {
  check(spec);
  UnitGaps gaps(spec.burstiness, seed);
  if (const auto* staged = std::get_if<StagedLoad>(&spec.pattern)) {
    Arrivals arrivals = staged_arrivals(*staged, spec.normalised, gaps);
    refuse_empty(arrivals);
    return arrivals;
  }
  if (const auto* cycle = std::get_if<RateCycle>(&spec.pattern)) {
    return {.times = cycle_arrivals(*cycle, spec.num_prompts, gaps), .per_stage = {}};
  }
  if (const auto* diurnal = std::get_if<DiurnalRate>(&spec.pattern)) {
    return {.times = diurnal_arrivals(*diurnal, spec.num_prompts, gaps), .per_stage = {}};
  }
  if (std::holds_alternative<RampUp>(spec.pattern)) {
    return {.times = cumulative_gaps(spec, gaps), .per_stage = {}};
  }
  return {.times = steady_arrivals(spec, gaps), .per_stage = {}};
}

}  // namespace roofcast
