#include "kernels/cuda/nvml.hpp"

#include <array>
#include <stdexcept>

#include "kernels/cuda/loaded_library.hpp"

namespace roofcast::kernels::cuda {
namespace {

// The required declarations of NVML's C interface (NVML API reference, "Device Queries"): a result
// code where 0 is success, and an opaque device.
using Result = int;
struct OpaqueDevice;
using Device = OpaqueDevice*;
using ReadUnsigned = Result(Device, unsigned*);
using ReadUnsignedLong = Result(Device, unsigned long long*);
using ReadOfKind = Result(Device, int, unsigned*);

constexpr Result kSuccess = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuTemperature = 0;
constexpr unsigned kVersionSize = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE

/// The function, or null if the library is too old to have it.
template <class Function>
Function* optional_function(const LoadedLibrary& library, const char* name) {
  try {
    return library.function<Function>(name);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

template <class Number>
std::optional<double> read(Result (*function)(Device, Number*), Device device, double unit) {
  Number value = 0;
  if (function == nullptr || function(device, &value) != kSuccess) return std::nullopt;
  return static_cast<double>(value) * unit;
}

std::optional<double> read(ReadOfKind* function, Device device, int kind, double unit) {
  unsigned value = 0;
  if (function == nullptr || function(device, kind, &value) != kSuccess) return std::nullopt;
  return value * unit;
}

constexpr double kMilli = 1e-3;
constexpr double kMega = 1e6;

}  // namespace

struct Nvml::Library {
  LoadedLibrary library{nvml_name(), {}};
  Result (*shutdown)() = library.function<Result()>("nvmlShutdown");
  ReadUnsigned* power = optional_function<ReadUnsigned>(library, "nvmlDeviceGetPowerUsage");
  ReadUnsigned* power_limit =
      optional_function<ReadUnsigned>(library, "nvmlDeviceGetEnforcedPowerLimit");
  ReadUnsignedLong* energy =
      optional_function<ReadUnsignedLong>(library, "nvmlDeviceGetTotalEnergyConsumption");
  ReadOfKind* clock = optional_function<ReadOfKind>(library, "nvmlDeviceGetClockInfo");
  ReadOfKind* max_clock = optional_function<ReadOfKind>(library, "nvmlDeviceGetMaxClockInfo");
  ReadOfKind* temperature = optional_function<ReadOfKind>(library, "nvmlDeviceGetTemperature");
  ReadUnsignedLong* reasons =
      optional_function<ReadUnsignedLong>(library, "nvmlDeviceGetCurrentClocksEventReasons");
  Device device = nullptr;
  bool started = false;

  explicit Library(const std::string& uuid) {
    if (reasons == nullptr) {  // its name before driver 535
      reasons =
          optional_function<ReadUnsignedLong>(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    }
    if (library.function<Result()>("nvmlInit_v2")() != kSuccess) {
      throw std::runtime_error("NVML does not start");
    }
    started = true;
    const auto by_uuid =
        library.function<Result(const char*, Device*)>("nvmlDeviceGetHandleByUUID");
    if (by_uuid(uuid.c_str(), &device) != kSuccess) device = nullptr;
  }
  ~Library() {
    if (started) shutdown();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

ClockReasons clock_reasons(std::uint64_t bits) {
  constexpr std::uint64_t kPowerCap = 0x4;
  constexpr std::uint64_t kHardware = 0x8 | 0x40 | 0x80;
  constexpr std::uint64_t kTemperature = 0x20 | 0x40;
  return {.power_cap = (bits & kPowerCap) != 0,
          .hardware = (bits & kHardware) != 0,
          .temperature = (bits & kTemperature) != 0,
          .bits = bits};
}

Nvml::Nvml(const std::string& uuid) {
  try {
    library_ = std::make_unique<Library>(uuid);
    if (library_->device == nullptr) why_not_ = "NVML does not know the GPU " + uuid;
  } catch (const std::runtime_error& error) {
    library_.reset();
    why_not_ = error.what();
  }
}

Nvml::~Nvml() = default;
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;

bool Nvml::answers() const { return library_ != nullptr && library_->device != nullptr; }
const std::string& Nvml::why_not() const { return why_not_; }

std::optional<std::string> Nvml::driver_version() const {
  if (library_ == nullptr) return std::nullopt;
  const auto ask =
      optional_function<Result(char*, unsigned)>(library_->library, "nvmlSystemGetDriverVersion");
  std::array<char, kVersionSize> text{};
  if (ask == nullptr || ask(text.data(), kVersionSize) != kSuccess) return std::nullopt;
  return std::string(text.data());
}

std::optional<double> Nvml::power_w() const {
  if (!answers()) return std::nullopt;
  return read(library_->power, library_->device, kMilli);
}
std::optional<double> Nvml::power_limit_w() const {
  if (!answers()) return std::nullopt;
  return read(library_->power_limit, library_->device, kMilli);
}
std::optional<double> Nvml::energy_joule() const {
  if (!answers()) return std::nullopt;
  return read(library_->energy, library_->device, kMilli);
}
std::optional<double> Nvml::sm_clock_hz() const {
  if (!answers()) return std::nullopt;
  return read(library_->clock, library_->device, kSmClock, kMega);
}
std::optional<double> Nvml::memory_clock_hz() const {
  if (!answers()) return std::nullopt;
  return read(library_->clock, library_->device, kMemoryClock, kMega);
}
std::optional<double> Nvml::max_sm_clock_hz() const {
  if (!answers()) return std::nullopt;
  return read(library_->max_clock, library_->device, kSmClock, kMega);
}
std::optional<double> Nvml::temperature_celsius() const {
  if (!answers()) return std::nullopt;
  return read(library_->temperature, library_->device, kGpuTemperature, 1);
}
std::optional<ClockReasons> Nvml::reasons() const {
  unsigned long long bits = 0;
  if (!answers() || library_->reasons == nullptr) return std::nullopt;
  if (library_->reasons(library_->device, &bits) != kSuccess) return std::nullopt;
  return clock_reasons(bits);
}

}  // namespace roofcast::kernels::cuda
