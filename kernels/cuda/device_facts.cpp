#include "kernels/cuda/device_facts.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>

#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/peak_rates.hpp"

namespace roofcast::kernels::cuda {
namespace {

constexpr double kKilo = 1e3;
constexpr int kMinCapability = 80;

/// "13.0" for 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, name, device) == cudaSuccess ? value : 0;
}

}  // namespace

std::optional<std::string> why_no_device(const DriverAnswer& answer) {
  switch (static_cast<cudaError_t>(answer.code)) {
    case cudaSuccess:
      if (answer.devices > 0) return std::nullopt;
      return "the NVIDIA driver sees no GPU";
    case cudaErrorStubLibrary:
      return "the program found the CUDA toolkit's stub instead of the NVIDIA driver";
    case cudaErrorInsufficientDriver:
      if (answer.driver_version == 0) return "there is no NVIDIA driver on this machine";
      return "the NVIDIA driver is too old: it supports CUDA " +
             version_text(answer.driver_version) + ", this program needs " +
             version_text(answer.runtime_version);
    case cudaErrorNoDevice:
      return "the NVIDIA driver sees no GPU (CUDA_VISIBLE_DEVICES may hide it)";
    default:
      break;
  }
  return std::string("CUDA does not start: ") +
         cudaGetErrorString(static_cast<cudaError_t>(answer.code));
}

std::optional<std::string> why_no_device(int device) {
  DriverAnswer answer;
  answer.code = cudaGetDeviceCount(&answer.devices);
  cudaDriverGetVersion(&answer.driver_version);
  cudaRuntimeGetVersion(&answer.runtime_version);
  cudaGetLastError();  // reported here; clear it for later checks
  if (std::optional<std::string> why = why_no_device(answer)) return why;
  if (device < 0 || device >= answer.devices) {
    return "no GPU number " + std::to_string(device) + ": " + std::to_string(answer.devices) +
           " found";
  }
  const int capability = compute_capability(device);
  if (capability >= kMinCapability) return std::nullopt;
  return "the GPU has compute capability " + capability_text(capability) +
         ", the kernels need 8.0 or more";
}

int compute_capability(int device) {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
         attribute(cudaDevAttrComputeCapabilityMinor, device);
}

std::string uuid_text(const char (&bytes)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(bytes[i])));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += two;
  }
  return text;
}

std::int64_t free_memory_bytes(int device) {
  std::size_t free = 0;
  std::size_t total = 0;
  ROOFCAST_CUDA_CHECK(cudaSetDevice(device));
  ROOFCAST_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

DeviceFacts read_facts(int device) {
  cudaDeviceProp properties{};
  ROOFCAST_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  int runtime_version = 0;
  int driver_version = 0;
  ROOFCAST_CUDA_CHECK(cudaRuntimeGetVersion(&runtime_version));
  ROOFCAST_CUDA_CHECK(cudaDriverGetVersion(&driver_version));

  const int capability = 10 * properties.major + properties.minor;
  DeviceFacts facts;
  facts.name = properties.name;
  facts.identity = uuid_text(properties.uuid.bytes);
  facts.vendor = "NVIDIA";
  facts.architecture = "sm_" + std::to_string(capability);
  facts.multiprocessors = properties.multiProcessorCount;
  facts.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  facts.free_memory_bytes = free_memory_bytes(device);
  facts.cache_bytes = properties.l2CacheSize;
  // CUDA 13 removed the clocks from the properties; they are still available as attributes, in kHz.
  facts.clock_hz = kKilo * attribute(cudaDevAttrClockRate, device);
  facts.memory_clock_hz = kKilo * attribute(cudaDevAttrMemoryClockRate, device);
  facts.memory_bus_bits = properties.memoryBusWidth;
  facts.peak_flops_per_s = peak_rates(capability, facts.multiprocessors, facts.clock_hz);
  facts.peak_bandwidth_bytes_per_s = peak_bandwidth(facts.memory_clock_hz, facts.memory_bus_bits);
  facts.versions = {{"CUDA", version_text(runtime_version)},
                    {"CUDA of the driver", version_text(driver_version)}};
  return facts;
}

}  // namespace roofcast::kernels::cuda
