#include "calibrate/extent.hpp"

#include <algorithm>

#include "base/quantity.hpp"
#include "base/units.hpp"

namespace roofcast {

namespace {

// Share of free memory: the rest is for libraries' workspaces and, on a CPU, for other processes.
constexpr double kShareOfGpu = 0.8;
constexpr double kShareOfCpu = 0.5;

// Keys and values per call: a quarter of a full card is enough to time a batch.
constexpr double kCachedShare = 0.25;
constexpr double kMaxCachedQuick = 4e9;
constexpr double kMaxCachedOnCpu = 1e9;

// All-reduce of a prefill step of 16 Ki tokens of 8192 elements. Every group of devices keeps two
// messages on each, in addition to the operands.
constexpr double kMaxMessage = 256 * kMiB;
constexpr double kMessageShare = 1.0 / 64;
constexpr int kMessageOctavesQuick = 4;

CaseLimits limits_of(ExtentKind kind, bool cpu) {
  const bool quick = kind == ExtentKind::quick;
  if (cpu) {
    // Which of a CPU's two sources is faster changes several times with the number of rows.
    return {.max_tokens = quick ? 1024 : 2048,
            .max_sequences = 64,
            .longest_context = 8192,
            .every_source = true};
  }
  return {.max_tokens = quick ? 8192 : 32768,
          .max_sequences = 256,
          .longest_context = quick ? 32768 : 131072,
          .every_source = !quick};
}

// A source slower by this factor does not become the faster one at a larger size.
constexpr double kOutrun = 3;

SweepOptions sweep_of(ExtentKind kind) {
  switch (kind) {
    case ExtentKind::quick:
      return {.budget_s = 9, .collective_budget_s = 6, .max_call_s = 0.03, .outrun = kOutrun};
    case ExtentKind::model:
      return {.budget_s = 55, .collective_budget_s = 25, .max_call_s = 0.25};
    case ExtentKind::full:
      break;
  }
  return {.budget_s = 290, .collective_budget_s = 40, .max_call_s = 0.25};
}

// Buffers of a layer, such as its residual and the wider ones between its products.
constexpr int kWrittenPlacesOnCpu = 8;

/// A quick look has a few hundred points in a few seconds: less warm-up, and fewer samples of long
/// calls.
TimingProtocol protocol_of(ExtentKind kind, bool cpu) {
  TimingProtocol protocol;
  if (cpu) protocol.written_places = kWrittenPlacesOnCpu;
  protocol.inputs_written = cpu;
  if (kind != ExtentKind::quick) return protocol;
  protocol.warm_up_s = 4e-3;
  protocol.stop.time_box_s = 12e-3;
  return protocol;
}

}  // namespace

bool is_cpu(const kernels::DeviceFacts& device) { return !device.architecture.starts_with("sm_"); }

Extent extent_of(ExtentKind kind, const kernels::DeviceFacts& device,
                 std::int64_t longest_context) {
  const bool cpu = is_cpu(device);
  Extent extent{
      .limits = limits_of(kind, cpu), .sweep = sweep_of(kind), .protocol = protocol_of(kind, cpu)};
  extent.memory_bytes =
      static_cast<double>(device.free_memory_bytes) * (cpu ? kShareOfCpu : kShareOfGpu);
  double cached = extent.memory_bytes * kCachedShare;
  if (kind == ExtentKind::quick) cached = std::min(cached, kMaxCachedQuick);
  if (cpu) cached = std::min(cached, kMaxCachedOnCpu);
  extent.limits.cached_bytes = cached;
  const double message = std::min(kMaxMessage, extent.memory_bytes * kMessageShare);
  extent.limits.message_bytes = cpu ? 0 : message;
  if (kind == ExtentKind::quick) extent.limits.message_octaves = kMessageOctavesQuick;
  extent.limits.longest_context = std::min(extent.limits.longest_context, longest_context);
  return extent;
}

}  // namespace roofcast
