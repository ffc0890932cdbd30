#include "calibrate/tables/imported_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "model/curves/measured_curve.hpp"

namespace roofcast {

namespace {

constexpr std::size_t kShownRows = 3;

// Two collections of one kernel on two GPUs of a type are within 12 % of each other nine times out
// of ten (aiconfigurator 095f58a, 35,742 bf16 shapes of vLLM 0.18 and 0.24 on H200): twice that is
// not noise.
constexpr double kMaxDisagreement = 1.25;

// A buffer this many times larger than the cache is read almost entirely from memory.
constexpr double kCacheReach = 1.5;

using KernelKey = std::pair<OperatorShape, std::string>;
using SizeKey = std::tuple<OperatorShape, std::string, double, double>;

SizeKey size_key(const TimedPoint& p) { return {p.shape, p.kernel, p.point.x, p.point.y}; }

bool counts_bytes(OperatorFamily family) {
  return family == OperatorFamily::memory_bound || family == OperatorFamily::collective;
}

/// Whether a profile can hold a point of this size; the sizes of the shape are already counts.
bool is_holdable(const TimedPoint& p) {
  const double max = counts_bytes(p.shape.family) ? kLargestMessage : kMaxMeasured;
  return p.point.x <= max && p.point.y <= kMaxMeasured && p.shape.ranks <= kMaxMeasuredRanks;
}

bool reads_cache(const TimedPoint& p) { return p.shape.family == OperatorFamily::decode_attention; }

}  // namespace

void leave_out(std::map<std::string, LeftOut>& list, const std::string& reason,
               const std::string& place) {
  LeftOut& entry = list[reason];
  ++entry.rows;
  if (entry.first.size() < kShownRows) entry.first.push_back(place);
}

void add_point(ImportedRows& rows, TimedPoint point) {
  const double time = point.point.time.value;
  if (!std::isfinite(time) || time <= 0) {
    leave_out(rows.refused, "time is not positive", point.name);
    return;
  }
  if (time < kShortestCall || time > kLongestCall) {
    leave_out(rows.refused,
              fmt::format("time is not between {} and {} s", kShortestCall, kLongestCall),
              point.name);
    return;
  }
  if (!is_holdable(point)) {
    leave_out(rows.refused, "larger than any operator of a profile", point.name);
    return;
  }
  rows.points.push_back(std::move(point));
}

void add_version(ImportedRows& rows, const std::string& what, const std::string& version) {
  std::string& known = rows.versions[what];
  const std::string listed = ", " + known + ", ";
  if (listed.find(", " + version + ", ") != std::string::npos) return;
  known += (known.empty() ? "" : ", ") + version;
}

void settle_duplicates(ImportedRows& rows) {
  std::vector<std::size_t> order(rows.points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_key(rows.points[a]) < size_key(rows.points[b]);
  });
  std::vector<TimedPoint> settled;
  for (auto first = order.begin(); first != order.end();) {
    const SizeKey key = size_key(rows.points[*first]);
    const auto last = std::find_if(first, order.end(),
                                   [&](std::size_t i) { return size_key(rows.points[i]) != key; });
    const auto count = static_cast<double>(last - first);
    TimedPoint point = rows.points[*first];
    Seconds min = point.point.time;
    Seconds max = min;
    Seconds sum{};
    int samples = 0;
    for (auto i = first; i != last; ++i) {
      const MeasuredPoint& one = rows.points[*i].point;
      min = std::min(min, one.time);
      max = std::max(max, one.time);
      sum += one.time;
      samples += one.samples;
    }
    if (max > min * kMaxDisagreement) {
      for (auto i = first; i != last; ++i) {
        leave_out(rows.refused, "contradicting rows of one size", rows.points[*i].name);
      }
    } else {
      point.point.time = sum / count;
      point.point.samples = samples;
      settled.push_back(std::move(point));
    }
    first = last;
  }
  rows.points = std::move(settled);
}

void refuse_cached_reads(ImportedRows& rows, const Gpu& gpu) {
  std::map<KernelKey, Seconds> shortest;
  for (const TimedPoint& p : rows.points) {
    if (!reads_cache(p)) continue;
    const auto [place, fresh] = shortest.try_emplace({p.shape, p.kernel}, p.point.time);
    if (!fresh) place->second = std::min(place->second, p.point.time);
  }
  std::vector<TimedPoint> kept;
  for (TimedPoint& p : rows.points) {
    if (reads_cache(p)) {
      const Bytes read = shape_work(p.shape, p.point.x, p.point.y, 1).stored_bytes;
      const Seconds cold = shortest[{p.shape, p.kernel}] + read / gpu.memory_bandwidth;
      if (read < gpu.l2_cache * kCacheReach && p.point.time < cold &&
          p.point.time > shortest[{p.shape, p.kernel}]) {
        leave_out(rows.refused, "keys and values read from the L2 cache", p.name);
        continue;
      }
    }
    kept.push_back(std::move(p));
  }
  rows.points = std::move(kept);
}

}  // namespace roofcast
