// GPUs of one kind that exchange messages by NCCL (kernels/device_group.hpp), and the timing of
// their calls.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/loaded_library.hpp"
#include "kernels/device_group.hpp"

namespace roofcast::kernels::cuda {

/// Rank r is devices[r]. Throws a one-line std::runtime_error if NCCL is not found or fails to
/// initialise.
std::unique_ptr<DeviceGroup> make_nccl_group(const std::vector<int>& devices,
                                             const LibraryPlaces& places);

/// The GPUs of the same kind as `device`, which is first. Looks for NCCL only if there are several.
Peers nccl_peers(int device, const LibraryPlaces& places);

}  // namespace roofcast::kernels::cuda
