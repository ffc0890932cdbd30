// Reads from NVIDIA's management library a GPU's power, energy, clocks and reasons for throttling.
// Read-only. The library comes with the driver and is loaded at run time; if it is missing or does
// not support a query, the result is absent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace roofcast::kernels::cuda {

/// Reasons for clocks below the maximum, bits of nvmlDeviceGetCurrentClocksEventReasons.
struct ClockReasons {
  bool power_cap = false;    // the power limit (software)
  bool hardware = false;     // power brake, temperature or voltage (hardware)
  bool temperature = false;  // a temperature limit, by software or hardware
  std::uint64_t bits = 0;    // as NVML returns them
  bool throttled() const { return power_cap || hardware || temperature; }
};

/// Bits of nvml.h, which this toolkit does not have: 0x4 (SwPowerCap), 0x8 (HwSlowdown), 0x20
/// (SwThermalSlowdown), 0x40 (HwThermalSlowdown), 0x80 (HwPowerBrakeSlowdown).
ClockReasons clock_reasons(std::uint64_t bits);

/// One GPU in NVML. Never throws.
class Nvml {
 public:
  /// `uuid`: "GPU-...", because NVML and CUDA may number devices differently.
  explicit Nvml(const std::string& uuid);
  ~Nvml();
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;

  /// Whether the library was found and knows the GPU.
  bool answers() const;
  const std::string& why_not() const;

  std::optional<std::string> driver_version() const;
  std::optional<double> power_w() const;
  std::optional<double> power_limit_w() const;
  /// Since the driver was loaded; the counter advances every 20 to 100 ms.
  std::optional<double> energy_joule() const;
  std::optional<double> sm_clock_hz() const;
  std::optional<double> memory_clock_hz() const;
  std::optional<double> max_sm_clock_hz() const;
  std::optional<double> temperature_celsius() const;
  std::optional<ClockReasons> reasons() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::string why_not_;
};

}  // namespace roofcast::kernels::cuda
