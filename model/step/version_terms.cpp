#include "model/step/version_terms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/dotted_version.hpp"
#include "model/curves/curve_source.hpp"
#include "model/engines/engine_features.hpp"
#include "model/engines/engine_version.hpp"
#include "model/step/deployment_operators.hpp"

namespace roofcast {

namespace {

// Composable kernels' product with block-scaled fp8 weights that AITER runs on MI300X for a shape
// without a row, tiles of 16 rows and 128 outputs (blockscale_dispatch(), v0.1.5 to e4048607),
// where that kernel is the tuned one without split inputs: 6.1 us of 768 inputs, 7.2 and 7.8 of
// 1,024, 8.2 and 10.7 of 1,536, 11.4 of 2,048, 11.2 of 2,304, 20.5 of 4,096 and 24.5 of 5,120, for
// 160 to 288 tiles, of which each of 304 multiprocessors holds one (36 KiB of 64): by least squares
// 2.9 us and 1.07 us for each 256 inputs. More tiles take turns.
// On MI355X the same reasoning gives 365 TFLOP/s where 385 to 421 were measured (ROCm/aiter pull
// 5586).
constexpr double kDefaultTileTime = 1.07e-6 / 256;  // seconds an input
constexpr Seconds kDefaultTileStart = Seconds{2.9e-6} + kHipGraphStart;
constexpr double kDefaultTileRows = 16;
constexpr std::int64_t kDefaultTileOutputs = 128;
constexpr double kMultiprocessors = 304;

constexpr Seconds default_tile_time(double inputs) { return Seconds{inputs * kDefaultTileTime}; }

/// Of one row where every multiprocessor always has a tile.
constexpr Seconds default_row_time(std::int64_t outputs, double inputs) {
  const std::int64_t tiles = (outputs + kDefaultTileOutputs - 1) / kDefaultTileOutputs;
  return default_tile_time(inputs) *
         (static_cast<double>(tiles) / kDefaultTileRows / kMultiprocessors);
}

constexpr std::array kUntunedProducts{
    // DeepSeek-V3's products of the hidden state with both latents and the rotary key (1,536 + 512
    // + 64 outputs), whole on every rank. After 0.5.5 SGLang runs block-scaled products of AMD's
    // chips in AITER's Triton kernel instead of its CK one (sgl-project/sglang pull 13617 of 20
    // November 2025; pull 14043 finds it in the image of 0.5.5.post3 of 25 November), which had no
    // tuned settings of this shape for gfx942 and ran with default ones (ROCm/aiter pull 1930 of
    // January 2026). With these it takes 129, 127 and 117 us for 64, 128 and 256 rows on an MI350X
    // (ROCm/aiter pull 1232); 117 us are taken for gfx942, an assumption. CK's takes 16 to 27 us on
    // MI300X (AITER's table). There are 56 dependent steps along K, so that fewer rows take no
    // less. Tuned settings came with sgl-project/sglang pull 18242 (ROCm/aiter pull 2024), whose
    // first nightly on record is of 25 February 2026 (pull 19439), when 0.5.9's image was out: here
    // from 0.5.10, an assumption.
    UntunedProduct{.engine = "sglang",
                   .chip = "gfx942",
                   .from = "0.5.5.post3",
                   .before = "0.5.10",
                   .format = "fp8_block",
                   .outputs = 2112,
                   .inputs = 7168,
                   .least = Seconds{117e-6},
                   .source = "sgl-project/sglang pulls 13617 and 18242; ROCm/aiter pulls 1232, "
                             "1930 and 2024"},
    // The same before, in composable kernels' default: AITER's tables had no row of this shape.
    UntunedProduct{.engine = "sglang",
                   .chip = "gfx942",
                   .from = "0.5.0",
                   .before = "0.5.5.post3",
                   .format = "fp8_block",
                   .outputs = 2112,
                   .inputs = 7168,
                   .least = kDefaultTileStart + default_tile_time(7168),
                   .least_each = default_row_time(2112, 7168),
                   .source = "ROCm/aiter v0.1.5, a8w8_blockscale_tuned_gemm.csv and "
                             "blockscale_dispatch()"},
};

// Medians of TPOT of DeepSeek-R1 (InferenceX, October 2025 to June 2026; docs/accuracy.md, "How
// wide the intervals are" and "How far versions differ").
constexpr std::array kVersionSpreads{
    VersionSpread{.engine = "sglang",
                  .vendor = "AMD",
                  .deviation = 0.16,
                  .source = "six versions on MI300X (0.14 by themselves), seven on MI355X (0.17)"},
    VersionSpread{.engine = "sglang",
                  .vendor = "NVIDIA",
                  .drafts = true,
                  .deviation = 0.31,
                  .source = "multi-token prediction, seven versions and GPUs (B200 0.37)"},
    VersionSpread{.engine = "atom",
                  .vendor = "AMD",
                  .deviation = 0.08,
                  .source = "two versions on MI355X, three with multi-token prediction (0.06)"},
    // Of vLLM no version was measured apart from others on AMD's GPUs: ATOM's, which run AITER's
    // kernels too, stand for it.
    VersionSpread{.engine = "vllm",
                  .vendor = "AMD",
                  .deviation = 0.08,
                  .source = "two versions of ATOM on MI355X"},
    VersionSpread{.engine = "sglang",
                  .vendor = "AMD",
                  .uncompared = true,
                  .deviation = 0.44,
                  .source = "15 settings, MI300X (median ratio 1.53; 0.26 by itself) and MI355X "
                            "(2.52; 0.55)"},
    VersionSpread{.engine = "sglang",
                  .vendor = "NVIDIA",
                  .drafts = true,
                  .uncompared = true,
                  .deviation = 0.42,
                  .source = "3 settings with multi-token prediction, B200 (median ratio 1.99)"},
    VersionSpread{.engine = "atom",
                  .vendor = "AMD",
                  .drafts = true,
                  .uncompared = true,
                  .deviation = 0.16,
                  .source = "8 settings with multi-token prediction, MI355X (median 1.12)"},
    VersionSpread{.engine = "vllm",
                  .vendor = "AMD",
                  .drafts = true,
                  .uncompared = true,
                  .deviation = 0.16,
                  .source = "8 settings of ATOM with multi-token prediction, MI355X (median 1.12)"},
    // On NVIDIA's GPUs the kernel tables of the nearest version answer, and their common error was
    // taken from servers of several; of a version without any, this is left.
    VersionSpread{.engine = "sglang",
                  .vendor = "NVIDIA",
                  .uncompared = true,
                  .deviation = 0.14,
                  .source = "B200 (0.09 by itself) and H200 (0.18), root mean square"},
    VersionSpread{.engine = "trtllm",
                  .vendor = "NVIDIA",
                  .uncompared = true,
                  .deviation = 0.05,
                  .source = "settings without drafts, B200 and H200"},
    VersionSpread{.engine = "trtllm",
                  .vendor = "NVIDIA",
                  .drafts = true,
                  .uncompared = true,
                  .deviation = 0.08,
                  .source = "settings with multi-token prediction, B200 and H200"},
};

bool covers(const UntunedProduct& row, std::string_view version) {
  return !is_older(version, row.from) && is_older(version, row.before);
}

}  // namespace

std::span<const UntunedProduct> untuned_products() { return kUntunedProducts; }

namespace {

/// The largest of a time of the rows that hold for the deployment's product.
Seconds largest_of(const Deployment& deployment, const OperatorShape& product,
                   Seconds UntunedProduct::*time) {
  const std::string_view version = stated_version(deployment.engine.version);
  Seconds largest{};
  for (const UntunedProduct& row : kUntunedProducts) {
    const bool runs = deployment.engine.version.starts_with(row.engine) &&
                      deployment.gpu.compute_capability == row.chip && covers(row, version);
    const bool same = product.format == row.format && product.outputs == row.outputs &&
                      product.inputs == row.inputs;
    if (runs && same) largest = std::max(largest, row.*time);
  }
  return largest;
}

}  // namespace

Seconds least_product_time(const Deployment& deployment, const OperatorShape& product) {
  return largest_of(deployment, product, &UntunedProduct::least);
}

Seconds least_row_time(const Deployment& deployment, const OperatorShape& product) {
  constexpr FlopsPerSecond kCached{759e12};
  constexpr FlopsPerSecond kStreamed{447e12};
  if (deployment.engine.fp8_gemm_backend != Fp8GemmBackend::flashinfer_trtllm ||
      !has_low_latency_products(deployment.gpu) || product.format != "fp8_block") {
    return largest_of(deployment, product, &UntunedProduct::least_each);
  }
  const auto weights =
      static_cast<double>(product.outputs) * static_cast<double>(product.inputs);  // bytes
  const bool cached = weights <= deployment.gpu.l2_cache.value;
  return Flops{2.0 * weights} / (cached ? kCached : kStreamed);
}

bool runs_default_experts(const Deployment& deployment, const OperatorShape& experts) {
  constexpr std::int64_t kWidth = 256;  // of the kernel's tile
  return deployment.gpu.compute_capability == "gfx942" && experts.format == "fp8_block" &&
         experts.outputs % kWidth == 0;
}

double default_experts_ratio(double rows) {
  struct Point {
    double octave;  // log2 of rows
    double ratio;
  };
  constexpr std::array kPoints{Point{5, 1.0}, Point{7, 1599.97 / 918.21},
                               Point{8, 2622.92 / 1391.90}, Point{9, 4227.68 / 2747.60}};
  const double octave = std::log2(std::max(rows, 1.0));
  if (octave <= kPoints.front().octave) return kPoints.front().ratio;
  for (std::size_t i = 1; i < kPoints.size(); ++i) {
    const Point& low = kPoints[i - 1];
    const Point& high = kPoints[i];
    if (octave > high.octave) continue;
    return std::lerp(low.ratio, high.ratio, (octave - low.octave) / (high.octave - low.octave));
  }
  return kPoints.back().ratio;
}

std::span<const VersionSpread> version_spreads() { return kVersionSpreads; }

const VersionSpread* version_spread(const Deployment& deployment) {
  const VersionSpread* largest = nullptr;
  const bool uncompared = !is_compared_version(deployment.engine.version);
  for (const VersionSpread& row : kVersionSpreads) {
    const bool applies = deployment.engine.version.starts_with(row.engine) &&
                         deployment.gpu.vendor == row.vendor && !is_cpu(deployment.gpu) &&
                         (!row.drafts || deployment.engine.speculation.on()) &&
                         (!row.uncompared || uncompared);
    if (!applies) continue;
    if (largest == nullptr || row.deviation > largest->deviation) largest = &row;
  }
  return largest;
}

double version_deviation(const Deployment& deployment) {
  const VersionSpread* spread = version_spread(deployment);
  return spread == nullptr ? 0 : spread->deviation;
}

std::string_view name_of(VersionBasis basis) {
  switch (basis) {
    case VersionBasis::fastest:
      break;
    case VersionBasis::slower_kernels:
      return "slower_kernels";
    case VersionBasis::nearest:
      return "nearest";
  }
  return "fastest";
}

VersionBasis version_basis(const Deployment& deployment) {
  if (!is_compared_version(deployment.engine.version)) return VersionBasis::nearest;
  const StepOperators operators = step_operators(deployment);
  const bool slower = std::ranges::any_of(operators.per_token, [&](const LinearOperator& op) {
    return least_product_time(deployment, op.shape).value > 0;
  });
  return slower ? VersionBasis::slower_kernels : VersionBasis::fastest;
}

Deployment with_newest_kernels(Deployment deployment) {
  Engine& engine = deployment.engine;
  const std::string newest = newest_version(engine.version);
  if (kernel_owner(newest) == kernel_owner(engine.version)) engine.version = newest;
  if (engine.fp8_gemm_backend == Fp8GemmBackend::flashinfer_trtllm) {
    engine.fp8_gemm_backend = Fp8GemmBackend::automatic;
  }
  return deployment;
}

}  // namespace roofcast
