// The device that a command runs on: --device cpu, cuda or cuda:N.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.hpp"

namespace roofcast {

/// Opens it. Throws UsageError for a name that is none, Error with what can be done instead where
/// there is no such device. `threads` is for the CPU; 0: all cores.
std::unique_ptr<kernels::Backend> open_device(const std::string& device, int threads);

}  // namespace roofcast
