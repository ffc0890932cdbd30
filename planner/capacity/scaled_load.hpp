// A synthetic load with longer prompts or more traffic: its distributions and rates times a factor.
#pragma once

#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Every length `factor` times as long: a fixed number, the ends of a uniform distribution, mean
/// and standard deviation of a normal one, the median of a lognormal one (whose sigma is of the
/// logarithm and stays), and the ends that draws are moved to, where there are any; in whole
/// tokens, one at least. Precondition: factor above 0. Throws Error for lengths from a file.
LengthDistribution scaled_lengths(const LengthDistribution& lengths, double factor);

/// `factor` times as many arrivals a second, at every moment of a rate that changes: stages keep
/// their durations (and so have more requests), a ramp its shape, cycles and days their periods.
void scale_rates(SyntheticWorkload& workload, double factor);

}  // namespace roofcast
