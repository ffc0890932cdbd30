// Hardware profiles: built into the program from hardware_profiles/*.json, or read from a file.
#pragma once

#include <string>
#include <vector>

#include "model/gpu.hpp"

namespace roofcast {

/// A profile with its text's hash (FNV-1a 64, hex), which a run is stored with.
struct GpuProfile {
  Gpu gpu;
  std::string hash;
};

/// `gpu` is a path to a profile .json, or a name in any of the spellings in use ("H100",
/// "h100_sxm", "NVIDIA-H100-80GB-HBM3", "nvidia-h100-80gb"); case and separators do not matter.
/// Throws Error with the nearest names when nothing or more than one matches.
GpuProfile load_gpu(const std::string& gpu);

/// Throws Error naming `where` and the key.
Gpu parse_gpu(const std::string& text, const std::string& where);

/// Names of all built-in profiles, in order.
std::vector<std::string> gpu_names();

}  // namespace roofcast
