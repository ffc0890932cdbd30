// The two meanings of --random-range-ratio.
#pragma once

#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// The lengths that `ratio` makes of a fixed length; `lengths` itself where there is no ratio.
/// `knob` is "input" or "output". Throws Error naming it when the ratio is out of range or the
/// length not fixed.
LengthDistribution with_range(const LengthDistribution& lengths, const std::optional<double>& ratio,
                              RangeRatio::Style style, const char* knob);

}  // namespace roofcast
