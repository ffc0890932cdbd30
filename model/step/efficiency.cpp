#include "model/step/efficiency.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "model/step/carried_time.hpp"

namespace roofcast {

namespace {

// Uncertainties: one standard deviation of measured over estimated time, by family and provenance.
// A GPU's own curve is a median over shapes, so what remains is the spread of shapes around it:
// with roughly normal errors, p90 of the absolute error is 1.64 standard deviations. Figures:
// kernels of H100, H200, A100 and L40S in aiconfigurator 095f58a (vLLM 0.14 to 0.24, SGLang
// 0.5.10), p90. A default adds the spread between GPUs and kernel libraries.
struct Spread {
  double fitted = 0;
  double datasheet = 0;
};

// bf16: p90 11 % to 17 % around the GPU's curve; GPUs range from 0.57 to 0.97 around the default of
// 0.75.
constexpr Spread kGemm16{.fitted = 0.09, .datasheet = 0.17};
// fp8: p90 17 % to 60 %, mostly in small matrices; per-tensor and block scales differ by 1.5x.
constexpr Spread kGemmNarrow{.fitted = 0.20, .datasheet = 0.35};
// MoE: p90 6 % to 50 % by shape; skewed routing halves the time of small batches and adds 5 % to 40
// % to large ones; libraries differ by 4x on fp8.
constexpr Spread kMoe{.fitted = 0.20, .datasheet = 0.40};
// p90 10 % to 30 %; FlashAttention-2, -3 and cuDNN differ by 1.8x on one GPU.
constexpr Spread kPrefill{.fitted = 0.12, .datasheet = 0.25};
// p90 12 % to 17 %; GPUs range from 0.75 to 0.95 around the default.
constexpr Spread kDecode{.fitted = 0.10, .datasheet = 0.15};
// fp8 caches: 0.64 to 0.90 of bandwidth by library.
constexpr Spread kDecodeNarrow{.fitted = 0.12, .datasheet = 0.25};
// Norms reach 0.49 to 0.87 of bandwidth by library (cuDNN frontend, H200); engines differ more in
// which of them they fuse.
constexpr Spread kMemoryBound{.fitted = 0.15, .datasheet = 0.25};
constexpr Spread kCollective{.fitted = 0.15, .datasheet = 0.40};

// Defaults of the datasheet provenance, after subtracting the fixed time per call.

/// Middle of the curves of H100, H200, A100 and L40S (bf16, matrices of at least 10^6 weights):
/// 0.74 to 0.91 of bandwidth at few tokens, 0.56 to 0.87 at 256, 0.56 to 0.80 of peak at 16384.
Curve default_gemm_16() {
  return {.points = {{1, 0.84}, {64, 0.79}, {256, 0.70}, {1024, 0.74}, {4096, 0.75}, {16384, 0.72}},
          .source = "middle of H100, H200, A100, L40S in aiconfigurator 095f58a"};
}

/// Middle of the curves of H100, H200 and L40S (fp8, CUTLASS per-token scales, matrices of at least
/// 3e7 weights). Also used for int8: no trustworthy int8 table of a current GPU was found
/// (assumption).
Curve default_gemm_8() {
  return {.points = {{1, 0.77}, {64, 0.74}, {256, 0.60}, {1024, 0.60}, {4096, 0.56}, {16384, 0.57}},
          .source = "middle of H100, H200, L40S in aiconfigurator 095f58a"};
}

/// fp8 with 128 x 128 block scales, DeepGEMM and Triton, same GPUs and matrices as above.
Curve default_gemm_block() {
  return {.points = {{1, 0.40}, {64, 0.34}, {256, 0.34}, {1024, 0.50}, {4096, 0.55}, {16384, 0.52}},
          .source = "middle of H100, H200, L40S in aiconfigurator 095f58a"};
}

/// Weights narrower than the arithmetic (int4 and fp8 weights multiplied as bf16). Assumption:
/// close to bandwidth at few tokens, as Marlin reports (arXiv 2408.11743, figure 1); at more tokens
/// unpacking costs a fifth of peak.
Curve default_gemm_weight_only() {
  return {.points = {{1, 0.75}, {32, 0.65}, {256, 0.55}, {16384, 0.60}},
          .source = "assumption; Marlin, arXiv 2408.11743"};
}

/// nvfp4 on B200 reaches 0.27 to 0.37 including the fixed time (aiconfigurator 095f58a); without
/// it, 1.5 times that is assumed.
Curve default_gemm_4() {
  return {.points = {{1, 0.50}, {256, 0.40}, {16384, 0.55}},
          .source = "assumption from B200 in aiconfigurator 095f58a"};
}

/// Middle of the bf16 curves of H100, H200 and L40S: Triton experts of vLLM, balanced routing,
/// after subtracting Floors::moe.
Curve default_moe() {
  return {.points = {{1, 0.84},
                     {16, 0.84},
                     {64, 0.84},
                     {256, 0.78},
                     {1024, 0.67},
                     {4096, 0.49},
                     {16384, 0.37}},
          .source = "middle of H100, H200, L40S in aiconfigurator 095f58a"};
}

/// Causal FLOPs over peak at head size 128, bf16: t = floor + FLOPs / (0.6 peak) + a time per query
/// row, which is the same within 10 % on H100 (FlashAttention-3), A100 and L40S (FlashAttention-2).
Curve default_prefill() {
  return {.points = {{128, 0.08},
                     {256, 0.15},
                     {512, 0.24},
                     {1024, 0.34},
                     {2048, 0.44},
                     {4096, 0.51},
                     {8192, 0.55},
                     {16384, 0.58}},
          .source = "middle of H100, A100, L40S in aiconfigurator 095f58a"};
}

/// KV bytes over bandwidth: H100 0.79 to 0.94, A100 0.56 to 0.76, L40S 0.76 to 0.83, from 128 MB.
Curve default_decode() {
  return {.points = {{64e6, 0.65}, {256e6, 0.76}, {1e9, 0.83}},
          .source = "middle of H100, A100, L40S in aiconfigurator 095f58a"};
}

/// fp8 KV: 0.64 (H200) to 0.84 (H100) from 1 GB.
Curve default_decode_narrow() {
  return {.points = {{64e6, 0.58}, {256e6, 0.68}, {1e9, 0.75}},
          .source = "middle of H100, H200, L40S in aiconfigurator 095f58a"};
}

Curve flat(double share, const char* source) { return {.points = {{1, share}}, .source = source}; }

/// How a matrix is stored, in the classes that default efficiencies distinguish.
enum class FormatClass { wide, eight_bit, block_scaled, weight_only, four_bit };

FormatClass class_of(const Work& work, const Gpu& gpu) {
  const bool native = gpu.dense_peak.contains(work.compute);
  const bool narrow = work.weight_bits < 12;
  if (!narrow) return FormatClass::wide;
  if (!native || bits_of(work.compute) >= 16) return FormatClass::weight_only;
  if (bits_of(work.compute) == 4) return FormatClass::four_bit;
  const bool block = work.format.find("block") != std::string::npos;
  return block ? FormatClass::block_scaled : FormatClass::eight_bit;
}

Curve default_gemm(FormatClass format) {
  switch (format) {
    case FormatClass::wide:
      return default_gemm_16();
    case FormatClass::eight_bit:
      return default_gemm_8();
    case FormatClass::block_scaled:
      return default_gemm_block();
    case FormatClass::weight_only:
      return default_gemm_weight_only();
    case FormatClass::four_bit:
      return default_gemm_4();
  }
  return default_gemm_16();
}

/// The plain format that runs the same kernels: bf16 for fp16, the arithmetic for every 8-bit
/// format without block scales; empty if there is none.
std::string plain_format(const Work& work, FormatClass format) {
  if (format == FormatClass::wide && bits_of(work.compute) == 16) return "bf16";
  if (format == FormatClass::eight_bit) return std::string(name_of(work.compute));
  if (format == FormatClass::block_scaled) return "fp8_block";
  return {};
}

/// The profile's curve for a weight format. Prefers the kernel library's own curve
/// ("tensorrt_llm:fp8") to one without a library, the format in the arithmetic that is used
/// ("mxfp4 as fp4") to the format's own name, and that to the plain one.
const Curve* profile_curve(const std::map<std::string, Curve>& curves, const Work& work,
                           FormatClass format) {
  const std::string plain = plain_format(work, format);
  std::vector<std::string> names{work.format + " as " + std::string(name_of(work.compute)),
                                 work.format, plain};
  if (!work.library.empty()) {
    const std::string prefix = work.library + ":";
    names.insert(names.begin(), {prefix + work.format, prefix + plain});
  }
  for (const std::string& name : names) {
    const auto found = curves.find(name);
    if (found != curves.end()) return &found->second;
  }
  return nullptr;
}

/// A profile's curve is fitted to kernels of the GPU unless it says that it is assumed.
EfficiencyEstimate choose(const Curve* own, const Curve& fallback, Spread spread) {
  const bool has_own = own != nullptr && !own->points.empty();
  if (has_own && !own->assumed) {
    return {EfficiencyCurve(*own), Provenance::fitted, spread.fitted};
  }
  return {EfficiencyCurve(has_own ? *own : fallback), Provenance::datasheet, spread.datasheet};
}

const Curve* pointer_to(const std::optional<Curve>& curve) { return curve ? &*curve : nullptr; }

EfficiencyEstimate decode_efficiency(const Work& work, const Gpu& gpu) {
  const auto& curves = gpu.efficiencies.decode_attention;
  const bool narrow = bits_of(work.cache) < 16;
  auto found = curves.find(work.cache);
  if (found == curves.end() && !narrow) found = curves.find(DType::bf16);
  return choose(found == curves.end() ? nullptr : &found->second,
                narrow ? default_decode_narrow() : default_decode(),
                narrow ? kDecodeNarrow : kDecode);
}

EfficiencyEstimate collective_efficiency(const Work& work, const Gpu& gpu) {
  const bool measured = work.exchange == Exchange::all_reduce &&
                        !gpu.efficiencies.all_reduce.empty() && work.ranks <= gpu.gpus_per_node;
  const Curve unused = flat(1.0, "times come from collective_time");
  return choose(measured ? &unused : nullptr, unused, kCollective);
}

}  // namespace

std::vector<double> bends(const Curve& curve) {
  std::vector<double> result;
  for (const Curve::Point& point : curve.points) result.push_back(point.x);
  // The powers of two in the range, where the piecewise linear log2 bends. Both calls are exact.
  int first = 0;
  int last = 0;
  std::frexp(curve.points.front().x, &first);
  std::frexp(curve.points.back().x, &last);
  for (int exponent = first; exponent < last; ++exponent) {
    result.push_back(std::ldexp(1.0, exponent));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

EfficiencyCurve::EfficiencyCurve(Curve curve) : curve_(std::move(curve)) {
  assert(!curve_.points.empty());
  double max = 0;
  for (const double x : bends(curve_)) {
    max = std::max(max, x / curve_.at(x));
    node_.push_back(x);
    max_so_far_.push_back(max);
  }
}

double EfficiencyCurve::at(double x) const {
  const double share = curve_.at(x);
  const auto after = std::upper_bound(node_.begin(), node_.end(), x);
  if (after == node_.begin()) return share;
  const auto index = static_cast<std::size_t>(after - node_.begin()) - 1;
  return std::min(share, x / max_so_far_[index]);
}

namespace {

EfficiencyEstimate best_efficiency(const Work& work, const Gpu& gpu) {
  const Efficiencies& profile = gpu.efficiencies;
  const FormatClass format = class_of(work, gpu);
  switch (work.family) {
    case OperatorFamily::gemm:
      return choose(profile_curve(profile.gemm, work, format), default_gemm(format),
                    format == FormatClass::wide ? kGemm16 : kGemmNarrow);
    case OperatorFamily::moe:
      return choose(profile_curve(profile.moe, work, format), default_moe(), kMoe);
    case OperatorFamily::prefill_attention:
      return choose(pointer_to(profile.prefill_attention), default_prefill(), kPrefill);
    case OperatorFamily::decode_attention:
      return decode_efficiency(work, gpu);
    case OperatorFamily::memory_bound:
    case OperatorFamily::recurrent:
      // aiconfigurator's own correction; RMSNorm reaches 0.80 to 0.87 on H200 (cuDNN frontend,
      // norms/results/h200).
      return choose(pointer_to(profile.memory_bound),
                    flat(0.80, "aiconfigurator mem_bw_empirical_scaling_factor"), kMemoryBound);
    case OperatorFamily::collective:
      return collective_efficiency(work, gpu);
  }
  return choose(nullptr, flat(1.0, ""), kMemoryBound);
}

}  // namespace

EfficiencyEstimate efficiency_of(const Work& work, const Gpu& gpu) {
  EfficiencyEstimate best = best_efficiency(work, gpu);
  if (gpu.sister && best.provenance == Provenance::fitted) {
    best.relative_uncertainty =
        std::hypot(best.relative_uncertainty, carried_deviation(*gpu.sister, gpu.memory_bandwidth));
  }
  // The defaults are those of chips that were timed: to another they are carried over as kernels
  // are, so that a profile without any is not surer than one with those of a cousin whose memory is
  // alike.
  if (gpu.untimed_chip && best.provenance == Provenance::datasheet) {
    best.relative_uncertainty = std::hypot(best.relative_uncertainty, kOtherChipDeviation);
  }
  return best;
}

Seconds floor_of(const Work& work, const Gpu& gpu) {
  switch (work.family) {
    case OperatorFamily::gemm:
      return gpu.floors.gemm;
    case OperatorFamily::moe:
      return gpu.floors.moe / static_cast<double>(kExpertCalls);
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return gpu.floors.attention;
    case OperatorFamily::memory_bound:
    case OperatorFamily::recurrent:
      return gpu.floors.memory_bound;
    case OperatorFamily::collective:
      return gpu.floors.all_reduce;
  }
  return {};
}

}  // namespace roofcast
