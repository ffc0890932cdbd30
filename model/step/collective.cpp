#include "model/step/collective.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <span>
#include <string>

#include "base/error.hpp"

namespace roofcast {

namespace {

// NCCL's bus bandwidth over the link's: 315 to 348 of 450 GB/s for all-reduce over 2 and 4 H200,
// 298 to 337 for the other collectives over 2 to 8 (NCCL 2.29), 193 to 222 of 300 over A100 (NCCL
// 2.27; all from aiconfigurator 095f58a). DeepEP's exchange within a node: 153 of 200 GB/s on H800,
// with the eighth of a rank's own tokens counted (legacy.md of DeepEP at dd758ca).
constexpr double kLinkEfficiency = 0.70;

// Share of a NIC's line rate: 24 of 25 GB/s is the peak per 200 Gbit/s NIC (NVIDIA/nccl-tests issue
// 119, where four a node reach 96), 46 to 48 of 50 per 400 Gbit/s (issue 290).
constexpr double kNicEfficiency = 0.96;

/// NCCL's expectations of one protocol (LL, LL128, Simple) of an algorithm: the share of the bus
/// bandwidth that carries data, and latencies in microseconds. Tables baseLatencies and hwLatencies
/// and the factors of ncclTopoTuneModel, src/graph/tuning.cc of NCCL 2.30 (5067397).
struct Protocol {
  double share = 1;
  double base = 0;
  double inside = 0;   // per hop over NVLink
  double between = 0;  // per hop over the network
  double host = 0;     // per hop of a ring: posting to the NIC (Intel CPUs)
};
constexpr Protocol kRing[] = {{.share = 0.5, .base = 6.6, .inside = 0.6, .between = 2.7, .host = 1},
                              {.share = 0.92, .base = 14, .inside = 1.9, .between = 4, .host = 1},
                              {.share = 1, .base = 8.4, .inside = 3.4, .between = 14, .host = 3}};
constexpr Protocol kTree[] = {
    {.share = 0.92 / 3.8, .base = 6.8, .inside = 0.6, .between = 5},
    {.share = 0.92 * 120 / 128, .base = 14, .inside = 1.25, .between = 8.5},
    {.share = 0.92, .base = 8.4, .inside = 4, .between = 14}};
/// NVLink SHARP within the nodes, a tree between them.
constexpr Protocol kNvlsTree{.share = 1, .base = 0, .inside = 25, .between = 20.9};
/// The first row of kRing over PCIe.
constexpr Protocol kPcieRing{.base = 6.6, .inside = 1};

// DeepEP's low-latency kernels take this much longer than their bytes over the slower of NVLink
// (0.70 of 200 GB/s) and NIC (0.96 of 50 GB/s): between nodes 35 to 44 us to dispatch and 42 to 64
// us to combine (once 82) over 16 to 256 H800, within a node 23 and 9 us (legacy.md of DeepEP
// at dd758ca, 128 tokens of 7,168).
constexpr Seconds kLowLatencyBetween{40e-6};
constexpr Seconds kLowLatencyInside{16e-6};

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

/// How the ranks of a group lie on nodes: on as few as hold them, evenly.
struct NodeGroups {
  int nodes = 1;
  double a_node = 1;  // ranks
};

NodeGroups node_groups_of(const Work& work, const Gpu& gpu) {
  // Ranks `stride` apart: the groups between them lie on the same nodes.
  const std::int64_t gpus = static_cast<std::int64_t>(work.ranks) * work.stride;
  const int nodes = std::min(nodes_of(gpu, gpus), work.ranks);
  return {.nodes = nodes, .a_node = static_cast<double>(work.ranks) / nodes};
}

bool within_node(const Gpu& gpu, int ranks) { return ranks <= gpu.gpus_per_node; }

/// The NICs that a node's ranks of one group drive: no rank drives more than one, and all share
/// those of the node.
BytesPerSecond line_rate(const Work& work, const Gpu& gpu, const NodeGroups& groups) {
  const double gpus = std::min(static_cast<double>(gpu.gpus_per_node),
                               groups.a_node * static_cast<double>(work.stride));
  const double nics = std::min(static_cast<double>(nics_of_node(gpu)), gpus);
  return link_between(gpu, gpu.gpus_per_node + 1).bandwidth * (nics * groups.a_node / gpus);
}

BytesPerSecond bus_bandwidth(const Link& link) {
  return link.bus_bandwidth.value_or(link.bandwidth * kLinkEfficiency);
}

bool is_pcie(const Link& link) { return link.name.starts_with("PCIe"); }

/// Switches that reduce (NVLink SHARP): Hopper and later with NVSwitch.
bool reduces_in_switches(const Gpu& gpu) {
  return gpu.peer && gpu.peer->name.starts_with("NVLink") && gpu.architecture != "ampere" &&
         gpu.architecture != "ada" && gpu.gpus_per_node >= 8;
}

double floor_log2(int nodes) {
  return static_cast<double>(std::bit_width(static_cast<unsigned>(nodes)) - 1);
}

Seconds microseconds(double us) { return Seconds{us * 1e-6}; }

/// One call within a node, or as if all ranks were in one.
Seconds time_inside(const Work& work, const Gpu& gpu) {
  const auto& curves = gpu.efficiencies.all_reduce;
  if (work.exchange == Exchange::all_reduce && !curves.empty()) {
    // Not the measured fan-out: scale by what a ring sends.
    const auto& [fan_out, curve] = nearest_fan_out(curves, work.ranks);
    const double scaling =
        ring_share(work.exchange, work.ranks) / ring_share(work.exchange, fan_out);
    const Seconds measured{measured_seconds(curve, work.scale) * std::max(1.0, scaling)};
    return std::max(measured, one_shot_time(work, gpu));
  }
  const Link& link = link_between(gpu, std::min(work.ranks, gpu.gpus_per_node));
  Seconds fixed = gpu.floors.all_reduce;
  if (work.exchange == Exchange::point_to_point) fixed = std::max(fixed, link.latency);
  if (is_pcie(link) && work.exchange != Exchange::point_to_point) {
    const double hops = (work.exchange == Exchange::all_reduce ? 2 : 1) * (work.ranks - 1);
    fixed = std::max(fixed, microseconds(kPcieRing.base + hops * kPcieRing.inside));
  }
  const Bytes sent{work.scale * ring_share(work.exchange, work.ranks)};
  return fixed + sent / bus_bandwidth(link);
}

/// One call of all-reduce, all-gather or reduce-scatter between nodes: the fastest of NCCL's
/// algorithms and protocols (it chooses by this model, too), and never faster than with all ranks
/// in one node.
Seconds time_between(const Work& work, const Gpu& gpu, const NodeGroups& groups) {
  const bool reduces = work.exchange == Exchange::all_reduce;
  const BytesPerSecond nics = line_rate(work, gpu, groups) * kNicEfficiency;
  const double latency = link_between(gpu, gpu.gpus_per_node + 1).latency.value * 1e6;
  // The LL protocols of NCCL carry no more than this between nodes (llMaxBws, Intel).
  const BytesPerSecond ll_max{groups.nodes == 2 ? 39.0e9 : 20.4e9};
  const auto carried = [&](const Protocol& protocol) {
    const BytesPerSecond rate = nics * protocol.share;
    return protocol.share > 0.5 ? rate : std::min(rate, ll_max);
  };
  const auto hop = [&](double us) { return std::max(us, latency); };
  const Bytes message{work.scale};
  const Bytes ring = message * ring_share(work.exchange, work.ranks);
  const double passes = reduces ? 2 : 1;
  Seconds best{INFINITY};
  for (const Protocol& p : kRing) {
    const double between = passes * (groups.nodes - 1);
    const double inside = passes * (work.ranks - 1) - between;
    const Seconds hops =
        microseconds(p.base + inside * std::max(p.inside, p.host) + between * hop(p.between));
    best = std::min(best, hops + ring / carried(p));
  }
  if (reduces) {
    const double levels = floor_log2(groups.nodes);
    for (const Protocol& p : kTree) {
      const Seconds hops =
          microseconds(p.base + 2 * ((groups.a_node - 1) * p.inside + levels * hop(p.between)));
      best = std::min(best, hops + message * 2.0 / carried(p));
    }
    if (reduces_in_switches(gpu)) {
      // Two nodes send each other their sums once.
      const double share = groups.nodes == 2 ? 0.5 : 1.0;
      const Seconds hops = microseconds(kNvlsTree.inside + 2 * levels * hop(kNvlsTree.between));
      best = std::min(best, hops + ring * share / nics);
    }
  }
  return std::max(best, time_inside(work, gpu));
}

/// One exchange of experts' tokens, or of equal parts between all ranks.
Seconds exchange_time(const Work& work, const Gpu& gpu, const NodeGroups& groups) {
  const bool several = groups.nodes > 1;
  const Link& link = link_between(gpu, std::min(work.ranks, gpu.gpus_per_node));
  const BytesPerSecond inside = bus_bandwidth(link);
  const Bytes message{work.scale};
  const auto others = [](double ranks) { return (ranks - 1) / ranks; };
  if (!several && work.experts.copies_per_expert == 0) return time_inside(work, gpu);
  const auto over_network = [&](Bytes sent) {
    return sent / (line_rate(work, gpu, groups) * (kNicEfficiency / groups.a_node));
  };
  Seconds best{INFINITY};
  if (!work.experts.low_latency_only) {
    Seconds fixed = gpu.floors.all_reduce;
    if (several) fixed = std::max(fixed, link_between(gpu, gpu.gpus_per_node + 1).latency);
    // No less than what the kernels for low latency take.
    if (work.experts.off_node) fixed = std::max(fixed, kLowLatencyBetween);
    const Seconds sent = several ? over_network(message * off_node_share(work, gpu)) : Seconds{};
    // Messages from another node are passed on to their ranks there.
    const double passed = !several                ? others(work.ranks)
                          : work.experts.off_node ? others(groups.a_node)
                                                  : (groups.a_node - 1) / work.ranks;
    best = fixed + std::max(message * passed / inside, sent);
    if (!work.experts.off_node) best = std::max(best, time_inside(work, gpu));
  }
  if (work.experts.copies_per_expert > 0) {
    const Bytes copies = message * work.experts.copies_per_expert;
    const double away = others(groups.nodes);
    const Seconds sent = several
                             ? std::max(copies * (1 - away) / inside, over_network(copies * away))
                             : copies / inside;
    best = std::min(best, (several ? kLowLatencyBetween : kLowLatencyInside) + sent);
  }
  return best;
}

}  // namespace

int nodes_of(const Gpu& gpu, std::int64_t ranks) {
  return static_cast<int>((ranks + gpu.gpus_per_node - 1) / gpu.gpus_per_node);
}

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

double off_node_share(const Work& work, const Gpu& gpu) {
  const NodeGroups groups = node_groups_of(work, gpu);
  if (groups.nodes == 1) return 0;
  const double away = 1.0 - groups.a_node / work.ranks;
  switch (work.exchange) {
    case Exchange::all_reduce:
    case Exchange::point_to_point:
      return 1.0;
    case Exchange::all_gather:
    case Exchange::reduce_scatter:
      return away;
    case Exchange::all_to_all:
      return work.experts.off_node.value_or(away);
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

Seconds link_limit(const Work& work, const Gpu& gpu) {
  const NodeGroups groups = node_groups_of(work, gpu);
  if (groups.nodes == 1) return work.bytes / link_between(gpu, work.ranks).bandwidth;
  const Bytes messages{work.scale * static_cast<double>(work.calls)};
  const double a_node = work.exchange == Exchange::all_to_all ? groups.a_node : 1.0;
  const BytesPerSecond rate = work.exchange == Exchange::point_to_point
                                  ? link_between(gpu, gpu.gpus_per_node + 1).bandwidth
                                  : line_rate(work, gpu, groups);
  return messages * (off_node_share(work, gpu) * a_node) / rate;
}

Seconds collective_time(const Work& work, const Gpu& gpu) {
  const auto calls = static_cast<double>(work.calls);
  const NodeGroups groups = node_groups_of(work, gpu);
  if (work.exchange == Exchange::all_to_all) return exchange_time(work, gpu, groups) * calls;
  if (groups.nodes == 1) return time_inside(work, gpu) * calls;
  if (work.exchange == Exchange::point_to_point) {
    const Link& nic = link_between(gpu, gpu.gpus_per_node + 1);
    const Seconds fixed = std::max(nic.latency, gpu.floors.all_reduce);
    return (fixed + Bytes{work.scale} / (nic.bandwidth * kNicEfficiency)) * calls;
  }
  return time_between(work, gpu, groups) * calls;
}

}  // namespace roofcast
