// GPUs of one kind that exchange messages by NCCL (kernels/device_group.hpp), and how their calls
// are timed.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/loaded_library.hpp"
#include "kernels/device_group.hpp"

namespace roofcast::kernels::cuda {

/// Rank r is devices[r]. Throws std::runtime_error, one line, when NCCL is not found or does not
/// start.
std::unique_ptr<DeviceGroup> make_nccl_group(const std::vector<int>& devices,
                                             const LibraryPlaces& places);

/// The GPUs of the same kind as `device`, which comes first. Looks for NCCL only where there are
/// several.
Peers nccl_peers(int device, const LibraryPlaces& places);

}  // namespace roofcast::kernels::cuda
