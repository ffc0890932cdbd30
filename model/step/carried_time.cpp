#include "model/step/carried_time.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace roofcast {
namespace {

Seconds limit_on(const Work& work, FlopsPerSecond peak, BytesPerSecond bandwidth) {
  return std::max(work.flops / peak, work.bytes / bandwidth);
}

bool has_link_like(const std::optional<Link>& theirs, const std::optional<Link>& own) {
  return theirs && own && theirs->name == own->name;
}

Curve transferred_all_reduce(Curve curve, double slower) {
  const double first = curve.points.front().y;
  for (Curve::Point& point : curve.points) {
    point.y = first + std::max(0.0, point.y - first) * slower;
  }
  return curve;
}

/// Adds the curves of `theirs` that `own` lacks.
template <class Curves>
void add_missing(const Curves& theirs, Curves& own) {
  own.insert(theirs.begin(), theirs.end());
}

}  // namespace

double carried_deviation(const SisterCard& from, BytesPerSecond memory_bandwidth) {
  const double by_memory = kCarriedByBandwidth * std::log(memory_bandwidth / from.memory_bandwidth);
  const double deviation = std::hypot(kCarriedDeviation, by_memory);
  return from.same_chip ? deviation : std::max(deviation, kOtherChipDeviation);
}

bool has_same_chip(const Gpu& a, const Gpu& b) {
  const auto facts = [](const Gpu& gpu) {
    return std::tie(gpu.architecture, gpu.compute_capability, gpu.dense_peak, gpu.memory_bandwidth,
                    gpu.l2_cache, gpu.multiprocessors, gpu.boost_clock_hz);
  };
  return facts(a) == facts(b);
}

SisterCard sister_card(const Gpu& gpu) {
  return {.name = gpu.name,
          .dense_peak = gpu.dense_peak,
          .memory_bandwidth = gpu.memory_bandwidth,
          .multiprocessors = gpu.multiprocessors,
          .clock_hz = gpu.boost_clock_hz.value_or(0),
          .peer = gpu.peer};
}

double transferred_fixed(const SisterCard& from, const Gpu& to) {
  const double clock = to.boost_clock_hz.value_or(from.clock_hz);
  return clock > 0 ? std::max(1.0, from.clock_hz / clock) : 1.0;
}

double transferred_ratio(const Work& work, const SisterCard& from, const Gpu& to) {
  if (work.family == OperatorFamily::collective) {
    return has_link_like(from.peer, to.peer) ? from.peer->bandwidth / to.peer->bandwidth : 1.0;
  }
  const Seconds theirs =
      limit_on(work, peak_of(from.dense_peak, work.compute), from.memory_bandwidth);
  if (theirs.value <= 0) return from.memory_bandwidth / to.memory_bandwidth;
  return limit_on(work, to.peak_for(work.compute), to.memory_bandwidth) / theirs;
}

bool carries_over(const Gpu& gpu, OperatorFamily family) {
  return !gpu.sister || family != OperatorFamily::collective ||
         has_link_like(gpu.sister->peer, gpu.peer);
}

void carry_over(const Gpu& sister, Gpu& gpu) {
  gpu.sister = sister_card(sister);
  const Efficiencies& theirs = sister.efficiencies;
  Efficiencies& own = gpu.efficiencies;
  add_missing(theirs.gemm, own.gemm);
  add_missing(theirs.moe, own.moe);
  add_missing(theirs.decode_attention, own.decode_attention);
  if (!own.prefill_attention) own.prefill_attention = theirs.prefill_attention;
  if (!own.memory_bound) own.memory_bound = theirs.memory_bound;
  if (own.all_reduce.empty() && has_link_like(sister.peer, gpu.peer)) {
    const double links = sister.peer->bandwidth / gpu.peer->bandwidth;
    for (const auto& [ranks, curve] : theirs.all_reduce) {
      own.all_reduce.emplace(ranks, transferred_all_reduce(curve, links));
    }
  }
  if (!gpu.tables) gpu.tables = sister.tables;
  const double slower = transferred_fixed(*gpu.sister, gpu);
  gpu.floors = {.gemm = sister.floors.gemm * slower,
                .moe = sister.floors.moe * slower,
                .attention = sister.floors.attention * slower,
                .memory_bound = sister.floors.memory_bound * slower,
                .all_reduce = sister.floors.all_reduce * slower};
}

}  // namespace roofcast
