// What the host pays, by its own clock: launching kernels, replaying a recording, copies to and
// from the device.
#pragma once

#include <functional>

#include "base/units.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

struct HostCosts {
  Seconds eager_launch{};  // of one launch outside a recording, until the host may go on
  Seconds graph_launch{};  // of replaying a recording, beyond the device's own time
  Seconds engine_step{};   // of copying a small engine's decode step in and its tokens out
  BytesPerSecond upload{};
  BytesPerSecond download{};
};

/// Medians over a few repetitions each, about 50 ms together. `now_s` is a clock that only grows.
/// Copies are between pageable host memory and the device, as Backend::upload() takes it. On a CPU
/// the device is the host, and launches include the work of an empty kernel.
HostCosts measure_host_costs(kernels::Backend& backend, const std::function<double()>& now_s);

}  // namespace roofcast
