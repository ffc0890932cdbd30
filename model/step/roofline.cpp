#include "model/step/roofline.hpp"

#include <algorithm>

#include "model/step/collective.hpp"
#include "model/step/efficiency.hpp"

namespace roofcast {

namespace {

// Decode attention with many heads on one latent is compute-bound: FlashMLA reaches 660 TFLOP/s of
// 989 on Hopper (deepseek-ai/FlashMLA README).
constexpr double kDecodeComputeEfficiency = 0.65;

// A chunk of few tokens over a long context streams its cache as decode does: the lowest of the
// four GPUs whose curves set the default of decode attention (efficiency.cpp).
constexpr double kPrefillMemoryEfficiency = 0.75;

/// Bytes of a step's activations that fit in the L2 cache, and those that do not, over all calls.
struct Activations {
  Bytes cached{};
  Bytes spilled{};
};

Activations activations_of(const Work& work, const Gpu& gpu) {
  const Bytes all = work.bytes - work.stored_bytes;
  const Bytes room = gpu.l2_cache * static_cast<double>(work.calls);
  const Bytes cached = std::min(all, room);
  return {.cached = cached, .spilled = all - cached};
}

Seconds compute_limit(const Work& work, const Gpu& gpu) {
  if (work.flops.value <= 0) return {};
  return work.flops / gpu.peak_for(work.compute);
}

Seconds memory_limit(const Work& work, const Gpu& gpu) {
  return (work.stored_bytes + activations_of(work, gpu).spilled) / gpu.memory_bandwidth;
}

/// Shares of peak and of bandwidth that kernels reach. The curve sets the one that its family is
/// measured against.
struct Shares {
  double compute = 1;
  double memory = 1;
};

Shares shares_of(const Work& work, const EfficiencyEstimate& efficiency) {
  const double share = efficiency.curve.at(work.scale);
  switch (work.family) {
    case OperatorFamily::prefill_attention:
      return {.compute = share, .memory = kPrefillMemoryEfficiency};
    case OperatorFamily::decode_attention:
      return {.compute = kDecodeComputeEfficiency, .memory = share};
    default:
      return {.compute = share, .memory = share};
  }
}

/// Time of the memory traffic, activations in the L2 cache at its rate included.
Seconds moving_time(const Work& work, const Gpu& gpu) {
  const Activations activations = activations_of(work, gpu);
  const Bytes moved = work.stored_bytes + activations.spilled + activations.cached / kCacheSpeedUp;
  return moved / gpu.memory_bandwidth;
}

struct Expectation {
  Seconds compute{};
  Seconds memory{};
  Seconds fixed{};

  Seconds total() const { return fixed + std::max(compute, memory); }
};

Expectation expect(const Work& work, const Gpu& gpu, const EfficiencyEstimate& efficiency) {
  const Shares shares = shares_of(work, efficiency);
  return {.compute = compute_limit(work, gpu) / shares.compute,
          .memory = moving_time(work, gpu) / shares.memory,
          .fixed = floor_of(work, gpu) * static_cast<double>(work.calls)};
}

Bound bound_of(const Expectation& e) {
  if (e.fixed > std::max(e.compute, e.memory)) return Bound::latency;
  return e.compute > e.memory ? Bound::compute : Bound::memory;
}

}  // namespace

std::string_view name_of(Bound bound) {
  switch (bound) {
    case Bound::compute:
      return "compute";
    case Bound::memory:
      return "memory";
    case Bound::latency:
      return "latency";
    case Bound::communication:
      return "communication";
  }
  return "unknown";
}

Seconds physical_limit(const Work& work, const Gpu& gpu) {
  if (work.family == OperatorFamily::collective) {
    return link_limit(work, gpu);
  }
  return std::max(compute_limit(work, gpu), memory_limit(work, gpu));
}

Seconds roofline_time(const Work& work, const Gpu& gpu) {
  if (work.family == OperatorFamily::collective) return physical_limit(work, gpu);
  return std::max(compute_limit(work, gpu), moving_time(work, gpu));
}

Work work_of(const OperatorShape& shape, double x, double y) {
  constexpr int kAnyUnits = 1;  // the wave count is not used
  const ShapeWork one = shape_work(shape, x, y, kAnyUnits);
  Work work{.name = shape.name.empty() ? std::string(name_of(shape.family)) : shape.name,
            .family = shape.family,
            .calls = 1,
            .flops = one.flops,
            .bytes = one.bytes,
            .stored_bytes = one.stored_bytes,
            .format = shape.format,
            .cache = shape.cache,
            .scale = x,
            .ranks = shape.ranks,
            .exchange = shape.exchange};
  // The minimum part of a message that a rank must send (deployment_operators.cpp).
  if (shape.family == OperatorFamily::collective && shape.exchange != Exchange::all_reduce &&
      shape.exchange != Exchange::point_to_point) {
    work.bytes = one.bytes * (static_cast<double>(shape.ranks - 1) / shape.ranks);
  }
  if (const KernelFormat* format = kernel_format(shape.format)) {
    work.compute = format->compute;
    work.weight_bits = format->weight_bits;
  } else if (is_attention(shape.family) && bits_of(shape.cache) > 16) {
    work.compute = shape.cache;  // attention in fp32
  }
  if (shape.fp8_arithmetic) work.compute = DType::fp8;
  return work;
}

Bound bound_of(const Work& work, const Gpu& gpu, Seconds time, Seconds fixed) {
  if (work.family == OperatorFamily::collective) return Bound::communication;
  if (2.0 * fixed > time) return Bound::latency;
  return compute_limit(work, gpu) > memory_limit(work, gpu) ? Bound::compute : Bound::memory;
}

bool beats_physics(const OperatorShape& shape, const MeasuredPoint& point, const Gpu& gpu) {
  if (shape.name == "activation_scales") return false;  // a difference of two kernels' times
  const Work work = work_of(min_work_shape(shape), point.x, point.y);
  if (work.family == OperatorFamily::collective) {
    // Without a stated link there is no limit; a single rank sends nothing.
    const std::optional<Link>& link = shape.ranks <= gpu.gpus_per_node ? gpu.peer : gpu.network;
    if (!link || shape.ranks < 2) return false;
  }
  return point.time * kAboveStatedLimits < physical_limit(work, gpu);
}

// The fixed time is added rather than a minimum: over the bf16 GEMMs of H100 (vLLM 0.24 tables of
// aiconfigurator 095f58a; 3,408 shapes of at most 16 tokens) floor + roofline / efficiency has a
// median error of 3.6 % and 11.5 % at p90, max(floor, roofline / efficiency) 10.8 % and 20.4 %.
Seconds expected_time(const Work& work, const Gpu& gpu, const EfficiencyEstimate& efficiency) {
  if (work.family == OperatorFamily::collective) {
    return std::max(collective_time(work, gpu), physical_limit(work, gpu));
  }
  return std::max(expect(work, gpu, efficiency).total(), physical_limit(work, gpu));
}

OperatorEstimate estimate(const Work& work, const Gpu& gpu, const EfficiencyEstimate& efficiency) {
  const bool collective = work.family == OperatorFamily::collective;
  return {.work = work,
          .time = expected_time(work, gpu, efficiency),
          .bound = collective ? Bound::communication : bound_of(expect(work, gpu, efficiency)),
          .provenance = efficiency.provenance,
          .relative_uncertainty = efficiency.relative_uncertainty};
}

OperatorEstimate estimate(const Work& work, const Gpu& gpu) {
  return estimate(work, gpu, efficiency_of(work, gpu));
}

FlopsPerByte ridge_point(const Gpu& gpu, DType compute) {
  return gpu.peak_for(compute) / gpu.memory_bandwidth;
}

}  // namespace roofcast
