// Time of communication between GPUs: the profile's measured all-reduces, else latency and link.
#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "model/step/efficiency.hpp"

namespace roofcast {

namespace {

// NCCL's bus bandwidth over the link's: 315 to 348 of 450 GB/s for all-reduce over 2 and 4 H200,
// 298 to 337 for the other collectives over 2 to 8 (NCCL 2.29), 193 to 222 of 300 over A100 (NCCL
// 2.27; all from aiconfigurator 095f58a).
constexpr double kLinkEfficiency = 0.70;

/// Seconds of one call by a measured curve. Between points the time is linear in the bytes (latency
/// plus bytes over bandwidth); beyond the last point it continues with the last slope.
double measured_seconds(const Curve& curve, double bytes) {
  const auto& points = curve.points;
  if (bytes <= points.front().x) return points.front().y;
  if (points.size() == 1) return points.front().y * bytes / points.front().x;
  const auto after = std::upper_bound(points.begin(), points.end() - 1, bytes,
                                      [](double x, const Curve::Point& p) { return x < p.x; });
  const Curve::Point& a = *(after - 1);
  const Curve::Point& b = *after;
  const double between = a.y + (b.y - a.y) / (b.x - a.x) * (bytes - a.x);
  // Noise may make a larger message faster; keep the time from falling.
  double seconds = between;
  for (auto point = points.begin(); point != after; ++point) seconds = std::max(seconds, point->y);
  return seconds;
}

/// The measured fan-out to start from: the largest not above `ranks`, else the smallest.
const std::pair<const int, Curve>& nearest_fan_out(const std::map<int, Curve>& curves, int ranks) {
  const auto above = curves.upper_bound(ranks);
  return above == curves.begin() ? *above : *std::prev(above);
}

/// One call of a one-shot all-reduce (zero if the engine has none or the GPUs share no peer link).
/// Beyond the limit the engine uses another algorithm, chosen because it is no slower there.
Seconds one_shot_time(const Work& work, const Gpu& gpu) {
  if (work.one_shot.link_share <= 0 || !gpu.peer) return {};
  const Bytes message{std::min(work.scale, work.one_shot.limit.value)};
  const Bytes read = message * static_cast<double>(work.ranks - 1);
  return gpu.floors.all_reduce + read / (gpu.peer->bandwidth * work.one_shot.link_share);
}

bool within_node(const Gpu& gpu, int ranks) { return ranks <= gpu.gpus_per_node; }

}  // namespace

double ring_share(Exchange exchange, int ranks) {
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (exchange) {
    case Exchange::all_reduce:
      return 2.0 * others;
    case Exchange::all_gather:
    case Exchange::reduce_scatter:
    case Exchange::all_to_all:
      return others;
    case Exchange::point_to_point:
      return 1.0;
  }
  return 1.0;
}

const Link& link_between(const Gpu& gpu, int ranks) {
  if (within_node(gpu, ranks)) {
    if (gpu.peer) return *gpu.peer;
    if (gpu.host) return *gpu.host;
  }
  if (gpu.network) return *gpu.network;
  throw Error(gpu.name + ": " + std::to_string(ranks) +
              " GPUs must exchange data, but the profile has no " +
              (within_node(gpu, ranks) ? "peer_link or host_link" : "network_link"));
}

Seconds collective_time(const Work& work, const Gpu& gpu) {
  const auto calls = static_cast<double>(work.calls);
  const auto& curves = gpu.efficiencies.all_reduce;
  if (work.exchange == Exchange::all_reduce && !curves.empty() && within_node(gpu, work.ranks)) {
    // Not the measured fan-out: scale by what a ring sends.
    const auto& [fan_out, curve] = nearest_fan_out(curves, work.ranks);
    const double scaling =
        ring_share(work.exchange, work.ranks) / ring_share(work.exchange, fan_out);
    const Seconds measured{measured_seconds(curve, work.scale) * std::max(1.0, scaling)};
    return std::max(measured, one_shot_time(work, gpu)) * calls;
  }
  const Link& link = link_between(gpu, work.ranks);
  const Seconds fixed = work.exchange == Exchange::point_to_point || !within_node(gpu, work.ranks)
                            ? std::max(link.latency, gpu.floors.all_reduce)
                            : gpu.floors.all_reduce;
  const Bytes sent{work.scale * ring_share(work.exchange, work.ranks)};
  return (fixed + sent / (link.bandwidth * kLinkEfficiency)) * calls;
}

}  // namespace roofcast
