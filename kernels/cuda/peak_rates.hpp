// Peak rates of NVIDIA's architectures, from facts that a device reports.
#pragma once

#include <map>
#include <optional>

#include "kernels/element.hpp"

namespace roofcast::kernels::cuda {

/// Dense FLOP/s by element: multiprocessors times clock times operations per cycle. Tensor cores
/// with fp32 (int32) sums; fp32 on the ordinary cores. Empty for an architecture that is not in the
/// table or an unknown clock; elements without support are absent. `compute_capability`: 90 for
/// 9.0.
std::map<Element, double> peak_rates(int compute_capability, int multiprocessors, double clock_hz);

/// Bytes/s of memory that transfers on both clock edges; absent if a fact is unknown.
std::optional<double> peak_bandwidth(double memory_clock_hz, int bus_bits);

}  // namespace roofcast::kernels::cuda
