// Opens the device that a command runs on (--device cpu, cuda or cuda:N), and describes it where
// the model library needs a GPU.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Opens the device. Throws UsageError for an invalid name, and Error with alternatives if the
/// device does not exist. `threads` applies to the CPU; 0: all cores.
std::unique_ptr<kernels::Backend> open_device(const std::string& device, int threads);

/// Placeholder for a device that is not in the catalogue: its name and memory, from which an engine
/// derives its knobs and which identify stored rows. It has no rates, since nothing is predicted
/// from it.
Gpu stand_in_gpu(const kernels::DeviceFacts& device);

}  // namespace roofcast
