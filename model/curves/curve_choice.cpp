// Chooses the curve that answers for a shape.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/chord_log2.hpp"
#include "base/statistics.hpp"
#include "model/curves/curve_source.hpp"
#include "model/curves/kernel_tables.hpp"
#include "model/curves/measured_curve.hpp"

namespace roofcast {

namespace {

// Neighbours used for a GEMM that was never timed: enough to surround a point in two dimensions.
constexpr std::size_t kNeighbours = 4;

// Larger products that bound a timed one of a library's tables, in which each shape was tuned by
// itself and some were left with a slow kernel: MI355X's 800 outputs of 5,120 inputs in bf16 take
// 173 us for 2,048 tokens, 1,024 of 7,168 take 47. A kernel of the larger product computes the
// smaller one, padded. With each shape left out, half of the products are as near as without the
// bound or nearer, and bf16's mean error is 9.5 % where it is 15.1 (hardware_profiles/README.md).
constexpr std::size_t kLargerProducts = 2;

// And for experts that were never timed. With each mixture of vLLM 0.24.0's tables of the H200 left
// out (96 shapes in bf16, 74 in fp8_block, on one rank; tests/accuracy/table_mixtures), the two
// nearest answer half of its decodes (to 256 tokens) within 5.5 and 5.7 % and of its prefills
// within 6.8 and 5.7 %; the nearest alone 5.0 and 6.0, 6.3 and 7.2, four 6.8 and 6.6, 9.0 and 5.9.
// The median share of the roofline over all others, as `efficiency` has it, is 10.7 and 11.6, 26.9
// and 22.8 % off.
constexpr std::size_t kExpertNeighbours = 2;

// With nearer mixtures left out, too, neighbours are better than that median up to 3 octaves: half
// of decodes and prefills lie within 10.1, 9.8, 11.8 and 10.6 % at 2 to 3. At 3 to 4 it is 15.3,
// 18.0, 24.2 and 24.1 %, and ever more beyond.
constexpr double kExpertReach = 3.0;

/// The least standard deviation of an answer by mixtures of which the nearest is `octaves` away.
/// Two thirds lie within 7 to 10 % below an octave, 10 to 14 % from one to two, 15 to 20 % from two
/// to three (the same tables).
double neighbouring_deviation(double octaves) { return 0.05 + 0.06 * octaves; }

// Experts that were timed in another version of the engine than the nearest differ from it as the
// nearest shapes do that both were timed with. Of TensorRT-LLM 1.2.0rc5 and 1.3.0rc20 on B200 and
// H100, with the whole mixture left out, half of 1.2.0rc5's times lie within 4 to 9 %
// of 1.3.0rc20's times that ratio, where they lie within 7 to 28 % of 1.3.0rc20's own; two thirds
// within 7 to 13 %. CUTLASS's in nvfp4: 16 for 21 %, two thirds 23
// (tests/accuracy/table_version_ratios).
constexpr double kVersionRatioDeviation = 0.10;

// Octaves of N and K within which an engine's own products answer before those of another source:
// the public tables hold every model's sizes, and a grid with a node at each octave.
constexpr double kNear = 1.0;
constexpr double kAnyDistance = std::numeric_limits<double>::infinity();

/// Formats that the same kernels run at the same speed: 16-bit floats, and 4-bit integers in
/// groups, with and without zero points.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kStandIns{{{"fp16", "bf16"},
                                                                                  {"bf16", "fp16"},
                                                                                  {"awq", "int4"},
                                                                                  {"gptq", "int4"},
                                                                                  {"awq", "gptq"},
                                                                                  {"gptq", "awq"}}};

/// Product over the common points of the time of `a` divided by that of `b`; 1 without any.
double relative_time(const MeasuredCurve& a, const MeasuredCurve& b) {
  double product = 1;
  auto other = b.points.begin();
  for (const MeasuredPoint& point : a.points) {
    const auto before = [&](const MeasuredPoint& p) {
      return p.x < point.x || (p.x == point.x && p.y < point.y);
    };
    while (other != b.points.end() && before(*other)) ++other;
    if (other == b.points.end()) break;
    if (other->x == point.x && other->y == point.y) product *= point.time / other->time;
  }
  return product;
}

/// The names under which experts' kernels are listed, those of the shape first, then unnamed
/// kernels, then others, the fastest first. Nothing stands in for Marlin's, which take two to three
/// times as long as Triton's for prompts.
std::vector<std::string> expert_names(const std::string& own) {
  std::vector<std::string> names{own};
  if (own == kMarlinExperts) return names;
  constexpr std::string_view kNone;
  for (const std::string_view other :
       {kNone, kTrtllmGenExperts, kDeepgemmExperts, kCutlassExperts, kMarlinExperts}) {
    if (other != own) names.emplace_back(other);
  }
  return names;
}

/// The kernel of a shape, with more or less general ones that do the same work where it was not
/// timed: a window's full attention, evenly picked experts, attention in the other arithmetic.
std::vector<OperatorShape> kernels_of(const OperatorShape& shape) {
  std::vector<OperatorShape> result{shape};
  if (shape.window > 0) {
    result.push_back(shape);
    result.back().window = 0;
  }
  if (shape.family == OperatorFamily::memory_bound && shape.inputs > 0) {
    result.push_back(shape);
    result.back().inputs = 0;
  }
  if (shape.family == OperatorFamily::moe) {
    result.clear();
    for (const std::string& name : expert_names(shape.name)) {
      result.push_back(shape);
      result.back().name = name;
      if (shape.power_law == 0) continue;
      result.push_back(result.back());
      result.back().power_law = 0;
    }
  }
  if (is_attention(shape.family) && shape.cache == DType::fp8) {
    const std::size_t own = result.size();
    for (std::size_t i = 0; i < own; ++i) {
      result.push_back(result[i]);
      result.back().fp8_arithmetic = !shape.fp8_arithmetic;
    }
  }
  return result;
}

/// The same operator in formats whose kernels can substitute for its own, best first.
std::vector<OperatorShape> stand_ins(const OperatorShape& shape) {
  std::vector<OperatorShape> result;
  for (const auto& [format, other] : kStandIns) {
    if (shape.format != format) continue;
    result.push_back(shape);
    result.back().format = other;
  }
  if (is_attention(shape.family) && (shape.cache == DType::fp16 || shape.cache == DType::bf16)) {
    result.push_back(shape);
    result.back().cache = shape.cache == DType::fp16 ? DType::bf16 : DType::fp16;
  }
  return result;
}

double octaves_between(const OperatorShape& a, const OperatorShape& b) {
  const auto octaves = [](std::int64_t from, std::int64_t to) {
    if (from == to) return 0.0;
    return std::abs(chord_log2(static_cast<double>(to)) - chord_log2(static_cast<double>(from)));
  };
  return octaves(a.outputs, b.outputs) + octaves(a.inputs, b.inputs) +
         octaves(a.experts, b.experts) + octaves(a.experts_per_token, b.experts_per_token);
}

/// Whether two shapes of one family and format differ in their sizes alone: products for each head
/// are not neighbours of a layer's, nor ungated experts of gated ones.
bool is_same_product(const OperatorShape& a, const OperatorShape& b) {
  return a.query_heads == b.query_heads && a.name == b.name && a.gated == b.gated &&
         a.expert_ranks == b.expert_ranks && a.power_law == b.power_law;
}

/// A curve by its place among others.
struct Neighbour {
  double octaves = 0;
  std::size_t place = 0;
};

template <class Look>
void for_each_shape(const std::vector<MeasuredCurve>& curves, const Look& look) {
  for (std::size_t place = 0; place < curves.size(); ++place) look(place, curves[place].shape);
}

template <class Look>
void for_each_shape(const CurveGroup& curves, const Look& look) {
  OperatorShape shape = curves.any;
  for (std::size_t place = 0; place < curves.size; ++place) {
    curves.set_shape(place, shape);
    look(place, shape);
  }
}

OperatorShape shape_at(const std::vector<MeasuredCurve>& curves, std::size_t place) {
  return curves[place].shape;
}
OperatorShape shape_at(const CurveGroup& curves, std::size_t place) { return curves.shape(place); }

MeasuredCurve curve_at(const std::vector<MeasuredCurve>& curves, std::size_t place) {
  return curves[place];
}
MeasuredCurve curve_at(const CurveGroup& curves, std::size_t place) { return curves.curve(place); }

/// Curves of a profile, where an engine's own kernels come first.
struct ProfileCurves {
  static constexpr bool kOneOfAShape = false;
  const Measured& measured;
  std::string_view engine{};

  const MeasuredCurve* find(const OperatorShape& shape) const {
    return find_curve(measured, shape, engine);
  }
  const std::vector<MeasuredCurve>& like(const OperatorShape&) const { return measured.curves; }
};

/// Curves of one source of kernel tables, at most one for each shape.
struct SourceCurves {
  static constexpr bool kOneOfAShape = true;
  const KernelTables& tables;
  std::string_view source{};

  const CurveGroup& like(const OperatorShape& shape) const {
    static const CurveGroup none;
    const std::vector<TableGroup>& groups = tables.groups();
    const GroupKey key = group_key(shape);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].source == source && groups[i].key == key) return tables.curves(i);
    }
    return none;
  }
  std::optional<MeasuredCurve> find(const OperatorShape& shape) const {
    const CurveGroup& all = like(shape);
    OperatorShape at = all.any;
    std::size_t first = 0;
    for (std::size_t last = all.size; first < last;) {
      const std::size_t middle = first + (last - first) / 2;
      all.set_shape(middle, at);
      if (at < shape) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    if (first == all.size || all.shape(first) != shape) return std::nullopt;
    return all.curve(first);
  }
};

/// The nearest timed GEMMs or experts in the shape's own format among those that `counts` admits,
/// nearest first, one source each.
template <class Curves, class Counts>
std::vector<std::pair<double, MeasuredCurve>> nearest_of(const Curves& curves,
                                                         const OperatorShape& shape,
                                                         std::size_t most, const Counts& counts) {
  const auto& like = curves.like(shape);
  std::vector<Neighbour> all;
  for_each_shape(like, [&](std::size_t place, const OperatorShape& timed) {
    if (timed.family != shape.family || timed.format != shape.format ||
        !is_same_product(timed, shape) || !counts(timed)) {
      return;
    }
    all.push_back({octaves_between(timed, shape), place});
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.octaves < b.octaves; });
  std::vector<std::pair<double, MeasuredCurve>> nearest;
  for (const Neighbour& one : all) {
    if (nearest.size() == most) break;
    const OperatorShape timed = shape_at(like, one.place);
    const bool listed = std::ranges::any_of(
        nearest, [&](const auto& other) { return other.second.shape == timed; });
    if (!listed) nearest.emplace_back(one.octaves, *curves.find(timed));
  }
  return nearest;
}

template <class Curves>
std::vector<std::pair<double, MeasuredCurve>> neighbours_of(const Curves& curves,
                                                            const OperatorShape& shape,
                                                            std::size_t most = kNeighbours) {
  return nearest_of(curves, shape, most, [](const OperatorShape&) { return true; });
}

/// Sizes around one: the nearest timed ones on either side, equal if it was timed itself.
struct Around {
  std::int64_t low = 0;  // 0: none
  std::int64_t high = 0;
};

void widen(Around& around, std::int64_t size, std::int64_t wanted) {
  if (size <= wanted) around.low = std::max(around.low, size);
  if (size >= wanted && (around.high == 0 || size < around.high)) around.high = size;
}

/// How far `wanted` is from low to high, in octaves.
double share_between(const Around& around, std::int64_t wanted) {
  if (around.low == around.high) return 0;
  const auto at = [](std::int64_t size) { return chord_log2(static_cast<double>(size)); };
  return (at(wanted) - at(around.low)) / (at(around.high) - at(around.low));
}

/// Where N and K lie within the grid of a source's products: the products at the corners of its
/// cell, weighted bilinearly in log2 N and log2 K. No parts if a corner was not timed.
CurveBlend blend_of_cell(const SourceCurves& curves, const OperatorShape& shape) {
  CurveBlend blend{.shape = shape};
  Around outputs;
  Around inputs;
  for_each_shape(curves.like(shape), [&](std::size_t, const OperatorShape& timed) {
    if (!is_same_product(timed, shape)) return;
    widen(outputs, timed.outputs, shape.outputs);
    widen(inputs, timed.inputs, shape.inputs);
  });
  if (outputs.low == 0 || outputs.high == 0 || inputs.low == 0 || inputs.high == 0) return blend;
  const double n = share_between(outputs, shape.outputs);
  const double k = share_between(inputs, shape.inputs);
  OperatorShape corner = shape;
  for (const auto& [size, by_n] : {std::pair(outputs.low, 1 - n), std::pair(outputs.high, n)}) {
    for (const auto& [inner, by_k] : {std::pair(inputs.low, 1 - k), std::pair(inputs.high, k)}) {
      if (by_n * by_k == 0) continue;
      corner.outputs = size;
      corner.inputs = inner;
      std::optional<MeasuredCurve> curve = curves.find(corner);
      if (!curve) return {.shape = shape};
      blend.parts.push_back({*std::move(curve), by_n * by_k});
    }
  }
  return blend;
}

CurveBlend blend_of(const std::vector<std::pair<double, MeasuredCurve>>& neighbours,
                    const OperatorShape& shape) {
  CurveBlend blend{.octaves = neighbours.front().first, .shape = shape};
  double sum = 0;
  for (const auto& [octaves, curve] : neighbours) sum += 1.0 / octaves;
  for (const auto& [octaves, curve] : neighbours) {
    blend.parts.push_back({curve, 1.0 / octaves / sum});
  }
  return blend;
}

/// The curves of several prompts by the kernel that answers for one; of a source that has chosen
/// its kernels, by whichever it takes.
template <class Curves>
std::vector<MeasuredCurve> batches_of(const Curves& curves, const MeasuredCurve& one) {
  std::vector<MeasuredCurve> batches;
  if (one.shape.family != OperatorFamily::prefill_attention) return batches;
  const auto& like = curves.like(one.shape);
  for_each_shape(like, [&](std::size_t place, const OperatorShape& timed) {
    if (timed.prompts <= 1) return;
    OperatorShape shape = timed;
    shape.prompts = 1;
    if (shape != one.shape) return;
    MeasuredCurve curve = curve_at(like, place);
    if (Curves::kOneOfAShape || curve.kernel == one.kernel) batches.push_back(std::move(curve));
  });
  std::stable_sort(batches.begin(), batches.end(),
                   [](const auto& a, const auto& b) { return a.shape.prompts < b.shape.prompts; });
  return batches;
}

/// Neighbours farther than `reach` octaves do not answer.
template <class Curves>
CurveBlend blend_as_told(const Curves& curves, const OperatorShape& shape, double reach) {
  for (const OperatorShape& kernel : kernels_of(shape)) {
    if (const auto own = curves.find(kernel)) {
      return {.parts = {{*own, 1.0}}, .batches = batches_of(curves, *own), .shape = kernel};
    }
  }
  const std::vector<OperatorShape> others = stand_ins(shape);
  for (const OperatorShape& other : others) {
    for (const OperatorShape& kernel : kernels_of(other)) {
      const auto curve = curves.find(kernel);
      if (!curve) continue;
      CurveBlend blend{.parts = {{*curve, 1.0}}, .borrowed = true, .shape = shape};
      blend.shape.window = kernel.window;
      blend.shape.power_law = kernel.power_law;
      blend.shape.fp8_arithmetic = kernel.fp8_arithmetic;
      return blend;
    }
  }
  const bool rows = shape.family == OperatorFamily::memory_bound && shape.inputs > 0;
  if (shape.family != OperatorFamily::gemm && !rows) return {.shape = shape};
  if constexpr (Curves::kOneOfAShape) {
    if (CurveBlend cell = blend_of_cell(curves, shape); !cell.parts.empty()) return cell;
  }
  auto neighbours = neighbours_of(curves, shape);
  if (!neighbours.empty() && neighbours.front().first <= reach) {
    return blend_of(neighbours, shape);
  }
  for (const OperatorShape& other : others) {
    neighbours = neighbours_of(curves, other);
    if (neighbours.empty() || neighbours.front().first > reach) continue;
    // No distance is 0: the same size would have been found above.
    CurveBlend blend = blend_of(neighbours, shape);
    blend.borrowed = true;
    return blend;
  }
  return {.shape = shape};
}

/// Whether other products answer for one that was not timed.
bool is_of_products(const CurveBlend& blend) {
  return blend.shape.family == OperatorFamily::gemm &&
         (blend.parts.size() > 1 || blend.octaves > 0);
}

void add_larger(const SourceCurves& curves, CurveBlend& blend) {
  for (CurveBlend::Part& part : blend.parts) {
    const OperatorShape& timed = part.curve.shape;
    auto nearest = nearest_of(curves, timed, kLargerProducts, [&](const OperatorShape& other) {
      return other.outputs >= timed.outputs && other.inputs >= timed.inputs && other != timed;
    });
    for (auto& [octaves, curve] : nearest) part.larger.push_back(std::move(curve));
  }
}

/// The most outputs of a timed product.
std::int64_t most_outputs(const SourceCurves& curves, const OperatorShape& like) {
  std::int64_t most = 0;
  for_each_shape(curves.like(like), [&](std::size_t, const OperatorShape& timed) {
    if (is_same_product(timed, like)) most = std::max(most, timed.outputs);
  });
  return most;
}

/// As blend_as_told(); in tables of a library larger products bound what others tell.
CurveBlend blend_from(const SourceCurves& curves, const OperatorShape& shape, double reach) {
  CurveBlend blend = blend_as_told(curves, shape, reach);
  if (is_engine(curves.source) || !is_of_products(blend)) return blend;
  add_larger(curves, blend);
  const std::int64_t most = most_outputs(curves, blend.parts.front().curve.shape);
  for (OperatorShape wider = shape; wider.outputs <= most / 2;) {
    wider.outputs *= 2;
    blend.wider.push_back(blend_as_told(curves, wider, kAnyDistance));
    if (!is_of_products(blend.wider.back())) break;
    add_larger(curves, blend.wider.back());
  }
  return blend;
}

/// The curve of experts in the kernels that the shape names, picked as it says or evenly.
CurveBlend named_experts(const SourceCurves& curves, const OperatorShape& shape) {
  OperatorShape kernel = shape;
  for (const int power_law : {shape.power_law, 0}) {
    kernel.power_law = power_law;
    if (const std::optional<MeasuredCurve> own = curves.find(kernel)) {
      return {.parts = {{*own, 1.0}}, .shape = kernel};
    }
  }
  return {.shape = shape};
}

/// The nearest mixtures of the source whose experts are picked evenly; no parts if none is within
/// reach. In mxfp4 an unnamed curve does not say which kernels were timed: gpt-oss's experts run in
/// Triton's, others' in Marlin's.
CurveBlend nearest_experts(const SourceCurves& curves, const OperatorShape& shape) {
  OperatorShape evenly = shape;
  evenly.power_law = 0;
  for (const std::string& name : expert_names(shape.name)) {
    if (name.empty() && shape.format == "mxfp4") continue;
    evenly.name = name;
    const auto neighbours = neighbours_of(curves, evenly, kExpertNeighbours);
    if (!neighbours.empty() && neighbours.front().first <= kExpertReach) {
      return blend_of(neighbours, evenly);
    }
  }
  return {.shape = shape};
}

/// The size at which another shape's curve says what this one does at `x`: for experts the tokens
/// that give each of them as many.
double size_for(const OperatorShape& other, const OperatorShape& shape, double x) {
  if (shape.family != OperatorFamily::moe) return x;
  const auto picked = [](const OperatorShape& one) {
    return static_cast<double>(one.experts_per_token) / static_cast<double>(one.experts);
  };
  return std::max(1.0, x * picked(shape) / picked(other));
}

/// How far two layouts of experts are apart, ranks included.
double octaves_with_ranks(const OperatorShape& a, const OperatorShape& b) {
  const double ranks = static_cast<double>(a.expert_ranks) / static_cast<double>(b.expert_ranks);
  return octaves_between(a, b) + std::abs(std::log2(ranks));
}

/// The experts nearest to `shape` that two versions of an engine were timed with, at most
/// kExpertNeighbours.
std::vector<CurveBlend::VersionPair> in_both_versions(const SourceCurves& nearest,
                                                      const SourceCurves& theirs,
                                                      const OperatorShape& shape) {
  const CurveGroup& timed = nearest.like(shape);
  std::vector<Neighbour> all;
  for_each_shape(timed, [&](std::size_t place, const OperatorShape& other) {
    if (other.gated != shape.gated || other.power_law != shape.power_law) return;
    const double octaves = octaves_with_ranks(other, shape);
    if (octaves <= kExpertReach) all.push_back({octaves, place});
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.octaves < b.octaves; });
  std::vector<CurveBlend::VersionPair> pairs;
  for (const Neighbour& one : all) {
    if (pairs.size() == kExpertNeighbours) break;
    const auto other = theirs.find(timed.shape(one.place));
    if (other) pairs.push_back({.nearest = timed.curve(one.place), .theirs = *other});
  }
  return pairs;
}

/// Whether the engine's own kernels were timed in the shape's family and format, at any size.
bool timed_by_engine(const KernelTables& tables, const OperatorShape& shape,
                     std::string_view engine) {
  return std::ranges::any_of(tables.groups(), [&](const TableGroup& group) {
    return group.key.family == shape.family && group.key.format == shape.format &&
           runs_kernels_of(engine, group.source);
  });
}

/// The sources that have curves of the family, nearest to the engine first.
std::vector<std::string_view> sources_for(const KernelTables& tables, const OperatorShape& shape,
                                          std::string_view engine, bool own_only) {
  std::vector<std::string_view> sources;
  for (const TableGroup& group : tables.groups()) {
    if (group.key.family != shape.family) continue;
    if (!own_only || runs_kernels_of(engine, group.source)) sources.push_back(group.source);
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  std::stable_sort(sources.begin(), sources.end(), [&](std::string_view a, std::string_view b) {
    return is_nearer_source(a, b, engine);
  });
  return sources;
}

}  // namespace

const MeasuredCurve* find_curve(const Measured& measured, const OperatorShape& shape,
                                std::string_view engine) {
  std::vector<const MeasuredCurve*> all;
  std::string_view nearest;  // of the engine's own sources
  for (const MeasuredCurve& curve : measured.curves) {
    if (curve.shape != shape) continue;
    all.push_back(&curve);
    const std::string_view source = source_of(curve.kernel);
    if (engine.empty() || !is_of_engine(source, engine)) continue;
    if (nearest.empty() || is_nearer_source(source, nearest, engine)) nearest = source;
  }
  const MeasuredCurve* best = nullptr;
  for (const MeasuredCurve* curve : all) {
    if (!nearest.empty() && source_of(curve->kernel) != nearest) continue;
    if (best == nullptr || relative_time(*curve, *best) < 1.0) best = curve;
  }
  return best;
}

CurveBlend find_blend(const Measured& measured, const OperatorShape& shape,
                      std::string_view engine) {
  return blend_as_told(ProfileCurves{measured, engine}, shape, kAnyDistance);
}

namespace {

/// find_blend() without the ratio of versions. Sets `answering` to the source of the parts.
CurveBlend blend_as_timed(const KernelTables& tables, const OperatorShape& shape,
                          std::string_view engine, std::string_view& answering) {
  // Experts run in kernels of each engine's own: those of another say little of an engine whose own
  // were timed at other sizes, unless it runs these very kernels.
  const bool experts = shape.family == OperatorFamily::moe;
  if (experts && !shape.name.empty()) {
    for (const std::string_view source : sources_for(tables, shape, engine, false)) {
      CurveBlend blend = named_experts(SourceCurves{tables, source}, shape);
      answering = source;
      if (!blend.parts.empty()) return blend;
    }
  }
  const bool own_only = experts && timed_by_engine(tables, shape, engine);
  const std::vector<std::string_view> sources = sources_for(tables, shape, engine, own_only);
  for (const double reach : {kNear, kAnyDistance}) {
    for (const std::string_view source : sources) {
      CurveBlend blend = blend_from(SourceCurves{tables, source}, shape, reach);
      answering = source;
      if (!blend.parts.empty()) return blend;
    }
    if (shape.family != OperatorFamily::gemm) break;
  }
  // Whole experts over ranks are estimated from one rank's share of them
  // (LinearOperator::alone_shape).
  if (own_only && shape.expert_ranks == 1) {
    for (const std::string_view source : sources) {
      CurveBlend blend = nearest_experts(SourceCurves{tables, source}, shape);
      answering = source;
      if (!blend.parts.empty()) return blend;
    }
  }
  return {.shape = shape};
}

}  // namespace

CurveBlend find_blend(const KernelTables& tables, const OperatorShape& shape,
                      std::string_view engine) {
  std::string_view answering;
  CurveBlend blend = blend_as_timed(tables, shape, engine, answering);
  const bool own = shape.family == OperatorFamily::moe && !blend.parts.empty() &&
                   is_of_engine(answering, engine) && !stated_version(engine).empty();
  if (!own) return blend;
  const std::vector<std::string_view> sources = sources_for(tables, shape, engine, true);
  if (sources.front() == answering) return blend;
  blend.versions =
      in_both_versions(SourceCurves{tables, sources.front()}, SourceCurves{tables, answering},
                       blend.parts.front().curve.shape);
  return blend;
}

namespace {

/// What a part takes at its own shape, no longer than the larger products where these were timed.
CurveAnswer answer_of(const CurveBlend::Part& part, double x, double y, int multiprocessors) {
  CurveAnswer result = answer(part.curve, x, y, multiprocessors);
  for (const MeasuredCurve& larger : part.larger) {
    const CurveAnswer other = answer(larger, x, y, multiprocessors);
    if (other.provenance != Provenance::extended && other.time < result.time) result = other;
  }
  return result;
}

CurveAnswer answer_as_timed(const CurveBlend& blend, double x, double y, int multiprocessors) {
  const bool in_cell = blend.parts.size() > 1 && blend.octaves == 0 && !blend.borrowed;
  if (blend.octaves == 0 && !blend.borrowed && !in_cell) {
    return answer(blend.parts.front().curve, x, y, multiprocessors);
  }
  const bool geometric =
      blend.shape.family == OperatorFamily::gemm && blend.parts.size() > 1 && !in_cell;
  Seconds mean;
  double log_mean = 0;
  double deviation = 0;
  Provenance provenance = in_cell ? Provenance::interpolated : Provenance::extended;
  std::vector<Seconds> times;
  for (const CurveBlend::Part& part : blend.parts) {
    const double size = size_for(part.curve.shape, blend.shape, x);
    const CurveAnswer theirs = answer_of(part, size, y, multiprocessors);
    MeasuredCurve here{.shape = blend.shape, .terms = part.curve.terms};
    here.shape.format = part.curve.shape.format;
    here.shape.cache = part.curve.shape.cache;
    const double ratio = theirs.time / base_time(part.curve, size, y, multiprocessors);
    times.push_back(base_time(here, x, y, multiprocessors) * ratio);
    mean += times.back() * part.weight;
    log_mean += std::log(times.back().value) * part.weight;
    deviation = std::max(deviation, theirs.relative_uncertainty);
    provenance = std::max(provenance, theirs.provenance);
  }
  if (geometric) mean = Seconds{std::exp(log_mean)};
  double variance = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double off = times[i] / mean - 1.0;
    variance += blend.parts[i].weight * off * off;
  }
  deviation = std::hypot(deviation * std::sqrt(1.0 + 2.0 * blend.octaves), std::sqrt(variance));
  if (blend.shape.family == OperatorFamily::moe && blend.octaves > 0) {
    deviation = std::max(deviation, neighbouring_deviation(blend.octaves));
  }
  return {.time = mean, .provenance = provenance, .relative_uncertainty = std::min(1.0, deviation)};
}

}  // namespace

CurveAnswer answer(const CurveBlend& blend, double x, double y, int multiprocessors) {
  CurveAnswer result = answer_as_timed(blend, x, y, multiprocessors);
  for (const CurveBlend& wider : blend.wider) {
    const CurveAnswer other = answer_as_timed(wider, x, y, multiprocessors);
    if (other.time >= result.time) continue;
    const Provenance provenance = std::max(result.provenance, other.provenance);
    result = other;
    result.provenance = provenance;
  }
  if (blend.versions.empty()) return result;
  std::vector<double> logarithms;
  for (const CurveBlend::VersionPair& pair : blend.versions) {
    const double size = size_for(pair.nearest.shape, blend.shape, x);
    const Seconds nearest = answer(pair.nearest, size, y, multiprocessors).time;
    logarithms.push_back(std::log(nearest / answer(pair.theirs, size, y, multiprocessors).time));
  }
  const double log_ratio = mean(logarithms);
  double variance = 0;
  for (const double one : logarithms) {
    const double off = one - log_ratio;
    variance += off * off / static_cast<double>(logarithms.size());
  }
  result.time = result.time * std::exp(log_ratio);
  result.provenance = std::max(result.provenance, Provenance::extended);
  const double deviation = std::hypot(kVersionRatioDeviation, std::sqrt(variance));
  result.relative_uncertainty = std::min(1.0, std::hypot(result.relative_uncertainty, deviation));
  return result;
}

}  // namespace roofcast
