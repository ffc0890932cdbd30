// Optional features of an engine: speculative decoding, LoRA adapters, K and V in host memory. All
// are off by default; the last two are simulated for vLLM only.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"
#include "model/engines/policies.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

struct Engine;
struct EngineOverrides;

/// Whether vLLM has two kernels for the model's experts on the GPU: for mxfp4 weights and 16-bit
/// activations on Hopper.
bool has_two_expert_kernels(const Transformer& model, const Gpu& gpu);

/// Far beyond any draft; more is an input error.
inline constexpr std::int64_t kMaxDrafts = 1'000;

/// Speculative decoding: each decode computes one token and verifies `draft_tokens` more, or a tree
/// of drafts of that depth, of which one path can be accepted.
struct Speculation {
  DraftMethod method = DraftMethod::ngram;
  std::int64_t draft_tokens = 0;  // 0: off; of a tree its depth
  /// SGLang: branches that each pass of the draft adds to a tree, and the tokens of it that are
  /// verified, the first included; 1 and 0: a chain of draft_tokens.
  std::int64_t topk = 1;
  std::int64_t tree_tokens = 0;
  /// By position: the share of decodes in which all drafts up to it are accepted (vLLM's
  /// "Per-position acceptance rate"). Never increases.
  std::vector<double> acceptance{};
  /// Of the probability that a draft is accepted, given those before it: one standard deviation.
  double acceptance_deviation = 0;
  Seconds draft_pass{};     // the draft's time per token, for the whole batch, unless `timed_head`
  bool timed_head = false;  // the passes of a head are part of the step's time (draft_operators)
  Bytes draft_weights{};    // of a draft model, whole, and K and V of one of its tokens
  Bytes draft_kv{};

  bool on() const { return draft_tokens > 0; }
  /// Tokens that a decode computes: its own and the drafts.
  std::int64_t verified() const { return tree_tokens > 0 ? tree_tokens : 1 + draft_tokens; }
  /// Slots for which blocks are kept beyond a step's own tokens: a draft model's tokens are written
  /// to the cache before they are verified (num_lookahead_tokens in
  /// vllm/v1/core/sched/scheduler.py).
  std::int64_t lookahead() const { return method == DraftMethod::ngram ? 0 : draft_tokens; }
  /// Draft heads that read the target's hidden states (use_eagle in vllm/config/speculative.py).
  bool reads_hidden_states() const {
    return on() && (method == DraftMethod::eagle || method == DraftMethod::mtp);
  }
};

/// Speculation::acceptance with each draft's probability, given those before it, off by that many
/// standard deviations, within 0 and 1.
std::vector<double> deviating_acceptance(const Speculation& speculation, double deviations);

/// The layer of an EAGLE or MTP head: as the model's last. A checkpoint in nvfp4 or mxfp4 has an
/// MTP layer in 16 bits (nvidia/DeepSeek-R1-0528-FP4; TensorRT-LLM 1.1, modeling_deepseekv3.py,
/// _get_decoder_layer_quant_config; SGLang 0.5.9, models/deepseek_nextn.py; layer 61 is excluded in
/// amd/DeepSeek-R1-0528-MXFP4). Neglects EAGLE heads of another shape. Precondition: the model has
/// layers.
Layer draft_layer(const Transformer& model, DraftMethod method);

/// Whether products by block-scaled fp8 weights run in kernels for few tokens on the GPU where the
/// engine is told so (Fp8GemmBackend::flashinfer_trtllm).
bool has_low_latency_products(const Gpu& gpu);

/// LoRA adapters. A step that uses any takes `step` longer, plus `adapter` for each distinct one:
/// by default what their kernels and matrices take of rank `max_rank`.
struct LoraServing {
  std::int64_t max_loras = 1;  // distinct adapters in one step (vLLM's default)
  std::int64_t max_rank = 0;   // for which GPU memory is kept; 0: none is
  Seconds step{};
  Seconds adapter{};
};

/// K and V kept in host memory by vLLM.
struct KvOffloading {
  Bytes size{};  // host memory, one rank's share; 0: off
  BytesPerSecond bandwidth{};
  Seconds latency{};  // per request's transfer
  OffloadingBackend backend = OffloadingBackend::native;

  bool on() const { return size.value > 0; }
};

/// SGLang: a second radix tree in host memory, whose prefixes are loaded when they are hit.
struct HierarchicalCache {
  double ratio = 0;  // its tokens, of the KV cache's; 0: off
  Bytes size{};      // host memory of one rank, if it is given instead
  BytesPerSecond bandwidth{};
  Seconds latency{};

  bool on() const { return ratio > 0; }
};

/// Two-batch overlap (vLLM's DBO, SGLang's TBO): a step is divided into halves that take turns, so
/// that one computes while the experts' tokens of the other are exchanged.
struct BatchOverlap {
  bool enabled = false;
  std::int64_t decode_tokens = 0;   // least tokens on a rank with which a decode step is divided
  std::int64_t prefill_tokens = 0;  // and one with prompts
  double compute_share = 1.0;       // of a GPU's multiprocessors that the exchange leaves
};

/// The overlap of the engine on this GPU, with its thresholds. DeepEP's high-throughput kernels use
/// multiprocessors of their own for the exchange, its low-latency ones run in the background.
/// Throws UsageError if the engine's backend overlaps with nothing.
BatchOverlap batch_overlap(const Engine& engine, const Gpu& gpu, std::int64_t decode_tokens,
                           std::int64_t prefill_tokens);

/// Sets speculation, lora, kv_offloading and hierarchical_cache of `engine`. Throws UsageError
/// naming the knob that is missing or contradicts another. Precondition: each knob is within its
/// range and given with its partner (check_overrides).
void resolve_features(Engine& engine, const EngineOverrides& given, const Transformer& model,
                      const Gpu& gpu, const Parallelism& parallel);

}  // namespace roofcast
