#include "calibrate/packing/pack_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/chord_log2.hpp"
#include "base/error.hpp"
#include "base/statistics.hpp"
#include "base/wording.hpp"
#include "calibrate/packing/thinning.hpp"
#include "model/curves/curve_source.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

namespace {

// Errors are stored rounded up to steps of at most an eighth: they are estimates themselves, and
// few values take less room.
constexpr double kErrorSteps = 8;

double coarse_error(double error) {
  if (error <= 0) return 0;
  return chord_exp2(std::ceil(chord_log2(error) * kErrorSteps) / kErrorSteps);
}

/// The curve with the times that are stored. One that would beat physics for being rounded is
/// rounded up.
MeasuredCurve with_stored_times(MeasuredCurve curve, const Gpu& gpu) {
  for (MeasuredPoint& point : curve.points) {
    const Seconds timed = point.time;
    point.time = stored_time(timed);
    if (beats_physics(curve.shape, point, gpu)) point.time = stored_time(timed, true);
    if (beats_physics(curve.shape, point, gpu)) {
      throw Error(fmt::format("a {} curve of {} is faster than {} allows",
                              name_of(curve.shape.family), curve.kernel, gpu.display_name));
    }
  }
  return curve;
}

/// The kernel's name with the source to whose versions its version belongs: tables name the engine
/// that timed NCCL, with NCCL's own version ("NCCL, TRTLLM 2.29.2").
std::string with_own_source(const std::string& kernel) {
  constexpr std::string_view kLibrary = "NCCL, ";
  if (!kernel.starts_with(kLibrary)) return kernel;
  return "NCCL, NCCL " + kernel.substr(kernel.rfind(' ') + 1);
}

constexpr std::string_view kOr = " or ";

/// Whether a curve is the fastest of several sources at each size ("TRTLLM 1.2.0 or TRTLLM 1.3.0"),
/// which are kept apart here.
bool joins_sources(const std::string& kernel) {
  const std::size_t end = kernel.find(kOr);
  if (end == std::string::npos) return false;
  const std::string_view whole = kernel;
  return source_of(whole.substr(0, end)) != source_of(whole.substr(whole.rfind(kOr) + kOr.size()));
}

/// Whether a curve is the fastest of several kernels of experts, of which an engine runs one: they
/// are not all timed at the same sizes (calibrate/tables/imported_rows.cpp, picks_by_groups), so
/// that such a curve jumps from one to the other.
bool joins_experts(const MeasuredCurve& curve) {
  return curve.shape.family == OperatorFamily::moe && curve.kernel.find(kOr) != std::string::npos;
}

constexpr const char* kFlashinferExperts =
    "on compute capability 10.x SGLang runs flashinfer_trtllm experts for DeepSeek, Qwen3 and GLM, "
    "not these (server_args, moe_runner_backend)";

/// Timed kernels that the engine does not run on such a GPU, or not as they were timed.
struct NotRun {
  std::string_view source;  // how its name begins
  std::string_view kernel;  // likewise
  OperatorFamily family;
  std::string_view format;
  std::string_view capability;  // how the GPU's begins
  std::string_view reason;
  double from = 0;  // rows; 0: at any number of them
};
constexpr std::array kNotRun{
    NotRun{"vLLM ", "", OperatorFamily::gemm, "bf16", "8.0",
           "timed on weights left unset (collect_gemm.py), which draw less power: TensorRT-LLM's "
           "same products of 2^24 weights and more take 2 to 6 % longer on random weights from "
           "2,048 rows on, and as long (1 %) for 160 to 1,024",
           2048},
    NotRun{
        "vLLM ", "", OperatorFamily::gemm, "bf16", "",
        "timed on weights left unset (collect_gemm.py), which draw less power: cuBLAS's same "
        "products take 3 to 6 % longer on random weights (SGLang) from 2,048 rows on, on H100 and "
        "H200"},
    NotRun{"TRTLLM ", "", OperatorFamily::moe, "mxfp4", "1",
           "from compute capability 10.0 on TensorRT-LLM runs W4A8_MXFP4_MXFP8, not these "
           "(model_config, get_mxfp4_quant_algo)"},
    NotRun{"SGLang ", "", OperatorFamily::gemm, "fp8_block", "10.",
           "timed with fp32 scales of the weights, which DeepGEMM converts in each call (11 us at "
           "the smallest size, TensorRT-LLM's 5); SGLang converts them when it loads "
           "(requant_weight_ue8m0)"},
    NotRun{"SGLang ", "sglang_fused_moe_triton", OperatorFamily::moe, "fp8_block", "10.",
           kFlashinferExperts},
    NotRun{"SGLang ", "sglang_fused_moe_triton", OperatorFamily::moe, "mxfp4", "",
           "reads weights widened to 16 bits; for gpt-oss SGLang runs triton_kernel, on Blackwell "
           "flashinfer_mxfp4 (server_args, moe_runner_backend)"},
    NotRun{"SGLang ", "sglang_flashinfer_cutedsl_moe", OperatorFamily::moe, "nvfp4", "10.",
           kFlashinferExperts},
    NotRun{"vLLM ", "vllm_mxfp4_moe", OperatorFamily::moe, "mxfp4", "10.",
           "on compute capability 10.x vLLM runs FlashInfer's TRTLLM-gen experts, not these "
           "(quantization/mxfp4, get_mxfp4_backend)"},
    NotRun{
        "vLLM 0.14", "", OperatorFamily::gemm, "fp8", "",
        "timed with their launches: 7.6 to 9.9 us at the smallest sizes, where 0.19 and 0.24 take "
        "4.0"},
    NotRun{"vLLM 0.14", "", OperatorFamily::gemm, "fp8_block", "",
           "timed with their launches: 20.5 us at the smallest sizes, where 0.19 takes 6.0"},
    NotRun{
        "vLLM ", "vllm_modeloptfp8moe_flashinfer_cutlass", OperatorFamily::moe, "fp8", "9.",
        "timed with one scale a tensor, as ModelOpt's checkpoints have; with scales a channel and "
        "a token vLLM runs other experts (fused_moe/oracle/fp8, select_fp8_moe_backend)"},
};

/// Sources that do not answer on a GPU, whatever their operator.
struct SourceLeftOut {
  std::string_view gpu;
  std::string_view source;  // how its name begins
  std::string_view reason;
};
constexpr std::array kSourcesLeftOut{
    SourceLeftOut{"nvidia-h100-sxm", "vLLM ",
                  "vLLM's host terms were fitted beside this GPU's efficiencies, and beside the "
                  "tables none is identified"},
};

/// Why a source answers nothing on the GPU; null: it answers.
const SourceLeftOut* why_left_out(std::string_view source, const Gpu& gpu) {
  for (const SourceLeftOut& rule : kSourcesLeftOut) {
    if (gpu.name == rule.gpu && source.starts_with(rule.source)) return &rule;
  }
  return nullptr;
}

/// Kernels of experts that an engine may run instead of others (model/step/expert_kernels.hpp):
/// TensorRT-LLM's as its tables name them, TensorRT-LLM's TRTLLM-gen as SGLang runs them, by way of
/// FlashInfer, and vLLM's Marlin beside Triton for mxfp4.
struct NamedExperts {
  std::string_view kernel;  // how its name begins
  std::string_view name;
};
constexpr std::array kNamedExperts{
    NamedExperts{"moe_torch_flow_min_latency", kTrtllmGenExperts},
    NamedExperts{"sglang_flashinfer_trtllm_moe", kTrtllmGenExperts},
    NamedExperts{"moe_torch_flow_cutlass", kCutlassExperts},
    NamedExperts{"deepgemm", kDeepgemmExperts},
    NamedExperts{"vllm_compressedtensorsw4a4mxfp4moe_marlin", kMarlinExperts},
};

std::string expert_name(const MeasuredCurve& curve) {
  if (curve.shape.family != OperatorFamily::moe) return curve.shape.name;
  for (const NamedExperts& experts : kNamedExperts) {
    if (curve.kernel.starts_with(experts.kernel)) return std::string(experts.name);
  }
  // TensorRT-LLM 1.2.0rc5 on H200 names none: CUTLASS's, but Triton's for gpt-oss.
  if (curve.kernel.starts_with("moe_torch_flow, TRTLLM 1.2.0rc5") &&
      !curve.shape.format.starts_with("mxfp4")) {
    return std::string(kCutlassExperts);
  }
  return {};
}

/// The rule by which the curve's kernel, or part of its points, is not run on the GPU; null: it is.
const NotRun* why_not_run(const MeasuredCurve& curve, const Gpu& gpu) {
  for (const NotRun& rule : kNotRun) {
    if (curve.shape.family == rule.family && curve.shape.query_heads == 0 &&
        curve.shape.format == rule.format && gpu.compute_capability.starts_with(rule.capability) &&
        source_of(curve.kernel).starts_with(rule.source) && curve.kernel.starts_with(rule.kernel)) {
      return &rule;
    }
  }
  return nullptr;
}

/// Curves of one source, by shape: of several kernels the one that answers.
using SourceShapes = std::map<OperatorShape, MeasuredCurve>;

// By how much longer experts must take than more of them, in the geometric mean of the sizes that
// both were timed at, or than more tokens of them, to count as not tuned: twice what tables of two
// versions differ by at half of the sizes (hardware_profiles/README.md, "Versions of an engine",
// products).
constexpr double kUntuned = 1.1;

constexpr const char* kCachedTactics =
    "longer than more experts of the same size with as many tokens, so not tuned: collect_moe.py "
    "keeps tactics in one file for CUTLASS's and TRTLLM-gen's experts and tunes the first only";
constexpr const char* kFromMore = "; told from more experts";

/// Whether they are CUTLASS's nvfp4 experts of a shape in which TRTLLM-gen's were timed, too.
bool may_be_untuned(const MeasuredCurve& curve, const SourceShapes& shapes) {
  OperatorShape other = curve.shape;
  other.name = kTrtllmGenExperts;
  return curve.shape.family == OperatorFamily::moe && curve.shape.format == "nvfp4" &&
         curve.shape.name == kCutlassExperts && source_of(curve.kernel).starts_with("TRTLLM ") &&
         shapes.contains(other);
}

/// Whether a rank with `more` reads and computes at least as much of each batch as one with `some`:
/// at least as many experts of one size, on at most as many ranks.
bool has_no_less_work(const OperatorShape& more, const OperatorShape& some) {
  OperatorShape like = more;
  like.experts = some.experts;
  like.expert_ranks = some.expert_ranks;
  const int ranks = std::max(1, some.expert_ranks);
  const int ranks_of_more = std::max(1, more.expert_ranks);
  return like == some && ranks_of_more <= ranks &&
         more.experts * ranks >= some.experts * ranks_of_more;
}

/// Geometric mean of the times of `a` over those of `b` at the sizes that both have; 0 without any.
double mean_ratio(const MeasuredCurve& a, const MeasuredCurve& b) {
  double sum = 0;
  double count = 0;
  for (const MeasuredPoint& point : a.points) {
    const auto same = std::ranges::find(b.points, point.x, &MeasuredPoint::x);
    if (same == b.points.end()) continue;
    sum += chord_log2(point.time / same->time);
    ++count;
  }
  return count > 0 ? chord_exp2(sum / count) : 0;
}

/// The curve's time at a size it was timed at; nullopt elsewhere.
std::optional<Seconds> timed_at(const MeasuredCurve& curve, double x) {
  const auto point = std::ranges::find(curve.points, x, &MeasuredPoint::x);
  if (point == curve.points.end()) return {};
  return point->time;
}

/// Tokens from which on evenly picked experts are all read, as they were timed
/// (collector/helper.py, balanced_logits).
double tokens_that_hit_all(const OperatorShape& shape) {
  return to_double(shape.experts) / to_double(shape.experts_per_token);
}

/// What fewer experts of a shape take, told from more that were tuned, with as many picks of each
/// rank: as long as neither are all read, the same; from there on less by what reading the others
/// took; never longer than they took themselves. Where both were tuned (TensorRT-LLM 1.3.0rc20 on
/// B200, 256 of DeepSeek-V3's experts told from Kimi-K2's 384, 24 ways to split them), 3.1 % median
/// and 13 % p90 beside their own times. Nullopt if `more` was not timed where all are read.
std::optional<MeasuredCurve> told_from_more(const MeasuredCurve& some, const MeasuredCurve& more) {
  const double all_of_some = tokens_that_hit_all(some.shape);
  const double all_of_more = tokens_that_hit_all(more.shape);
  const std::optional<Seconds> before = timed_at(more, all_of_some);
  const std::optional<Seconds> after = timed_at(more, all_of_more);
  if (!before || !after) return {};
  MeasuredCurve told = some;
  std::erase_if(told.points,
                [&](const MeasuredPoint& point) { return !timed_at(more, point.x).has_value(); });
  for (MeasuredPoint& point : told.points) {
    Seconds time = *timed_at(more, point.x);
    if (point.x > all_of_some && point.x < all_of_more) time = *before;
    if (point.x >= all_of_more) time -= *after - *before;
    point.time = std::min(point.time, time);
  }
  return told;
}

struct Untuned {
  std::int64_t removed = 0;  // curves
  std::int64_t told = 0;     // from more experts
};

/// Removes experts that were timed without being tuned, or replaces them by what the fewest of more
/// experts on as many ranks tell, if these were tuned.
Untuned settle_untuned(SourceShapes& shapes, const Gpu& gpu) {
  std::vector<OperatorShape> untuned;
  for (const auto& [shape, curve] : shapes) {
    if (!may_be_untuned(curve, shapes)) continue;
    for (const auto& [other, more] : shapes) {
      if (other == shape || !has_no_less_work(other, shape)) continue;
      if (mean_ratio(curve, more) <= kUntuned) continue;
      untuned.push_back(shape);
      break;
    }
  }
  std::map<OperatorShape, MeasuredCurve> told;
  for (const OperatorShape& shape : untuned) {
    const MeasuredCurve* fewest = nullptr;
    for (const auto& [other, more] : shapes) {
      if (other.experts <= shape.experts || other.expert_ranks != shape.expert_ranks ||
          shape.power_law != 0 || !has_no_less_work(other, shape) ||
          std::ranges::find(untuned, other) != untuned.end()) {
        continue;
      }
      if (fewest == nullptr || other.experts < fewest->shape.experts) fewest = &more;
    }
    if (fewest == nullptr) continue;
    auto curve = told_from_more(shapes.at(shape), *fewest);
    if (!curve) continue;
    std::erase_if(curve->points,
                  [&](const MeasuredPoint& point) { return beats_physics(shape, point, gpu); });
    if (!curve->points.empty()) told.emplace(shape, std::move(*curve));
  }
  const Untuned counts{.removed = std::ssize(untuned) - std::ssize(told), .told = std::ssize(told)};
  for (const OperatorShape& shape : untuned) shapes.erase(shape);
  shapes.merge(told);
  return counts;
}

/// Times of TensorRT-LLM's experts that are longer than those of more tokens by more than tables of
/// two versions differ: a tactic that was tuned for another size. A batch can be padded, so they
/// count as the shortest of more tokens. Returns how many points they are. Other engines choose
/// kernels by the number of tokens, which they run so.
std::int64_t pad_to_tuned(MeasuredCurve& curve) {
  if (curve.shape.family != OperatorFamily::moe) return 0;
  if (!source_of(curve.kernel).starts_with("TRTLLM ")) return 0;
  std::int64_t padded = 0;
  std::map<double, Seconds> shortest;  // of more tokens, by the second coordinate
  for (auto point = curve.points.rbegin(); point != curve.points.rend(); ++point) {
    const auto [more, first] = shortest.try_emplace(point->y, point->time);
    if (!first && point->time > kUntuned * more->second) {
      point->time = more->second;
      ++padded;
    }
    more->second = std::min(more->second, point->time);
  }
  return padded;
}

constexpr const char* kPadded =
    "longer than those of more tokens, which was tuned for another size; the shortest of these "
    "stands for them";

std::map<std::string, SourceShapes> curves_by_source(const Gpu& gpu,
                                                     std::vector<std::string>& left_out) {
  std::map<std::pair<std::string, std::string_view>, std::int64_t> not_run;
  std::map<std::string, std::map<OperatorShape, Measured>> all;
  for (MeasuredCurve curve : gpu.measured->curves) {
    if (joins_sources(curve.kernel) || joins_experts(curve)) continue;
    curve.kernel = with_own_source(curve.kernel);
    curve.shape.name = expert_name(curve);
    if (const SourceLeftOut* rule = why_left_out(source_of(curve.kernel), gpu)) {
      ++not_run[{std::string(source_of(curve.kernel)), rule->reason}];
      continue;
    }
    if (const NotRun* rule = why_not_run(curve, gpu)) {
      const auto removed = std::erase_if(
          curve.points, [&](const MeasuredPoint& point) { return point.x >= rule->from; });
      if (removed > 0) {
        ++not_run[{fmt::format("{}, {} {}", source_of(curve.kernel), curve.shape.format,
                               name_of(curve.shape.family)),
                   rule->reason}];
      }
      if (curve.points.empty()) continue;
    }
    all[std::string(source_of(curve.kernel))][curve.shape].curves.push_back(std::move(curve));
  }
  for (const auto& [what, count] : not_run) {
    left_out.push_back(fmt::format("{}: {} curves: {}", what.first, count, what.second));
  }
  std::map<std::string, SourceShapes> chosen;
  for (auto& [source, shapes] : all) {
    for (auto& [shape, kernels] : shapes) {
      chosen[source].emplace(shape, *find_curve(kernels, shape));
    }
    const Untuned untuned = settle_untuned(chosen[source], gpu);
    std::map<std::string, std::int64_t> padded;
    for (auto& [shape, curve] : chosen[source]) {
      padded[shape.format] += pad_to_tuned(curve);
    }
    for (const auto& [format, points] : padded) {
      if (points == 0) continue;
      left_out.push_back(fmt::format("{}, {} moe: times of {}: {}", source, format,
                                     counted(points, "size"), kPadded));
    }
    if (untuned.removed > 0) {
      left_out.push_back(
          fmt::format("{}, nvfp4 moe: {} curves: {}", source, untuned.removed, kCachedTactics));
    }
    if (untuned.told > 0) {
      left_out.push_back(fmt::format("{}, nvfp4 moe: {} curves: {}{}", source, untuned.told,
                                     kCachedTactics, kFromMore));
    }
  }
  return chosen;
}

/// Adds how far off `kept` answers the points of `timed` that it does not have.
void add_errors(const MeasuredCurve& timed, const MeasuredCurve& kept, int multiprocessors,
                std::vector<double>& errors) {
  auto next = kept.points.begin();
  for (const MeasuredPoint& point : timed.points) {
    if (next != kept.points.end() && next->x == point.x && next->y == point.y) {
      ++next;
      continue;
    }
    const Seconds guess = answer(kept, point.x, point.y, multiprocessors).time;
    errors.push_back(std::abs(guess / point.time - 1.0));
  }
}

PackedGroup packed_group(const std::string& source, const std::vector<const MeasuredCurve*>& curves,
                         const Gpu& gpu, double tolerance) {
  PackedGroup packed;
  packed.group.source = source;
  packed.group.key = group_key(curves.front()->shape);
  std::vector<double> errors;
  for (const MeasuredCurve* curve : curves) {
    packed.group.timed += std::ssize(curve->points);
    ThinnedCurve thin = thinned(with_stored_times(*curve, gpu), tolerance, gpu.multiprocessors);
    thin.curve.median_error = coarse_error(thin.curve.median_error);
    thin.curve.p90_error = coarse_error(thin.curve.p90_error);
    add_errors(*curve, thin.curve, gpu.multiprocessors, errors);
    packed.curves.push_back(std::move(thin.curve));
  }
  std::sort(errors.begin(), errors.end());
  if (!errors.empty()) {
    packed.group.median_error = quantile(errors, 0.5);
    packed.group.p90_error = quantile(errors, 0.9);
  }
  return packed;
}

std::vector<PackedGroup> packed_groups(const std::string& source, const SourceShapes& shapes,
                                       const Gpu& gpu, const PackingRules& rules) {
  std::map<GroupKey, std::vector<const MeasuredCurve*>> groups;
  for (const auto& [shape, curve] : shapes) groups[group_key(shape)].push_back(&curve);
  std::vector<PackedGroup> list;
  for (const auto& [key, curves] : groups) {
    PackedGroup packed = packed_group(source, curves, gpu, rules.tolerance);
    // At half of it no point is further off than the median may be.
    if (packed.group.median_error > rules.max_median) {
      packed = packed_group(source, curves, gpu, std::min(rules.tolerance / 2, rules.max_median));
    }
    list.push_back(std::move(packed));
  }
  return list;
}

std::string_view engine_name(std::string_view source) { return source.substr(0, source.find(' ')); }

/// Of each engine or library the newest version, then the second of each, and so on.
std::vector<std::string> by_need(const std::map<std::string, SourceShapes>& sources) {
  std::map<std::string_view, std::vector<std::string>> engines;
  for (const auto& [source, shapes] : sources) engines[engine_name(source)].push_back(source);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (auto& [engine, versions] : engines) {
    std::stable_sort(versions.begin(), versions.end(),
                     [](const auto& a, const auto& b) { return is_nearer_source(a, b, ""); });
    for (std::size_t age = 0; age < versions.size(); ++age) ranked.emplace_back(age, versions[age]);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> list;
  for (auto& [age, source] : ranked) list.push_back(std::move(source));
  return list;
}

}  // namespace

PackedTables pack_tables(const Gpu& gpu, const TableRecord& record, const PackingRules& rules) {
  TableRecord kept = record;
  const auto sources = curves_by_source(gpu, kept.left_out);
  PackedTables tables;
  for (const std::string& source : by_need(sources)) {
    const SourceShapes& shapes = sources.at(source);
    std::vector<PackedGroup> own = packed_groups(source, shapes, gpu, rules);
    std::vector<PackedGroup> all = tables.groups;
    all.insert(all.end(), own.begin(), own.end());
    std::string bytes = write_kernel_tables(kept, all);
    const std::size_t added = bytes.size() - tables.bytes.size();
    const bool fits = bytes.size() <= rules.max_bytes;
    tables.sources.push_back({.source = source, .bytes = added, .kept = fits});
    if (fits) {
      tables.groups = std::move(all);
      tables.bytes = std::move(bytes);
    } else {
      kept.left_out.push_back(
          fmt::format("{}: {} curves, {} bytes: no room", source, shapes.size(), added));
    }
  }
  if (tables.groups.empty()) {
    throw Error(fmt::format("kernel tables of {}: not one source fits into {} bytes", gpu.name,
                            rules.max_bytes));
  }
  tables.bytes = write_kernel_tables(kept, tables.groups);
  return tables;
}

}  // namespace roofcast
