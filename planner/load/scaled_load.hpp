// A synthetic load with longer prompts or more traffic: its distributions and rates times a factor.
#pragma once

#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Every length `factor` times as long: a fixed number, the bounds of a uniform distribution, mean
/// and standard deviation of a normal one, the median of a lognormal one (its sigma is that of the
/// logarithm and stays), and the clamping bounds, if any; in whole tokens, at least 1.
/// Precondition: factor above 0. Throws Error for lengths from a file.
LengthDistribution scaled_lengths(const LengthDistribution& lengths, double factor);

/// `factor` times as many arrivals per second at every moment of a changing rate: stages keep their
/// durations (and so get more requests), a ramp its shape, cycles and days their periods.
void scale_rates(SyntheticWorkload& workload, double factor);

}  // namespace roofcast
