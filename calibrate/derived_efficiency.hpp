// Derives efficiencies and floors from measured curves, for shapes that were never timed. Pure.
#pragma once

#include "model/curves/measured_curve.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Shares of the GPU's limits by operator family, as in `Efficiencies`: medians over the measured
/// shapes at each octave of size, net of `floors`, using the fastest source of each shape. Families
/// and formats without curves stay empty. Latent attention and batches that hardly exceed the floor
/// are left out. Each curve records `source`.
Efficiencies derive_efficiencies(const Gpu& gpu, const Measured& measured, const Floors& floors,
                                 const std::string& source);

/// Returns `derived`, completed from `stated` where it is empty. Collectives are always as stated:
/// they have their own curves.
Efficiencies with_stated(Efficiencies derived, const Efficiencies& stated);

/// The fitted floor of each family, or nine tenths of its shortest time if that is lower;
/// `fallback` for families without curves.
Floors derive_floors(const Measured& measured, const Floors& fallback);

}  // namespace roofcast
