// The device that a command runs on: --device cpu, cuda or cuda:N; and what stands for it where
// the model library wants a GPU.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Opens it. Throws UsageError for a name that is none, Error with what can be done instead where
/// there is no such device. `threads` is for the CPU; 0: all cores.
std::unique_ptr<kernels::Backend> open_device(const std::string& device, int threads);

/// A device that nobody has described: its name and memory, by which an engine chooses its knobs
/// and a store's row is found again. It has no rates, because nothing is predicted from it.
Gpu stand_in_gpu(const kernels::DeviceFacts& device);

}  // namespace roofcast
