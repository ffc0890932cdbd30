// What single versions of an engine run on one vendor's chips that neither kernel tables nor
// efficiencies know, a row for each such change with its source, and how far versions that no row
// tells apart have differed. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// A product that an engine's versions run in a kernel that was not tuned for it.
struct UntunedProduct {
  std::string_view engine;  // how its presets' names begin
  std::string_view chip;    // compute capability
  std::string_view from;    // the first version with the kernel
  std::string_view before;  // the first version without it
  std::string_view format;  // of the weights
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  Seconds least{};       // of one call, whatever the number of rows
  Seconds least_each{};  // of each row, where they take turns
  std::string_view source;
};

std::span<const UntunedProduct> untuned_products();

/// What one call of a product takes at least in the version asked for, where nobody timed it on the
/// GPU; 0 where no row says so, and for an engine whose version is not stated.
Seconds least_product_time(const Deployment& deployment, const OperatorShape& product);

/// What each row of a product takes at least, in a kernel that was not tuned for it or that the
/// engine was told to use, which no table times; 0 elsewhere. TRTLLM-gen's low-latency products
/// (SGLang's flashinfer_trtllm) by benchmark of sgl-project/sglang pull 13528 on a B200: 759
/// TFLOP/s between 2,048 and 4,096 rows of 576 outputs (63.5 - 41.2 us; 7,168 inputs), and 447
/// between 1,024 and 2,048 rows of 24,576 (1,632.5 - 826.2 us), whose 176 MB of weights pass
/// through the L2 cache once for each 64 rows.
Seconds least_row_time(const Deployment& deployment, const OperatorShape& product);

/// What a HIP graph takes to start a kernel that waits for the one before it: 941 kernels of one
/// block take 3.87 us each in one and 0.88 us in a queue of their own on a Radeon PRO W7900
/// (ROCm/rocm-systems issue 10834).
inline constexpr Seconds kHipGraphStart{2.99e-6};

/// Whether experts of this shape run in AITER's default kernel where nobody tuned one for them: on
/// gfx942 weights in fp8 with scales of blocks, of a width that 256 divides, run in the kernel for
/// blocks of 32 rows, fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_ps_32x256, in all versions of 2025
/// and 2026 (fused_moe.py, BLOCK_SIZE_M).
bool runs_default_experts(const Deployment& deployment, const OperatorShape& experts);

/// How many times as long as tuned kernels that one takes with `rows` rows an expert. Each block of
/// 32 rows reads its expert's weights again: 1 where one block holds them; 1.74, 1.88 and 1.54 with
/// 128, 256 and 512 rows (ROCm/aiter pull 2404: experts of 6,144 inputs and 256 outputs on an
/// MI300X, 1,600 us against 918, 2,623 against 1,392 and 4,228 against 2,748). Between, linear in
/// the logarithm; beyond, as with 512 (pull 4261: 1.56 on average over 43 to 683 rows of others).
double default_experts_ratio(double rows);

/// One standard deviation of the logarithm of such a time: half of what those two rates differ by.
inline constexpr double kUntimedKernelDeviation = 0.26;

/// The name of that cause of error.
inline constexpr const char* kVersionCause = "the engine's version";

/// How far the servers of single versions are from what is predicted for that version, on one
/// vendor's GPUs where no kernel tables were taken from servers of several versions: what a version
/// ran beyond its kernels and the rows above is not on record.
///
/// Of each version and GPU the mean over its runs of the logarithm of measured over predicted TPOT;
/// the deviation is the root mean square of these means. Of a version that is answered by another
/// (`uncompared`) it is instead how far versions differ: of each setting (GPU, layout, format,
/// load) that was measured on several dates, r is the logarithm of the largest ratio of two medians
/// of TPOT at most half a year apart. Taking a version as even between the fastest and the slowest,
/// its mean square distance from the fastest is r^2 / 3, and the deviation the square root of the
/// mean of r^2 / 3 over settings.
struct VersionSpread {
  std::string_view engine;  // how Engine::version begins
  std::string_view vendor;  // of the GPU
  bool drafts = false;      // only where drafts are verified
  bool uncompared = false;  // only for versions that are answered by another (engine_version.hpp)
  double deviation = 0;     // one standard deviation of the logarithm of step times
  std::string_view source;
};

std::span<const VersionSpread> version_spreads();

/// The largest that applies to the deployment; nullptr where none does: of an engine on a vendor's
/// GPUs with kernel tables, without drafts, whose common error was taken from servers of several
/// versions (error_causes.cpp), and of one of which nobody measured servers.
const VersionSpread* version_spread(const Deployment& deployment);

/// Its deviation; 0 where none applies.
double version_deviation(const Deployment& deployment);

/// What a deployment's times stand for among the versions of its engine.
enum class VersionBasis {
  fastest,         // tuned kernels: a version may run slower ones
  slower_kernels,  // some of the version's kernels are slower, and counted, as far as on record
  nearest,         // another version, since nothing is known of the one asked for
};

/// "fastest", "slower_kernels", "nearest".
std::string_view name_of(VersionBasis basis);

VersionBasis version_basis(const Deployment& deployment);

/// The deployment with the kernels that its engine's newest version would run and launch: its
/// tables, and none of the slower ones above. Scheduler, memory, defaults and host times stay those
/// of its own version. TensorRT-LLM before 1.0 keeps the kernels that its builder chose.
Deployment with_newest_kernels(Deployment deployment);

}  // namespace roofcast
