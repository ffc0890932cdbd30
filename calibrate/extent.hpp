// How much is calibrated: sizes, budget and protocol of a quick look, of one model, of a whole
// device. Pure.
#pragma once

#include "calibrate/cases.hpp"
#include "calibrate/sweep.hpp"
#include "calibrate/timer.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

/// Where several devices exchange messages, that takes 6, 25 or 40 s more.
enum class ExtentKind {
  quick,  // about 10 s, the preferred kernels of one model's shapes
  model,  // about a minute, one model's shapes, every kernel source
  full,   // at most 5 minutes, the generic shapes
};

struct Extent {
  CaseLimits limits{};
  SweepOptions sweep{};
  TimingProtocol protocol{};
  double memory_bytes = 0;  // of the device, that operands may take
};

/// `longest_context`: of the model; sizes go no further. A CPU is timed over smaller sizes: it is a
/// hundred times slower. Memory is bounded by what the device has free.
Extent extent_of(ExtentKind kind, const kernels::DeviceFacts& device, std::int64_t longest_context);

/// Whether it is the CPU of this machine and no accelerator.
bool is_cpu(const kernels::DeviceFacts& device);

}  // namespace roofcast
