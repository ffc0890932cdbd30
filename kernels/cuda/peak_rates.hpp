// What NVIDIA's architectures can do at most, from facts that a device tells of itself.
#pragma once

#include <map>
#include <optional>

#include "kernels/element.hpp"

namespace roofcast::kernels::cuda {

/// Dense FLOP/s by element: multiprocessors times clock times the operations of one cycle. Tensor
/// cores with fp32 (int32) sums; fp32 on the ordinary cores. Empty for an architecture that is not
/// in the table or a clock that is not known; an element that it cannot multiply is absent.
/// `compute_capability`: 90 for 9.0.
std::map<Element, double> peak_rates(int compute_capability, int multiprocessors, double clock_hz);

/// Bytes/s of memory that transfers at both edges of its clock; absent when a fact is not known.
std::optional<double> peak_bandwidth(double memory_clock_hz, int bus_bits);

}  // namespace roofcast::kernels::cuda
