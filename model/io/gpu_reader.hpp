// Hardware profiles: built into the program from hardware_profiles/*.json, or read from a file.
// hardware_profiles/README.md documents the schema.
#pragma once

#include <string>
#include <vector>

#include "model/hardware/gpu.hpp"

namespace roofcast {

/// A profile with its text's hash (FNV-1a 64, hex), which a run is stored with.
struct GpuProfile {
  Gpu gpu;
  std::string hash;
};

/// `gpu` is a path to a profile (it ends in .json or holds a '/'), or a name in any of the
/// spellings in use ("H100", "h100_sxm", "NVIDIA-H100-80GB-HBM3", "nvidia-h100-80gb"). Case,
/// separators and a leading vendor word do not matter; all the rest of the name must match.
/// Throws Error with the nearest names when nothing matches.
GpuProfile load_gpu(const std::string& gpu);

/// Whether load_gpu() takes it for a path and not for a name.
bool is_profile_path(const std::string& gpu);

/// `profile` is the text of a profile. Throws Error naming `where` and the key.
Gpu parse_gpu(const std::string& profile, const std::string& where);
GpuProfile parse_profile(const std::string& profile, const std::string& where);

/// The profile as a text that parse_gpu() reads back to the same Gpu: keys in the order of
/// hardware_profiles/README.md, a line for each point of a curve. Equal Gpus give equal bytes.
/// Texts that are not UTF-8 get replacement characters; sources of what is not written are left
/// out. Precondition: numbers are finite and within what parse_gpu() accepts.
std::string write_gpu(const Gpu& gpu);

/// Names of all built-in profiles, in order.
std::vector<std::string> gpu_names();

/// What a spelling is matched by: lower case, letters and digits only, without a leading vendor or
/// product word ("NVIDIA GeForce RTX 4090" and "rtx-4090" are both "rtx4090").
std::string gpu_name_key(const std::string& spelling);

}  // namespace roofcast
