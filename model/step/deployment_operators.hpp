// A deployment's operators with their sizes precomputed, so that a step only fills in its token
// counts. Used by step_work (step_work.cpp) and the step-time table (step_estimate.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/curves/operator_shape.hpp"
#include "model/step/attention_block.hpp"
#include "model/step/shared_experts.hpp"
#include "model/step/step_work.hpp"

namespace roofcast {

/// For operators of no attention block that was timed as one.
constexpr int kNoBlock = -1;

/// Time per row that follows no roofline: kernels that process rows one by one and are too small to
/// fill a device.
struct SerialTime {
  Seconds each{};         // per row
  std::int64_t rows = 0;  // up to this many rows
  Seconds each_beyond{};  // per further row

  Seconds of(std::int64_t n) const;
  bool operator==(const SerialTime&) const = default;
};

/// Time to sort a row's logits for top-p, as PyTorch does: up to 128 rows one after the other, more
/// rows together.
SerialTime sort_time(std::int64_t vocabulary);

/// Which tokens of a step an operator computes. `context`: those of all context ranks, which each
/// have a share of every prompt and all of the tokens that are decoded.
enum class Phase { all, decode, prefill, context };

/// An operator whose work is linear in a count n: tokens or rows of the step.
struct LinearOperator {
  Work work{};                 // name, family, formats, calls; the rest is set per step
  double flops_each = 0;       // per n and call
  double activation_each = 0;  // bytes per n and call: read and written
  double stored_fixed = 0;     // bytes per call: weights
  double wire_share = 1;       // of a collective's message: the minimum that a rank must send
  // Experts: their weights are read only if a token chooses them.
  std::int64_t experts = 0;     // on this rank; 0: not an expert operator
  double pick_probability = 0;  // that a token chooses a given expert: top-k / experts
  /// The same of classes of equally many experts where tokens pick unevenly (pick_classes).
  std::vector<double> pick_classes{};
  std::int64_t group_tokens = 1;  // tokens of the expert group per token of this rank
  double expert_bytes = 0;        // weights of one expert on this rank
  double busiest = 1;             // its share of the picks over the mean rank's
  int expert_ranks = 1;           // that hold whole experts, and wait for each other
  // What a call takes at least where nobody timed it: in a kernel that an engine's version did not
  // tune (version_terms.hpp).
  Seconds least{};
  // What n of a call take at least, each, whatever was timed: in such a kernel, or in the one that
  // the engine was told to use, of which no table has times (version_terms.hpp).
  Seconds least_each{};
  // Experts that run in a default kernel unless their shape was timed (runs_default_experts()).
  bool untuned = false;
  // Time in addition to the roofline's or the measured one.
  Seconds wait{};       // per call
  SerialTime serial{};  // per n
  // The shape under which measured curves list it: one timed call of this shape, at the size n *
  // shape_each, stands for `calls_of_shape` of the calls above.
  OperatorShape shape{};
  double shape_each = 1;
  std::int64_t calls_of_shape = 1;
  // Experts spread over ranks, where that was not timed: one rank's as if its tokens chose among
  // these alone, as many pairs over as many experts. 0: there is no such shape.
  OperatorShape alone_shape{};
  double alone_each = 0;
  /// Experts over ranks: whether a rank gets the pairs of its own experts alone (DeepEP), rather
  /// than every token, whose other pairs its kernels pass over at a cost.
  bool dispatched = false;
  // Where it runs within the routed experts' kernels or beside them on a second stream, it costs
  // the memory and arithmetic that it takes from them, no time of its own.
  SharedExpertOverlap beside{};
  int block = kNoBlock;  // of StepOperators::blocks
  Phase phase = Phase::all;
};

/// The attention of all layers that share a shape and span.
struct AttentionOperator {
  Work decode{};
  Work prefill{};
  AttentionSpan span{};
  std::size_t span_index = 0;
  double entry_bytes = 0;    // cached bytes per entry, per layer and rank
  double decode_reads = 1;   // how often a decode reads an entry, as equivalent reads from memory
  double query_bytes = 0;    // queries in, outputs out, per new token
  double decode_flops = 0;   // per new token and entry
  double prefill_flops = 0;  // per pair of new and attended tokens
  double expand_flops = 0;   // latent attention: to rebuild keys and values of one cached token
  double size_factor = 1;    // head size over 128
  std::int64_t compression = 1;    // tokens per cached entry
  std::int64_t local_tokens = 0;   // kept uncompressed in addition
  std::int64_t context_ranks = 1;  // that share a decode's entries and all of their queries
  // The indexer of sparse attention scans every cached token.
  double index_bytes = 0;
  double index_flops = 0;
  std::size_t index_span = 0;
  // The shape under which measured curves list it; absent if no timed kernel does the same work
  // (compressed caches, indexers, keys and values rebuilt from a latent).
  std::optional<OperatorShape> decode_shape{};
  std::optional<OperatorShape> prefill_shape{};
  int block = kNoBlock;          // of StepOperators::blocks
  std::size_t context_span = 0;  // the whole context, where the model has such a span
};

/// The kernels of a recurrent mixer, as measured curves list them.
struct RecurrentShapes {
  OperatorShape convolution{};
  OperatorShape recurrence{};
};

/// Convolution and state update run as two kernels (mamba_ssm's causal_conv1d and
/// selective_state_update), which read and write the sequence's state. Prefill scans in chunks.
constexpr std::int64_t kRecurrentKernels = 2;

/// Layers with a recurrent state.
struct RecurrentOperator {
  Work decode{};
  Work prefill{};
  double state_bytes = 0;      // per sequence and call: read and written back
  double flops_each = 0;       // per token and call
  double activation_each = 0;  // bytes per token and call
  std::optional<RecurrentShapes> decode_shapes{};
  std::optional<RecurrentShapes> prefill_shapes{};
};

struct StepOperators {
  std::vector<LinearOperator> per_token{};  // n: tokens of the step, or those of its phase
  std::vector<LinearOperator> per_row{};    // n: tokens that need logits
  std::vector<AttentionOperator> attention{};
  std::vector<RecurrentOperator> recurrent{};
  /// Attention blocks that the GPU's curves time as one.
  std::vector<BlockShapes> blocks{};
  /// Products of blocks as the block was timed, in the format of its other projections, where the
  /// layer has them in another; the layer's own are in per_token. In no step's own time.
  std::vector<LinearOperator> timed_otherwise{};
  std::vector<LinearOperator> in_own_format{};  // the same products as per_token has them
  /// Kernels that PyTorch launches beyond one for each call above, in a step that it runs operator
  /// by operator (eager_launches.cpp).
  std::int64_t more_launches = 0;
  std::int64_t prompt_launches = 0;  // of these, in steps with prompts alone
};

/// Operators of all layers and both ends.
StepOperators step_operators(const Deployment& deployment);
/// Operators of one pipeline stage: its layers, the end it has, and what it sends to the next.
StepOperators stage_operators(const Deployment& deployment, int stage);
/// Of one pass of an EAGLE or MTP head: its layer, both ends of the model, and the product of a
/// token's embedding and state, each normalised, that goes into the layer (DeepSeek-V3, arXiv
/// 2412.19437, equation 21), whole on every rank (SGLang 0.5.9, models/deepseek_nextn.py, eh_proj;
/// TensorRT-LLM divides it). Precondition: the deployment has such drafts.
StepOperators draft_operators(const Deployment& deployment);

/// Adds the operators of a layer's token mixer to those of step_operators (mixer_operators.cpp),
/// for `layers` equal layers; those of an attention block are marked with `block`. Spans are
/// indexed as attention_spans(model) lists them.
void add_mixer_operators(const Deployment& deployment, const Layer& layer, std::int64_t layers,
                         int block, StepOperators& out);

/// An operator whose bytes are all activations: `bytes_each` per token (or row) and call.
LinearOperator memory_bound_operator(const Deployment& deployment, std::string name,
                                     std::int64_t calls, double bytes_each);

/// A sum over the ranks of tensor parallelism, of a message of `bytes_each` per token and call; no
/// calls for a single rank.
LinearOperator all_reduce_operator(const Deployment& deployment, std::string name,
                                   std::int64_t calls, double bytes_each);

/// Adds an operator, merging its calls into an equal one's if there is one. No effect without
/// calls.
void add_operator(std::vector<LinearOperator>& list, LinearOperator op);

/// The counts that describe a batch.
struct StepCounts {
  std::int64_t tokens = 0;  // padded for decode-only batches
  std::int64_t rows = 0;
  std::int64_t decoding = 0;      // of the tokens
  std::int64_t prompt_ranks = 1;  // that have as many other tokens of the same prompts

  std::int64_t of(Phase phase) const {
    if (phase == Phase::all) return tokens;
    if (phase == Phase::context) return decoding + (tokens - decoding) * prompt_ranks;
    return phase == Phase::decode ? decoding : tokens - decoding;
  }
};

/// What one rank computes of a step whose prompts are divided among context ranks.
struct RankBatch {
  StepBatch batch{};
  std::int64_t prompt_ranks = 1;  // 1: every rank computes all of it
};

/// Of R context ranks, rank r takes parts r and 2R - 1 - r of the 2R equal parts of every chunk, so
/// that all attend to as many tokens; each part is an entry of `prefills`. Sequences that decode
/// are computed by all ranks (vLLM 0.27, v1/worker/gpu/pcp_manager.py, _get_rank_segments; SGLang
/// 0.5.16, layers/cp/zigzag.py, build_metadata). SGLang divides no step with a chunk of fewer
/// tokens than parts (can_apply). These are the parts of the last rank, whose windows are fullest.
/// Neglects that parts differ by a token, and that SGLang deals the tokens of sparse attention out
/// one by one.
RankBatch batch_of_rank(const Deployment& deployment, const StepBatch& batch);

StepCounts step_counts(const Engine& engine, const StepBatch& batch);

/// Whether prompts are attended to in the latent's absorbed form: those of sparse attention
/// (FlashMLA's sparse prefill), and SGLang's that are divided among ranks (sgl-project/sglang pull
/// 23292).
bool absorbs_prompts(const Deployment& deployment, const LatentAttention& attention);

/// Sets flops, bytes and scale of `work` (a copy of the operator's `work`) for n tokens or rows.
void set_work(const LinearOperator& op, std::int64_t n, Work& work);
void set_decode_work(const AttentionOperator& op, const StepBatch& batch, Work& work);
void set_prefill_work(const AttentionOperator& op, const StepBatch& batch, Work& work);
void set_decode_work(const RecurrentOperator& op, const StepBatch& batch, Work& work);
void set_prefill_work(const RecurrentOperator& op, const StepBatch& batch, Work& work);

}  // namespace roofcast
