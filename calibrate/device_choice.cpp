#include "calibrate/device_choice.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "calibrate/profile.hpp"
#include "kernels/cuda/cuda_backend.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kInstead =
    "; `device` cpu works anywhere, and `gpu` NAME of the other commands uses a built-in "
    "profile (roofcast gpus lists them)";

/// N of "cuda:N"; 0 for "cuda".
std::optional<int> cuda_index(const std::string& device) {
  if (device == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!device.starts_with(kPrefix)) return std::nullopt;
  const auto index = to_number<int>(std::string_view(device).substr(kPrefix.size()));
  return index && *index >= 0 ? index : std::nullopt;
}

std::unique_ptr<kernels::Backend> open_cuda(int index) {
  if (const std::optional<std::string> why = kernels::why_no_cuda_device(index)) {
    throw Error(fmt::format("`device` cuda: {}{}", *why, kInstead));
  }
  return kernels::make_cuda_backend(index);
}

std::unique_ptr<kernels::Backend> open_cpu(int threads) {
  try {
    return kernels::make_cpu_backend(threads);
  } catch (const std::system_error& error) {
    throw Error(fmt::format("`threads` {}: the system cannot start that many ({})", threads,
                            error.code().message()));
  }
}

}  // namespace

std::unique_ptr<kernels::Backend> open_device(const std::string& device, int threads) {
  if (device == "cpu") return open_cpu(threads);
  if (const std::optional<int> index = cuda_index(device)) return open_cuda(*index);
  throw UsageError(fmt::format("`device`: '{}' given, expected cpu, cuda or cuda:N", device));
}

Gpu stand_in_gpu(const kernels::DeviceFacts& device) {
  Gpu gpu;
  gpu.name = profile_name(device);
  gpu.display_name = device.name;
  gpu.vendor = device.vendor;
  gpu.memory = Bytes{static_cast<double>(device.memory_bytes)};
  gpu.memory_visible = gpu.memory;
  gpu.multiprocessors = device.multiprocessors;
  gpu.gpus_per_node = 1;
  return gpu;
}

}  // namespace roofcast
