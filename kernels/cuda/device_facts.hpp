// Which CUDA device there is, what it says of itself, and why there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/backend.hpp"

namespace roofcast::kernels::cuda {

/// What cudaGetDeviceCount() said.
struct DriverAnswer {
  int code = 0;            // cudaError_t
  int driver_version = 0;  // 12040 for CUDA 12.4, as cudaDriverGetVersion() gives it; 0: no driver
  int runtime_version = 0;
  int devices = 0;
};

/// One sentence for a user, without a full stop; absent when there are devices.
std::optional<std::string> why_no_device(const DriverAnswer& answer);

/// The same with this machine's answer, and for device number `device`: that there are fewer, or
/// that the kernels were not made for it.
std::optional<std::string> why_no_device(int device);

/// 90 for 9.0.
int compute_capability(int device);

/// "GPU-00112233-4455-6677-8899-aabbccddeeff" of 16 bytes.
std::string uuid_text(const char (&bytes)[16]);

/// At this moment.
std::int64_t free_memory_bytes(int device);

/// Precondition: why_no_device(device) is absent. NVML's part (power limit, driver version) is left
/// to the caller.
DeviceFacts read_facts(int device);

}  // namespace roofcast::kernels::cuda
