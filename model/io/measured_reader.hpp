// The `measured` section of a hardware profile. hardware_profiles/README.md documents it.
#pragma once

#include "model/hardware/gpu.hpp"
#include "model/io/profile_section.hpp"

namespace roofcast {

/// Throws Error naming the key that is wrong, or the line of the point that is faster than the
/// peaks and bandwidth of `gpu` allow.
Measured read_measured(const ProfileSection& section, const Gpu& gpu);

}  // namespace roofcast
