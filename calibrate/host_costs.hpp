// Host-side costs by the host's clock: launching kernels, replaying a recording, copies to and from
// the device.
#pragma once

#include <functional>

#include "kernels/backend.hpp"
#include "model/curves/measured_curve.hpp"

namespace roofcast {

/// Copies to and from the host and the host's times: medians of a few repetitions each, about 50 ms
/// in total. `now_s` is a monotonic clock. Copies
/// are between pageable host memory and the device, as in Backend::upload(). On a CPU the device is
/// the host, and launches include the work of an empty kernel.
DeviceRates measure_host_costs(kernels::Backend& backend, const std::function<double()>& now_s);

}  // namespace roofcast
