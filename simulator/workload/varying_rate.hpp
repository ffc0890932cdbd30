// Arrivals at rates that vary with time: stages, cycles, the course of a day.
#pragma once

#include "simulator/workload/arrival_gaps.hpp"
#include "simulator/workload/arrivals.hpp"

namespace roofcast {

/// Consecutive stages; gaps start over with each. `normalised` as in SyntheticWorkload.
/// Precondition: check_rates() has passed.
Arrivals staged_arrivals(const StagedLoad& load, bool normalised, UnitGaps& gaps);

/// `count` arrivals under a repeated cycle. Time is measured in units of the mean gap: an arrival
/// occurs when the integral of the rate reaches the sum of the unit gaps, which is exactly Poisson
/// for burstiness 1 (Cinlar 1975, Introduction to Stochastic Processes, 4.7).
std::vector<Nanoseconds> cycle_arrivals(const RateCycle& cycle, std::int64_t count, UnitGaps& gaps);

/// `count` arrivals at a cosine rate, by the same method.
std::vector<Nanoseconds> diurnal_arrivals(const DiurnalRate& rate, std::int64_t count,
                                          UnitGaps& gaps);

/// Throws Error naming the parameter that is out of range, for all patterns except SteadyRate.
void check_rates(const SyntheticWorkload& spec);

}  // namespace roofcast
