// Host-side costs by the host's clock: launching kernels, replaying a recording, copies to and from
// the device.
#pragma once

#include <functional>

#include "base/units.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

struct HostCosts {
  Seconds eager_launch{};  // per launch outside a recording, until the call returns
  Seconds graph_launch{};  // per replay of a recording, beyond the device's own time
  Seconds engine_step{};   // copying a small engine's decode step to the device and its tokens
                           // back
  BytesPerSecond upload{};
  BytesPerSecond download{};
};

/// Medians of a few repetitions each, about 50 ms in total. `now_s` is a monotonic clock. Copies
/// are between pageable host memory and the device, as in Backend::upload(). On a CPU the device is
/// the host, and launches include the work of an empty kernel.
HostCosts measure_host_costs(kernels::Backend& backend, const std::function<double()>& now_s);

}  // namespace roofcast
