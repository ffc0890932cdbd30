// A step as a whole: its matrix products, its attention and everything together, each with its
// arithmetic intensity; the minimum time that the hardware allows, and what binds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/deployment.hpp"
#include "model/step/step_estimate.hpp"

namespace roofcast {

/// The work of some of a step's operators on one GPU. Bytes are all that they read and write,
/// activations included; what GPUs send each other has none here.
struct StepPart {
  Seconds time{};
  Flops flops{};
  Bytes bytes{};
  Seconds at_peak{};       // the FLOPs at the dense peaks of their formats
  Seconds at_bandwidth{};  // the bytes at full memory bandwidth

  /// Arithmetic intensity; nullopt if no bytes move.
  std::optional<FlopsPerByte> intensity() const;
  /// The side of the ridge point on which the part lies.
  bool is_compute_bound() const { return at_peak >= at_bandwidth; }
};

/// The limit that takes most of a step's time.
enum class StepLimit { compute, memory, latency, communication, host };

std::string_view name_of(StepLimit limit);

struct StepSummary {
  StepPart products{};   // matrix products, experts included
  StepPart attention{};  // over keys and values: of prompts, of decodes, or both
  StepPart whole{};      // all operators; its time includes the host's
  /// FLOPs of products and attention at the dense peaks: the numerator of MFU (Chowdhery et al.,
  /// PaLM, arXiv 2204.02311, appendix B).
  Seconds needed_compute{};
  /// Weights and KV cache read once at full bandwidth: the numerator of MBU (Databricks, "LLM
  /// Inference Performance Engineering: Best Practices", 2023).
  Seconds needed_memory{};
  /// No implementation on this GPU is faster: the larger of the two, or what must be sent over the
  /// links. Assumes that compute, memory and links overlap perfectly and that activations never
  /// leave the chip.
  Seconds lower_bound{};
  StepLimit binding = StepLimit::memory;
  double binding_share = 0;                       // of the step's time
  Provenance provenance = Provenance::datasheet;  // source of most of the operators' time
  double provenance_share = 0;                    // of the operators' time
};

StepSummary summary_of(const StepEstimate& step, const Gpu& gpu);

/// Smallest batches, over all data-parallel ranks, at which a decode step has more FLOPs than the
/// GPU computes while it moves the bytes, both at datasheet rates. nullopt: none below 2^20 per
/// rank. The intensity of attention does not grow with the batch, so it crosses at 1 or never; the
/// step crosses only if the products' FLOPs outweigh the attention's bytes.
struct ComputeBoundBatches {
  std::optional<std::int64_t> products{};
  std::optional<std::int64_t> attention{};
  std::optional<std::int64_t> step{};
};

/// For sequences with `context` cached tokens each.
ComputeBoundBatches compute_bound_batches(const Deployment& deployment, std::int64_t context);

}  // namespace roofcast
