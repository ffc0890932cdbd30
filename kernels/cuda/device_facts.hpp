// The CUDA devices of this machine, their properties, and why there are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/backend.hpp"

namespace roofcast::kernels::cuda {

/// The result of cudaGetDeviceCount().
struct DriverAnswer {
  int code = 0;            // cudaError_t
  int driver_version = 0;  // 12040 for CUDA 12.4 (cudaDriverGetVersion()); 0: no driver
  int runtime_version = 0;
  int devices = 0;
};

/// One sentence for a user, without a full stop; absent if there are devices.
std::optional<std::string> why_no_device(const DriverAnswer& answer);

/// The same for this machine and device number `device`; also if there are fewer devices, or the
/// kernels were not compiled for it.
std::optional<std::string> why_no_device(int device);

/// 90 for 9.0.
int compute_capability(int device);

/// "GPU-00112233-4455-6677-8899-aabbccddeeff" for 16 bytes.
std::string uuid_text(const char (&bytes)[16]);

/// Current free memory.
std::int64_t free_memory_bytes(int device);

/// Precondition: why_no_device(device) is absent. The caller adds NVML's part (power limit, driver
/// version).
DeviceFacts read_facts(int device);

}  // namespace roofcast::kernels::cuda
