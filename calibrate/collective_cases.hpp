// Collectives as calibration cases: the numbers of devices, the message sizes, and the part of a
// message that each rank holds.
#pragma once

#include <vector>

#include "calibrate/cases.hpp"
#include "kernels/device_group.hpp"

namespace roofcast {

/// 2, 4, 8 and so on up to `devices`, and `devices` itself. Empty for one device.
std::vector<int> rank_counts(int devices);

/// Every collective over every number of ranks, coarse before fine; empty if the devices cannot
/// exchange messages. In bf16, like activations. A message that is split between ranks is a whole
/// number of 16-byte vectors for each.
std::vector<CalibrationCase> collective_cases(const kernels::Peers& peers,
                                              const CaseLimits& limits);

/// The call of a case, without buffers. Its element count follows from the message bytes as in
/// shape_work().
kernels::Collective collective_of(const CalibrationCase& c);

/// Bytes that each rank reads and writes.
struct RankBytes {
  double input = 0;
  double output = 0;
};
RankBytes rank_bytes(const kernels::Collective& call, int ranks);

}  // namespace roofcast
