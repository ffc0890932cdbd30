// Efficiencies and floors from measured curves: what answers for shapes that were never timed.
// Pure.
#pragma once

#include "model/curves/measured_curve.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Shares of the GPU's limits by operator family, as `Efficiencies` takes them: medians over the
/// measured shapes at each octave of size, net of `floors`, of the fastest source of each shape.
/// Families and formats without curves stay empty. Latent attention and batches that hardly exceed
/// the floor are left out. `source` goes into each curve.
Efficiencies derive_efficiencies(const Gpu& gpu, const Measured& measured, const Floors& floors,
                                 const std::string& source);

/// `derived`, and of what it leaves empty what was stated before. Collectives are as stated: they
/// have curves of their own.
Efficiencies with_stated(Efficiencies derived, const Efficiencies& stated);

/// The fitted floor of each family where it is below its shortest time, else nine tenths of that;
/// `otherwise` for families without curves.
Floors derive_floors(const Measured& measured, const Floors& fallback);

}  // namespace roofcast
