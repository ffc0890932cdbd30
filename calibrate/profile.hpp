// From a calibration's timings to a hardware profile: facts of the device, ceilings, fitted curves,
// efficiencies for shapes that were not timed, and where all of it comes from. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/host_costs.hpp"
#include "calibrate/sweep.hpp"
#include "calibrate/timer.hpp"
#include "kernels/backend.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// All that a calibration measured, and when.
struct CalibrationData {
  kernels::DeviceFacts device{};
  int devices = 1;  // of this kind in the machine
  std::vector<TimedCase> timed{};
  HostCosts host{};
  TimingProtocol protocol{};
  std::string date{};        // ISO 8601, UTC
  std::string tool{};        // "roofcast 0.1.0"
  std::string incomplete{};  // why it ended before its end; empty: it did not
};

/// What the device was seen to do at most; 0 and absent: not timed.
struct Ceilings {
  BytesPerSecond copy{};                   // the largest copy, read plus written
  BytesPerSecond read{};                   // weights or KV that came from memory, any operator
  std::map<DType, FlopsPerSecond> gemm{};  // by the arithmetic, the fastest of all matrix products
  Seconds kernel_floor{};                  // an empty kernel, back to back
};
Ceilings ceilings_of(const std::vector<TimedCase>& timed);

/// The profile. `known`: this GPU's datasheet facts, which are kept; null for a GPU that nobody has
/// described and for a CPU: then the device's own facts stand, with the ceilings for peak and
/// bandwidth, marked as measured. Curves hold points that physics allows; the others are named in
/// Measured::rejected. Precondition: at least one matrix product and one copy were timed.
Gpu make_profile(const CalibrationData& data, const Gpu* known);

/// An uneven batch against the even one of as much work (CaseRole::check).
struct CheckRatio {
  std::string name{};
  OperatorFamily family = OperatorFamily::decode_attention;
  double ratio = 1;  // time of the uneven over that of the even one
};
std::vector<CheckRatio> check_ratios(const std::vector<TimedCase>& timed);

/// "nvidia-h200", "amd-epyc-9654-2-threads": what a profile of this device is called.
std::string profile_name(const kernels::DeviceFacts& device);

}  // namespace roofcast
