#include "calibrate/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "calibrate/curve_fit.hpp"
#include "calibrate/derived_efficiency.hpp"
#include "calibrate/extent.hpp"
#include "model/step/collective.hpp"

namespace roofcast {

namespace {

// Minimum accepted in profiles (model/io/measured_reader.cpp): an empty call on a CPU takes less.
constexpr Seconds kMinKernelFloor{1e-9};

DType dtype_of(kernels::Element element) {
  switch (element) {
    case kernels::Element::fp32:
      return DType::fp32;
    case kernels::Element::fp16:
      return DType::fp16;
    case kernels::Element::bf16:
      return DType::bf16;
    case kernels::Element::fp8_e4m3:
      return DType::fp8;
    case kernels::Element::int8:
      return DType::int8;
  }
  return DType::bf16;
}

/// "9.0" for "sm_90", "12.0" for "sm_120".
std::string compute_capability(const kernels::DeviceFacts& device) {
  if (is_cpu(device)) return "";
  const std::string digits = device.architecture.substr(3);
  if (digits.size() < 2) return "";
  return digits.substr(0, digits.size() - 1) + "." + digits.back();
}

std::string threads_of(const kernels::DeviceFacts& device) {
  const int threads = device.multiprocessors;
  return fmt::format("{} {}", threads, threads == 1 ? "thread" : "threads");
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

/// Facts of a device that is not in the catalogue.
Gpu facts_of(const CalibrationData& data) {
  const kernels::DeviceFacts& device = data.device;
  Gpu gpu;
  gpu.name = profile_name(device);
  gpu.display_name = device.name;
  if (is_cpu(device)) gpu.display_name += ", " + threads_of(device);
  gpu.vendor = or_unknown(device.vendor);
  gpu.architecture = or_unknown(device.architecture);
  gpu.compute_capability = compute_capability(device);
  gpu.memory = Bytes{static_cast<double>(device.memory_bytes)};
  gpu.memory_visible = gpu.memory;
  gpu.l2_cache = Bytes{static_cast<double>(device.cache_bytes)};
  gpu.multiprocessors = std::max(1, device.multiprocessors);
  if (device.clock_hz > 0) gpu.boost_clock_hz = device.clock_hz;
  gpu.gpus_per_node = data.devices;
  if (device.power_limit_w) gpu.board_power = Watts{*device.power_limit_w};
  for (const char* key :
       {"memory_bytes", "memory_visible_bytes", "l2_cache_bytes", "multiprocessors"}) {
    gpu.sources[key] = "as reported by the device";
  }
  return gpu;
}

/// Physical limits as reported by the device; nullopt if it reports too little.
std::optional<Gpu> physics_of(const CalibrationData& data) {
  const kernels::DeviceFacts& device = data.device;
  if (device.peak_flops_per_s.empty() || !device.peak_bandwidth_bytes_per_s) return std::nullopt;
  Gpu gpu = facts_of(data);
  gpu.memory_bandwidth = BytesPerSecond{*device.peak_bandwidth_bytes_per_s};
  for (const auto& [element, rate] : device.peak_flops_per_s) {
    gpu.dense_peak[dtype_of(element)] = FlopsPerSecond{rate};
  }
  // If the peak of an arithmetic format is unknown, no rate is rejected.
  constexpr double kNoPeak = 1e18;
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16, DType::fp8, DType::int8}) {
    gpu.dense_peak.try_emplace(dtype, FlopsPerSecond{kNoPeak});
  }
  return gpu;
}

/// Sets peaks and bandwidth to the observed ceilings.
void set_ceilings(Gpu& gpu, const CalibrationData& data, const Ceilings& ceilings) {
  gpu.memory_bandwidth = std::max(ceilings.copy, ceilings.read);
  gpu.sources["memory_bandwidth_bytes_per_s"] =
      fmt::format("measured {}: the faster of copying and of reading weights or KV", data.date);
  gpu.dense_peak = ceilings.gemm;
  gpu.sources["dense_peak_flops_per_s"] =
      fmt::format("measured {}: the fastest matrix product in each format", data.date);
  if (gpu.dense_peak.contains(DType::fp32)) return;
  const auto stated = data.device.peak_flops_per_s.find(kernels::Element::fp32);
  if (stated != data.device.peak_flops_per_s.end()) {
    gpu.dense_peak[DType::fp32] = FlopsPerSecond{stated->second};
    gpu.sources["dense_peak_flops_per_s.fp32"] = "from the device's units and clock, not timed";
    return;
  }
  const auto slowest =
      std::min_element(gpu.dense_peak.begin(), gpu.dense_peak.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  gpu.dense_peak[DType::fp32] = slowest->second;
  gpu.sources["dense_peak_flops_per_s.fp32"] =
      fmt::format("assumption: not timed; at most the rate of {}", name_of(slowest->first));
}

/// Highest observed rate of collectives, counted as in a ring; the physical link is faster.
std::optional<Link> measured_link(const std::vector<TimedCase>& timed) {
  std::optional<Link> link;
  for (const TimedCase& t : timed) {
    if (t.c.kind != CaseKind::collective) continue;
    const Seconds time{t.timing.statistics.median};
    const Bytes sent{t.c.x * ring_share(t.c.shape.exchange, t.c.shape.ranks)};
    if (!link) link = Link{.name = "as measured", .bandwidth = sent / time, .latency = time};
    link->bandwidth = std::max(link->bandwidth, sent / time);
    link->latency = std::min(link->latency, time);
  }
  return link;
}

void set_link(Gpu& gpu, const CalibrationData& data) {
  gpu.peer = measured_link(data.timed);
  if (!gpu.peer) return;
  gpu.sources["peer_link"] = fmt::format(
      "measured {}: bandwidth of the fastest collective, latency of the shortest", data.date);
}

std::vector<TimedPoint> curve_points(const std::vector<TimedCase>& timed) {
  std::vector<TimedPoint> points;
  for (const TimedCase& t : timed) {
    if (t.c.role != CaseRole::curve) continue;
    const Statistics& s = t.timing.statistics;
    points.push_back({.shape = t.c.shape,
                      .kernel = t.c.kernel,
                      .point = {.x = t.c.x,
                                .y = t.c.y,
                                .time = Seconds{s.median},
                                .relative_spread = s.relative_spread(),
                                .samples = static_cast<int>(s.count)},
                      .name = name_of(t.c)});
  }
  return points;
}

/// Median clock of all samples; 0: unknown.
double median_clock(const std::vector<TimedCase>& timed) {
  std::vector<double> clocks;
  for (const TimedCase& t : timed) {
    for (const TimedSample& sample : t.timing.samples) {
      if (sample.clock_hz > 0) clocks.push_back(sample.clock_hz);
    }
  }
  return clocks.empty() ? 0 : median(clocks);
}

Measured provenance_of(const CalibrationData& data) {
  Measured measured;
  measured.device = data.device.name;
  measured.identity = data.device.identity;
  measured.date = data.date;
  measured.tool = data.tool;
  measured.protocol = describe(data.protocol);
  measured.incomplete = data.incomplete;
  const bool collectives =
      std::any_of(data.timed.begin(), data.timed.end(),
                  [](const TimedCase& t) { return t.c.kind == CaseKind::collective; });
  if (collectives) measured.protocol += "; " + describe_collectives(data.protocol);
  measured.versions.assign(data.device.versions.begin(), data.device.versions.end());
  measured.clock_hz = median_clock(data.timed);
  for (const TimedCase& t : data.timed) measured.dropped_samples += t.timing.dropped();
  return measured;
}

}  // namespace

Ceilings ceilings_of(const std::vector<TimedCase>& timed) {
  Ceilings ceilings;
  double largest_copy = 0;
  for (const TimedCase& t : timed) {
    const Seconds time{t.timing.statistics.median};
    if (t.c.kind == CaseKind::nothing) ceilings.kernel_floor = std::max(time, kMinKernelFloor);
    if (t.c.kind == CaseKind::copy && t.c.x > largest_copy) {
      largest_copy = t.c.x;
      ceilings.copy = Bytes{t.c.x} / time;
    }
    if (t.c.role != CaseRole::curve && t.c.role != CaseRole::sentinel) continue;
    if (t.c.kind != CaseKind::gemm && t.c.kind != CaseKind::decode_attention) continue;
    const ShapeWork work = shape_work(t.c.shape, t.c.x, t.c.y, 1);
    ceilings.read = std::max(ceilings.read, work.stored_bytes / time);
    if (t.c.kind != CaseKind::gemm) continue;
    FlopsPerSecond& best = ceilings.gemm[kernel_format(t.c.shape.format)->compute];
    best = std::max(best, work.flops / time);
  }
  return ceilings;
}

Gpu make_profile(const CalibrationData& data, const Gpu* known) {
  const Ceilings ceilings = ceilings_of(data.timed);
  assert(!ceilings.gemm.empty() && ceilings.copy.value > 0);
  const std::optional<Gpu> stated = known != nullptr ? *known : physics_of(data);
  const std::string calibrated = fmt::format("calibrated {} by {}", data.date, data.tool);
  Gpu gpu = known != nullptr ? *known : facts_of(data);
  if (known == nullptr) {
    set_ceilings(gpu, data, ceilings);
    set_link(gpu, data);
  }
  gpu.gpus_per_node = std::max(gpu.gpus_per_node, data.devices);

  const std::vector<TimedPoint> points = curve_points(data.timed);
  FittedCurves fitted = fit_curves(points, gpu.multiprocessors, stated ? &*stated : nullptr);
  Measured measured = provenance_of(data);
  measured.curves = std::move(fitted.curves);
  measured.rejected = std::move(fitted.rejected);
  static_cast<DeviceRates&>(measured) = data.host;
  measured.copy_bandwidth = ceilings.copy;
  measured.read_bandwidth = ceilings.read;
  measured.kernel_floor = ceilings.kernel_floor;

  const Seconds stated_all_reduce = gpu.floors.all_reduce;
  gpu.floors = derive_floors(measured, gpu.floors);
  // Formats that were not timed keep their known efficiencies.
  gpu.efficiencies =
      with_stated(derive_efficiencies(gpu, measured, gpu.floors, calibrated), gpu.efficiencies);
  for (auto& [key, source] : gpu.sources) {
    const bool kept = key == "floors_s.all_reduce" && gpu.floors.all_reduce == stated_all_reduce;
    if (key.starts_with("floors_s.") && !kept) source = calibrated;
  }
  gpu.measured = std::move(measured);
  return gpu;
}

std::vector<CheckRatio> check_ratios(const std::vector<TimedCase>& timed) {
  std::map<std::string, double> even;
  for (const TimedCase& t : timed) {
    if (t.c.role == CaseRole::curve) even[name_of(t.c)] = t.timing.statistics.median;
  }
  std::vector<CheckRatio> ratios;
  for (const TimedCase& t : timed) {
    if (t.c.role != CaseRole::check) continue;
    CalibrationCase even_case = t.c;
    even_case.role = CaseRole::curve;
    const auto found = even.find(name_of(even_case));
    if (found == even.end()) continue;
    ratios.push_back({.name = name_of(t.c),
                      .family = t.c.shape.family,
                      .ratio = t.timing.statistics.median / found->second});
  }
  return ratios;
}

std::string profile_name(const kernels::DeviceFacts& device) {
  std::string text = device.name;
  if (is_cpu(device)) text += " " + threads_of(device);
  const std::string name = slug(text);
  return name.empty() ? "device" : name;
}

}  // namespace roofcast
