// What this machine has for timing kernels: processors, GPUs, the libraries that are opened when
// they are needed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.hpp"

namespace roofcast {

/// A library that a command opens when it needs it.
struct OptionalLibrary {
  std::string name{};                 // "cuBLASLt"
  std::string used_for{};             // "matrix products on GPUs"
  std::optional<std::string> path{};  // as it was opened; absent: not found
};

struct Machine {
  kernels::DeviceFacts cpu{};
  std::vector<kernels::DeviceFacts> gpus{};
  std::string why_no_gpu{};  // in one sentence, if there is none
  std::vector<OptionalLibrary> gpu_libraries{};
};

/// Opens each GPU for a moment. Never throws for what is absent.
Machine this_machine();

}  // namespace roofcast
