#include "model/hardware/gpu.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

#include "base/chord_log2.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "model/curves/kernel_tables.hpp"

namespace roofcast {
namespace {

bool is_float(DType dtype) { return dtype != DType::int8 && dtype != DType::int4; }

}  // namespace

double Curve::at(double x) const {
  assert(!points.empty() && x > 0);
  if (x <= points.front().x) return points.front().y;
  if (x >= points.back().x) return points.back().y;
  const auto right = std::upper_bound(points.begin(), points.end(), x,
                                      [](double value, const Point& p) { return value < p.x; });
  const Point& a = *(right - 1);
  const Point& b = *right;
  const double share = (chord_log2(x) - chord_log2(a.x)) / (chord_log2(b.x) - chord_log2(a.x));
  return a.y + share * (b.y - a.y);
}

FlopsPerSecond peak_of(const std::map<DType, FlopsPerSecond>& dense_peak, DType compute) {
  assert(!dense_peak.empty());
  if (const auto own = dense_peak.find(compute); own != dense_peak.end()) return own->second;
  FlopsPerSecond best;
  for (const auto& [dtype, peak] : dense_peak) {
    const bool holds_it = bits_of(dtype) > bits_of(compute) ||
                          (bits_of(dtype) == bits_of(compute) && is_float(compute));
    if (is_float(dtype) && holds_it) best = std::max(best, peak);
  }
  assert(best.value > 0);  // the reader requires an fp32 peak
  return best;
}

int nics_of_node(const Gpu& gpu) {
  return gpu.nics_per_node > 0 ? gpu.nics_per_node : gpu.gpus_per_node;
}

std::optional<int> cuda_capability(const Gpu& gpu) {
  const std::vector<std::string_view> parts = split(gpu.compute_capability, '.');
  if (parts.size() != 2) return std::nullopt;
  const std::optional<int> tens = to_number<int>(parts[0]), ones = to_number<int>(parts[1]);
  if (!tens || !ones) return std::nullopt;
  return *tens * 10 + *ones;
}

bool is_cpu(const Gpu& gpu) {
  // x86 and Arm; GPUs have a version ("9.0") or a target ("gfx942") instead.
  constexpr std::array<std::string_view, 6> kExtensions{"avx", "amx", "sse", "neon", "sve", "sme"};
  return gpu.compute_capability.empty() ||
         std::any_of(kExtensions.begin(), kExtensions.end(), [&](std::string_view extension) {
           return gpu.compute_capability.starts_with(extension);
         });
}

bool Gpu::has_tables_for(std::string_view engine) const {
  return tables != nullptr && tables->answer_for(engine);
}

}  // namespace roofcast
