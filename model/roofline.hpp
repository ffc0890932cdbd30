// One operator on one GPU: the time no kernel can beat, and the time kernels are expected to take.
// Roofline model: Williams, Waterman, Patterson, CACM 52(4), 2009.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/gpu.hpp"
#include "model/units.hpp"

namespace roofcast {

/// Where a number comes from, best first.
enum class Rung { measured, interpolated, extended, fitted, datasheet };
/// What limits an operator.
enum class Bound { compute, memory, latency, communication };

std::string_view name_of(Rung rung);
std::string_view name_of(Bound bound);

enum class OperatorFamily {
  gemm,               // weights times activations
  moe,                // routed experts
  prefill_attention,
  decode_attention,
  memory_bound,       // norms, RoPE, activations, KV writes, embedding, sampling
  collective,
};

/// The work of one operator in one step on one rank.
struct Work {
  std::string name;
  OperatorFamily family = OperatorFamily::gemm;
  std::int64_t calls = 1;     // kernels launched; flops and bytes are of all of them together
  Flops flops;
  Bytes bytes;                // that must cross HBM (or the link, for a collective)
  DType compute = DType::bf16;
  std::string format;         // weight format name (gemm, moe)
  DType cache = DType::bf16;  // KV element type (attention)
  double scale = 1;           // the x of the family's efficiency curve: tokens, or bytes per call
  int ranks = 1;              // of a collective
};

struct OperatorEstimate {
  Work work;
  Seconds time;
  Bound bound = Bound::memory;
  Rung rung = Rung::datasheet;
  double relative_uncertainty = 0;  // one standard deviation, as a share of `time`
};

/// max(flops / peak, bytes / bandwidth): what physics allows. Collectives: bytes over the link.
Seconds physical_limit(const Work& work, const Gpu& gpu);

/// Expected time: floor per call + the roofline over what kernels reach. Never below
/// physical_limit.
OperatorEstimate estimate(const Work& work, const Gpu& gpu);

/// Intensity at which a GPU turns from memory- to compute-bound.
FlopsPerByte ridge_point(const Gpu& gpu, DType compute);

}  // namespace roofcast
