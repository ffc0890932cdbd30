#include "calibrate/derived_efficiency.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "model/step/efficiency.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

namespace {

// Minimum values accepted in profiles (model/io/gpu_reader.cpp).
constexpr double kMinShare = 1e-4;
constexpr double kMinFloor = 1e-9;

// A point within this factor of its floor says little about the share of bandwidth or peak.
constexpr double kClearOfFloor = 1.3;

// A floor must be below every time of its family.
constexpr double kBelowShortest = 0.9;

Floors no_floors() {
  return {.gemm = {}, .moe = {}, .attention = {}, .memory_bound = {}, .all_reduce = {}};
}

/// The x of the family's efficiency curve (Work::scale, model/step/step_work.cpp).
double scale_of(const OperatorShape& shape, const MeasuredPoint& point, const Work& work) {
  if (shape.family == OperatorFamily::decode_attention) return work.bytes.value;
  if (shape.family != OperatorFamily::prefill_attention) return point.x;
  const double attended = 2 * point.y + point.x + 1;  // twice the average per query
  const double size = static_cast<double>(shape.head_dim + shape.value_dim) / 2;
  return attended * size / kReferenceHeadSize;
}

/// Time at efficiency 1 and without a floor.
Seconds limit_of(const Work& work, const Gpu& bare) {
  const EfficiencyEstimate whole{EfficiencyCurve({.points = {{1, 1.0}}, .source = ""}),
                                 Provenance::fitted, 0};
  return expected_time(work, bare, whole);
}

/// Efficiencies by octave of scale.
using Octaves = std::map<int, std::vector<double>>;

void add_curve(const MeasuredCurve& curve, const Gpu& bare, Seconds floor, Octaves& octaves) {
  for (const MeasuredPoint& point : curve.points) {
    if (point.time < floor * kClearOfFloor) continue;
    const Work work = work_of(curve.shape, point.x, point.y);
    const double share = limit_of(work, bare) / (point.time - floor);
    const double scale = std::max(1.0, scale_of(curve.shape, point, work));
    octaves[static_cast<int>(std::lround(std::log2(scale)))].push_back(
        std::clamp(share, kMinShare, 1.0));
  }
}

Curve curve_of(const Octaves& octaves, const std::string& source) {
  Curve curve{.points = {}, .source = source};
  for (const auto& [octave, shares] : octaves) {
    curve.points.push_back({std::exp2(octave), median(shares)});
  }
  return curve;
}

Seconds floor_for(OperatorFamily family, const Floors& floors) {
  switch (family) {
    case OperatorFamily::gemm:
      return floors.gemm;
    case OperatorFamily::moe:
      return floors.moe;
    case OperatorFamily::memory_bound:
      return floors.memory_bound;
    case OperatorFamily::collective:
      return floors.all_reduce;
    default:
      return floors.attention;
  }
}

/// Merges all shapes for which `of_it` is true into one curve.
Curve merged(const Gpu& bare, const Measured& measured, const Floors& floors,
             const std::string& source, const std::function<bool(const OperatorShape&)>& of_it) {
  Octaves octaves;
  for (const MeasuredCurve& curve : measured.curves) {
    const OperatorShape& shape = curve.shape;
    const bool plain = !shape.latent && !shape.beside_prefill && shape.expert_ranks == 1 &&
                       shape.power_law == 0 && shape.window == 0 && shape.prompts == 1 &&
                       !shape.fp8_arithmetic && shape.projections == 0 &&
                       (shape.family != OperatorFamily::gemm || shape.query_heads == 0) &&
                       (shape.family != OperatorFamily::memory_bound || shape.inputs == 0);
    const bool taken = of_it(curve.shape) && plain;
    if (!taken || find_curve(measured, curve.shape) != &curve) continue;
    add_curve(curve, bare, floor_for(curve.shape.family, floors), octaves);
  }
  return curve_of(octaves, source);
}

}  // namespace

Efficiencies derive_efficiencies(const Gpu& gpu, const Measured& measured, const Floors& floors,
                                 const std::string& source) {
  Gpu bare = gpu;
  bare.floors = no_floors();
  Efficiencies result;
  const auto merge = [&](const std::function<bool(const OperatorShape&)>& of_it) {
    return merged(bare, measured, floors, source, of_it);
  };
  const auto merge_family = [&](OperatorFamily family) {
    return merge([family](const OperatorShape& shape) { return shape.family == family; });
  };
  for (const MeasuredCurve& curve : measured.curves) {
    const OperatorShape& own = curve.shape;
    const auto same_format = [&own](const OperatorShape& shape) {
      return shape.family == own.family && shape.format == own.format;
    };
    const auto same_cache = [&own](const OperatorShape& shape) {
      return shape.family == own.family && shape.cache == own.cache;
    };
    if (own.family == OperatorFamily::gemm && !result.gemm.contains(own.format)) {
      result.gemm.emplace(own.format, merge(same_format));
    }
    if (own.family == OperatorFamily::moe && !result.moe.contains(own.format)) {
      result.moe.emplace(own.format, merge(same_format));
    }
    if (own.family == OperatorFamily::decode_attention && !own.latent &&
        !result.decode_attention.contains(own.cache)) {
      result.decode_attention.emplace(own.cache, merge(same_cache));
    }
  }
  const auto none = [](const auto& entry) { return entry.second.points.empty(); };
  std::erase_if(result.gemm, none);
  std::erase_if(result.moe, none);
  std::erase_if(result.decode_attention, none);
  if (Curve curve = merge_family(OperatorFamily::prefill_attention); !curve.points.empty()) {
    result.prefill_attention = std::move(curve);
  }
  const auto streams = [](const OperatorShape& shape) {
    // Sampling and routing search rather than stream through memory.
    return shape.family == OperatorFamily::memory_bound && shape.name != "sampling" &&
           shape.name != "top_k";
  };
  if (Curve curve = merge(streams); !curve.points.empty()) {
    result.memory_bound = std::move(curve);
  }
  return result;
}

Efficiencies with_stated(Efficiencies derived, const Efficiencies& stated) {
  derived.gemm.insert(stated.gemm.begin(), stated.gemm.end());
  derived.moe.insert(stated.moe.begin(), stated.moe.end());
  derived.decode_attention.insert(stated.decode_attention.begin(), stated.decode_attention.end());
  if (!derived.prefill_attention) derived.prefill_attention = stated.prefill_attention;
  if (!derived.memory_bound) derived.memory_bound = stated.memory_bound;
  derived.all_reduce = stated.all_reduce;
  return derived;
}

Floors derive_floors(const Measured& measured, const Floors& fallback) {
  Floors floors = fallback;
  const auto derive = [&](Seconds Floors::*floor, const std::vector<OperatorFamily>& families) {
    double shortest = 0;
    std::vector<double> fitted;
    for (const MeasuredCurve& curve : measured.curves) {
      if (std::find(families.begin(), families.end(), curve.shape.family) == families.end()) {
        continue;
      }
      fitted.push_back(curve.terms.floor.value);
      for (const MeasuredPoint& point : curve.points) {
        const bool first = shortest == 0;
        shortest = first ? point.time.value : std::min(shortest, point.time.value);
      }
    }
    if (fitted.empty()) return;
    const double own = std::min(median(fitted), kBelowShortest * shortest);
    floors.*floor = Seconds{std::max(own, kMinFloor)};
  };
  derive(&Floors::gemm, {OperatorFamily::gemm});
  derive(&Floors::moe, {OperatorFamily::moe});
  derive(&Floors::attention, {OperatorFamily::prefill_attention, OperatorFamily::decode_attention});
  derive(&Floors::memory_bound, {OperatorFamily::memory_bound});
  derive(&Floors::all_reduce, {OperatorFamily::collective});
  return floors;
}

}  // namespace roofcast
