// The two meanings of --random-range-ratio.
#pragma once

#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Applies `ratio` to a fixed length; returns `lengths` itself if there is no ratio. `knob` is
/// "input" or "output". Throws Error naming it if the ratio is out of range or the length is not
/// fixed.
LengthDistribution with_range(const LengthDistribution& lengths, const std::optional<double>& ratio,
                              RangeRatio::Style style, const char* knob);

}  // namespace roofcast
