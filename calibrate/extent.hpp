// How much is calibrated: sizes, budget and protocol for a quick look, one model or a whole device.
// Pure.
#pragma once

#include "calibrate/cases.hpp"
#include "calibrate/sweep.hpp"
#include "calibrate/timer.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

/// If several devices exchange messages, add 6, 25 or 40 s.
enum class ExtentKind {
  quick,  // about 10 s, only the preferred kernels of one model's shapes
  model,  // about a minute, one model's shapes, every kernel source
  full,   // at most 5 minutes, the generic shapes
};

struct Extent {
  CaseLimits limits{};
  SweepOptions sweep{};
  TimingProtocol protocol{};
  double memory_bytes = 0;  // of the device, available to operands
};

/// `longest_context`: the model's; sizes do not exceed it. A CPU is timed over smaller sizes, since
/// it is a hundred times slower. Memory is limited to what the device has free.
Extent extent_of(ExtentKind kind, const kernels::DeviceFacts& device, std::int64_t longest_context);

/// Whether the device is this machine's CPU.
bool is_cpu(const kernels::DeviceFacts& device);

}  // namespace roofcast
