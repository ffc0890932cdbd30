// Builds a hardware profile from a calibration's timings: device facts, ceilings, fitted curves,
// efficiencies for shapes that were not timed, and provenance. Pure.
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

/// Everything that a calibration measured, and when.
struct CalibrationData {
  kernels::DeviceFacts device{};
  int devices = 1;  // of this kind in the machine
  std::vector<TimedCase> timed{};
  DeviceRates host{};  // measure_host_costs()
  TimingProtocol protocol{};
  std::string date{};        // ISO 8601, UTC
  std::string tool{};        // "roofcast 0.1.0"
  std::string incomplete{};  // why it ended early; empty: it did not
};

/// Highest rates observed on the device; 0 or absent: not timed.
struct Ceilings {
  BytesPerSecond copy{};                   // the largest copy, bytes read plus written
  BytesPerSecond read{};                   // weights or KV read from memory, over all operators
  std::map<DType, FlopsPerSecond> gemm{};  // by arithmetic format, over all matrix products
  Seconds kernel_floor{};                  // an empty kernel, back to back
};
Ceilings ceilings_of(const std::vector<TimedCase>& timed);

/// Makes the profile. `known`: this GPU's datasheet facts, which are kept. Null for a CPU or a GPU
/// that is not in the catalogue: then uses the device's own facts, with the ceilings as peak and
/// bandwidth, marked as measured. Curves contain the physically possible points; the others are
/// listed in Measured::rejected. Precondition: at least one matrix product and one copy were timed.
Gpu make_profile(const CalibrationData& data, const Gpu* known);

/// An uneven batch compared with an even one of equal work (CaseRole::check).
struct CheckRatio {
  std::string name{};
  OperatorFamily family = OperatorFamily::decode_attention;
  double ratio = 1;  // time of the uneven batch / time of the even one
};
std::vector<CheckRatio> check_ratios(const std::vector<TimedCase>& timed);

/// Name of the device's profile: "nvidia-h200", "amd-epyc-9654-2-threads".
std::string profile_name(const kernels::DeviceFacts& device);

}  // namespace roofcast
