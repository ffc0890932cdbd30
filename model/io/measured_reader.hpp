// The `measured` section of a hardware profile. hardware_profiles/README.md documents it.
#pragma once

#include <cstddef>

#include "model/hardware/gpu.hpp"
#include "model/io/profile_section.hpp"

namespace roofcast {

/// Most points of a curve in a profile: a calibration times some 150 sizes of an operator, and
/// every estimate processes all of them.
inline constexpr std::size_t kMaxCurvePoints = 2000;

/// Throws Error naming the wrong key, or the line of a point that is faster than the peaks and
/// bandwidth of `gpu` allow.
Measured read_measured(const ProfileSection& section, const Gpu& gpu);

}  // namespace roofcast
