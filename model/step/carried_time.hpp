// Times of a card without measurements, from those of another card, as a rule with the same chip:
// fixed times by the ratio of the clocks, the rest by what peak and bandwidth allow on each of the
// two.
#pragma once

#include "model/curves/measured_curve.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

/// One standard deviation that transferring a time adds, relative, between cards of one chip whose
/// memories are about as fast. Of the points that the tables of two such cards share, two thirds
/// are predicted within 0.050 (GB200 from B200), 0.071 (B200 from GB200), 0.041 (GB300 from B300),
/// 0.074 (B300 from GB300), 0.071 (B300 from B200) and 0.067 (B200 from B300).
inline constexpr double kCarriedDeviation = 0.074;

/// What the memory adds to it, in squares, for each unit of the logarithm of the bandwidths' ratio:
/// kernels make less of a faster memory than the rule says. Two thirds lie within 0.142 (H200 from
/// H100) and 0.177 (H100 from H200), 0.161 by this for a ratio of 1.43; and within 0.30 on RTX PRO
/// 6000 from L40S, another chip, 0.301 by this for 2.07.
inline constexpr double kCarriedByBandwidth = 0.4;

/// The same between different chips: two thirds are within 0.27 (B200 from H200) and 0.30 (RTX PRO
/// 6000 from L40S).
inline constexpr double kOtherChipDeviation = 0.30;

/// What applies to times of `from` on a card with this memory: between different chips at least
/// kOtherChipDeviation.
double carried_deviation(const SisterCard& from, BytesPerSecond memory_bandwidth);

/// Whether all facts that decide how long a kernel takes are the same: architecture, peaks,
/// bandwidth, caches, multiprocessors and clock.
bool has_same_chip(const Gpu& a, const Gpu& b);

/// Those facts of a card by which its times are scaled for another.
SisterCard sister_card(const Gpu& gpu);

/// The factor for a time of the sister's that does not depend on the size: the ratio of the clocks,
/// at least 1.
double transferred_fixed(const SisterCard& from, const Gpu& to);

/// The factor for a time of the sister's beyond the fixed part, for this work: the ratio of the
/// physical limits, so the share of them that kernels reach is kept; for collectives that of the
/// links. At least 1 where the card is no better than its sister in anything that limits the work.
double transferred_ratio(const Work& work, const SisterCard& from, const Gpu& to);

/// Whether times of a family in the GPU's kernel tables are its own or carry over: collectives only
/// between links of one kind ("NVLink 4").
bool carries_over(const Gpu& gpu, OperatorFamily family);

/// Gives `gpu` the efficiencies and kernel tables of `sister`, where it has none of its own, and
/// its floors, by the clock. All-reduces carry over as collectives do: their first time, of the
/// smallest message, stays, and the rest follows the bandwidth.
void carry_over(const Gpu& sister, Gpu& gpu);

}  // namespace roofcast
