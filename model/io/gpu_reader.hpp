// Hardware profiles: built into the program from hardware_profiles/*.json, or read from a file.
// hardware_profiles/README.md documents the schema.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/hardware/gpu.hpp"

namespace roofcast {

/// A profile with the hash of its text and kernel tables (FNV-1a 64, hex), which is stored with a
/// run.
struct GpuProfile {
  Gpu gpu;
  std::string hash;
};

/// `gpu` is a path to a profile (it ends in .json or contains a '/') or a name in any common
/// spelling ("H100", "h100_sxm", "NVIDIA-H100-80GB-HBM3", "nvidia-h100-80gb"). Ignores case,
/// separators and a leading vendor word; the rest of the name must match. Throws Error with the
/// nearest names if nothing matches.
GpuProfile load_gpu(const std::string& gpu);

/// Whether load_gpu() treats it as a path rather than a name.
bool is_profile_path(const std::string& gpu);

/// `profile` is the profile's text. Throws Error naming `where` and the key.
Gpu parse_gpu(const std::string& profile, const std::string& where);
GpuProfile parse_profile(const std::string& profile, const std::string& where);

/// The profile as text that parse_gpu() reads back to the same Gpu: keys in the order of
/// hardware_profiles/README.md, one line per curve point. Equal Gpus give equal bytes. Invalid
/// UTF-8 is replaced; sources of values that are not written are omitted. Precondition: numbers are
/// finite and within what parse_gpu() accepts.
std::string write_gpu(const Gpu& gpu);

/// Names of all built-in profiles, sorted.
std::vector<std::string> gpu_names();

/// The text of the built-in profile of that file name. Precondition: it is among gpu_names().
std::string_view built_in_text(std::string_view name);

/// Normalises a spelling for matching: lower-case letters and digits only, without a leading vendor
/// or product word ("NVIDIA GeForce RTX 4090" and "rtx-4090" are both "rtx4090").
std::string gpu_name_key(const std::string& spelling);

}  // namespace roofcast
