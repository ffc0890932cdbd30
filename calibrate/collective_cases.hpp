// Collectives as calibration cases: over how many devices, at which sizes of message, and what of a
// message each rank holds.
#pragma once

#include <vector>

#include "calibrate/cases.hpp"
#include "kernels/device_group.hpp"

namespace roofcast {

/// 2, 4, 8 and so on up to `devices`, and all of them. Empty for one.
std::vector<int> rank_counts(int devices);

/// Every collective over every number of ranks, coarse before fine; none where the devices cannot
/// exchange messages. In bf16, as activations are. A message that is cut for the ranks is a whole
/// number of 16-byte vectors for each.
std::vector<CalibrationCase> collective_cases(const kernels::Peers& peers,
                                              const CaseLimits& limits);

/// The call of a case, without buffers. Its count follows from the bytes of the message as
/// shape_work() has them.
kernels::Collective collective_of(const CalibrationCase& c);

/// Bytes that each rank reads and writes.
struct RankBytes {
  double input = 0;
  double output = 0;
};
RankBytes rank_bytes(const kernels::Collective& call, int ranks);

}  // namespace roofcast
