// The operators of attention and recurrent mixers in a step, besides their matrices.
#include <algorithm>
#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include "model/architecture/attention_flops.hpp"
#include "model/architecture/parallelism.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/step/deployment_operators.hpp"
#include "model/step/efficiency.hpp"
#include "model/step/latent_kernels.hpp"

namespace roofcast {

namespace {

std::size_t index_of(const std::vector<AttentionSpan>& spans, const AttentionSpan& span) {
  const auto found = std::find(spans.begin(), spans.end(), span);
  assert(found != spans.end());
  return static_cast<std::size_t>(found - spans.begin());
}

/// Bytes per cached entry and per indexer key, on one rank.
struct EntryBytes {
  double entry = 0;
  double index = 0;
};

template <class AnyAttention>
EntryBytes entry_bytes(const AnyAttention& attention, const Deployment& deployment) {
  Layer with_index;
  with_index.mixer = attention;
  AnyAttention plain = attention;
  plain.index_head_dim = 0;
  Layer without_index;
  without_index.mixer = plain;
  const auto need = [&](const Layer& layer) {
    return cache_need(layer, deployment.model, deployment.engine.kv_cache_dtype,
                      deployment.parallel.tensor)
        .per_token.value;
  };
  const double entry = need(without_index);
  return {.entry = entry, .index = need(with_index) - entry};
}

bool same_shape(const AttentionOperator& a, const AttentionOperator& b) {
  return a.span == b.span && a.entry_bytes == b.entry_bytes && a.query_bytes == b.query_bytes &&
         a.decode_reads == b.decode_reads && a.decode_flops == b.decode_flops &&
         a.prefill_flops == b.prefill_flops && a.expand_flops == b.expand_flops &&
         a.size_factor == b.size_factor && a.compression == b.compression &&
         a.local_tokens == b.local_tokens && a.context_ranks == b.context_ranks &&
         a.index_bytes == b.index_bytes && a.index_flops == b.index_flops &&
         a.decode_shape == b.decode_shape && a.prefill_shape == b.prefill_shape &&
         a.block == b.block;
}

/// Where the operators of one layer group are added.
struct Target {
  const Deployment& deployment;
  std::int64_t layers = 0;
  int block = kNoBlock;
  StepOperators& out;

  double activation_bytes() const { return bits_of(deployment.model.activation) / 8.0; }
  int tensor() const { return deployment.parallel.tensor; }

  void add_memory_bound(std::string name, std::int64_t calls_a_layer, double bytes_each,
                        Phase phase = Phase::all) const {
    LinearOperator op =
        memory_bound_operator(deployment, std::move(name), layers * calls_a_layer, bytes_each);
    op.block = block;
    op.phase = phase;
    add_operator(out.per_token, std::move(op));
  }

  /// Context ranks each write what all of them computed.
  void add_cache_write(double bytes_each) const {
    LinearOperator op = memory_bound_operator(deployment, "kv_write", layers, bytes_each);
    op.block = block;
    if (deployment.parallel.context > 1) op.phase = Phase::context;
    add_operator(out.per_token, std::move(op));
  }
};

/// The operator's name, with the width of its span unless that is the whole context.
std::string name_with_span(std::string name, const AttentionSpan& span) {
  if (span.tokens == 0) return name;
  name += '_';
  name += std::to_string(span.tokens);
  return name;
}

void add_attention(AttentionOperator op, const Target& target) {
  op.block = target.block;
  op.context_ranks = target.deployment.engine.context_ranks;
  if (op.decode_shape) op.decode_shape->query_heads *= op.context_ranks;
  const auto same =
      std::find_if(target.out.attention.begin(), target.out.attention.end(),
                   [&](const AttentionOperator& other) { return same_shape(other, op); });
  if (same != target.out.attention.end()) {
    same->decode.calls += target.layers;
    same->prefill.calls += target.layers;
    return;
  }
  const std::vector<AttentionSpan> spans = attention_spans(target.deployment.model);
  op.span_index = index_of(spans, op.span);
  if (op.index_flops > 0) op.index_span = index_of(spans, AttentionSpan{});
  const auto whole = std::find(spans.begin(), spans.end(), AttentionSpan{});
  op.context_span =
      whole == spans.end() ? op.span_index : static_cast<std::size_t>(whole - spans.begin());
  op.decode.name = name_with_span("decode_attention", op.span);
  op.decode.family = OperatorFamily::decode_attention;
  op.prefill.name = name_with_span("prefill_attention", op.span);
  op.prefill.family = OperatorFamily::prefill_attention;
  for (Work* work : {&op.decode, &op.prefill}) {
    work->calls = target.layers;
    work->compute = target.deployment.model.activation;
    work->cache = target.deployment.engine.kv_cache_dtype;
  }
  target.out.attention.push_back(std::move(op));
}

/// Rate at which query heads on a Hopper GPU read K and V that others have brought into the L2
/// cache. Fitted: throughput of six models with 1, 4 and 8 query heads per KV head on one to eight
/// H100 (TensorRT-LLM 0.13 performance overview, fp16). Higher than the cache alone provides,
/// because some reads are shared.
constexpr BytesPerSecond kRereadRate{9e12};

/// On Hopper, compiled TensorRT-LLM engines (up to 0.18) take as long for a 16-bit cache as if
/// every query head of a group read K and V separately. This is inferred from that throughput,
/// which falls with the heads per group. On A100, and from fp8 caches, they are read once.
double decode_reads(const Deployment& deployment, double query_heads_per_kv_head) {
  const bool shares = !deployment.engine.rereads_cache ||
                      bits_of(deployment.engine.kv_cache_dtype) < 16 ||
                      deployment.gpu.architecture != "hopper";
  if (shares) return 1.0;
  return std::max(1.0, query_heads_per_kv_head * (deployment.gpu.memory_bandwidth / kRereadRate));
}

/// Whether a kernel over plain cached tokens does the same work.
bool reads_plain_cache(const Attention& a) {
  return a.cache_compression == 1 && a.local_tokens == 0 && a.index_heads == 0;
}

/// Whether a prompt's attention over an fp8 cache runs in fp8: TensorRT-LLM's does where the cache
/// is paged (TensorRT-LLM 1.2, mFP8ContextFMHA of the attention operator).
bool computes_in_fp8(const Target& target, OperatorFamily family) {
  const Engine& engine = target.deployment.engine;
  return family == OperatorFamily::prefill_attention && engine.kv_cache_dtype == DType::fp8 &&
         engine.version.starts_with("trtllm");
}

OperatorShape shape_of(const Attention& a, OperatorFamily family, const Target& target) {
  return {.family = family,
          .cache = target.deployment.engine.kv_cache_dtype,
          .query_heads = heads_per_rank(a.query_heads, target.tensor()),
          .kv_heads = heads_per_rank(a.kv_heads, target.tensor()),
          .head_dim = a.head_dim,
          .value_dim = a.value_head_dim,
          .window = a.span.kind == AttentionSpan::Kind::sliding ? a.span.tokens : 0,
          .fp8_arithmetic = computes_in_fp8(target, family)};
}

/// For the absorbed form.
OperatorShape shape_of(const LatentAttention& a, const Target& target) {
  return {.family = OperatorFamily::decode_attention,
          .cache = target.deployment.engine.kv_cache_dtype,
          .query_heads = heads_per_rank(a.query_heads, target.tensor()),
          .kv_heads = 1,
          .head_dim = a.kv_lora_rank + a.rope_dim,
          .value_dim = a.kv_lora_rank,
          .latent = true};
}

/// For prompts, whose keys and values are expanded for every head.
OperatorShape expanded_shape_of(const LatentAttention& a, const Target& target) {
  const std::int64_t heads = heads_per_rank(a.query_heads, target.tensor());
  return {.family = OperatorFamily::prefill_attention,
          .cache = target.deployment.engine.kv_cache_dtype,
          .query_heads = heads,
          .kv_heads = heads,
          .head_dim = a.nope_dim + a.rope_dim,
          .value_dim = a.value_head_dim,
          .fp8_arithmetic = computes_in_fp8(target, OperatorFamily::prefill_attention)};
}

/// Two sums of squares in fp32, of queries and of keys.
constexpr double kSquaresOfAToken = 8;  // bytes

/// Passes over queries and keys to normalise them. Over the width of all heads, of which ranks hold
/// parts, one sums the squares and one scales, with a sum over the ranks between them (MiniMax-M2:
/// sgl-project/sglang pull 14416, vllm-project/vllm pull 31493). Neglects that versions before
/// those treat queries and keys apart, and that OLMo-2's are gathered whole.
std::int64_t norm_passes(const Attention& a, int ranks) {
  if (a.qk_norm_elements == 0) return 0;
  const bool of_all_heads = a.qk_norm_elements == (a.query_heads + a.kv_heads) * a.head_dim;
  return of_all_heads && ranks > 1 ? 2 : 1;
}

void add_mixer(const Attention& a, const Layer&, const Target& target) {
  const double queries = to_double(heads_per_rank(a.query_heads, target.tensor()));
  const double kv_heads = to_double(heads_per_rank(a.kv_heads, target.tensor()));
  const double width = to_double(a.head_dim + a.value_head_dim);
  const double element = target.activation_bytes();
  // Layers that share an earlier layer's cache still read it; compression and the uncompressed
  // window change the number of entries, not their size.
  Attention reading = a;
  reading.reuses_earlier_cache = false;
  reading.cache_compression = 1;
  reading.local_tokens = 0;
  // An encoder's K and V are activations: read, though not cached.
  const bool cached = a.span.kind != AttentionSpan::Kind::both;
  if (!cached) reading.span = {};
  const EntryBytes entry = entry_bytes(reading, target.deployment);

  AttentionOperator op;
  op.span = a.span;
  op.entry_bytes = entry.entry;
  op.decode_reads = decode_reads(target.deployment, queries / kv_heads);
  op.query_bytes = queries * width * element;
  op.decode_flops = 2.0 * queries * width;
  op.prefill_flops = op.decode_flops;
  op.size_factor = width / 2.0 / kReferenceHeadSize;
  op.compression = a.cache_compression;
  op.local_tokens = a.local_tokens;
  op.index_bytes = entry.index;
  op.index_flops = 2.0 * to_double(a.index_heads * a.index_head_dim);
  if (reads_plain_cache(a)) {
    op.decode_shape = shape_of(a, OperatorFamily::decode_attention, target);
    // Full attention is timed; of the other spans, only a sliding window's prefill can be derived
    // from it.
    if (a.span.kind == AttentionSpan::Kind::full || a.span.kind == AttentionSpan::Kind::sliding) {
      op.prefill_shape = shape_of(a, OperatorFamily::prefill_attention, target);
    }
  }
  add_attention(std::move(op), target);

  const double rotated = (queries + kv_heads) * to_double(a.head_dim);
  const bool rotates = target.deployment.model.learned_positions == 0;
  const std::int64_t norms = norm_passes(a, target.tensor());
  const std::int64_t passes = (rotates ? 1 : 0) + norms;
  if (passes > 0) target.add_memory_bound("rope", passes, 2.0 * rotated * element);
  if (norms > 1) {
    add_operator(target.out.per_token, all_reduce_operator(target.deployment, "qk_norm_all_reduce",
                                                           target.layers, kSquaresOfAToken));
  }
  if (!a.reuses_earlier_cache && cached) {
    target.add_cache_write(kv_heads * width * element + entry.entry);
  }
}

/// Rotary embeddings of queries and keys, where a kernel of their own computes them; neglects what
/// the one that writes the cache reads and writes more where it rotates.
void add_rotation(const LatentAttention& a, const LatentKernels& kernels, const Target& target) {
  const double heads = to_double(heads_per_rank(a.query_heads, target.tensor()));
  const double rotated = (heads + 1) * to_double(a.rope_dim) * target.activation_bytes();
  const auto add = [&](int calls, Phase phase) {
    if (calls == 0) return;
    const double passes = calls == kNativeRotations ? kNativeRotationPasses : 2.0 * calls;
    target.add_memory_bound("rope", calls, passes * rotated / calls, phase);
    // PyTorch's kernels of one function count as one launch, of which the time of a launch was
    // taken (HostOverhead::prompt_launch).
    const std::int64_t more = target.layers * (calls - 1);
    target.out.more_launches -= more;
    if (phase == Phase::prefill) target.out.prompt_launches -= more;
  };
  if (kernels.rotations == kernels.prompt_rotations) return add(kernels.rotations, Phase::all);
  add(kernels.rotations, Phase::decode);
  add(kernels.prompt_rotations, Phase::prefill);
}

/// Copies around a decode's absorbed attention, and the weights that it widens.
void add_decode_copies(const LatentAttention& a, const LatentKernels& kernels,
                       const Target& target) {
  const double heads = to_double(heads_per_rank(a.query_heads, target.tensor()));
  const double element = target.activation_bytes();
  const auto add = [&](const char* name, int calls, double bytes_each, double bytes) {
    LinearOperator op =
        memory_bound_operator(target.deployment, name, target.layers * calls, bytes_each);
    op.stored_fixed = bytes;
    op.block = target.block;
    op.phase = Phase::decode;
    add_operator(target.out.per_token, std::move(op));
  };
  // Queries are the longest of what is copied.
  add("latent_copies", kernels.copies,
      2.0 * heads * to_double(a.kv_lora_rank + a.rope_dim) * element, 0);
  // Half of the kernels read 8 bits, the others 16; all write 16.
  const double weights = heads * to_double(a.kv_lora_rank) * to_double(a.nope_dim);
  add("absorbed_weights", kernels.widenings, 0, weights * (1.5 * element + 0.5));
}

// Decode runs in the absorbed form on the latent; its per-head projections are the FLOPs and bytes
// of kv_b_proj, which the weight list counts once. Prefill rebuilds keys and values, including
// those of earlier chunks in each chunk (vllm/v1/attention/backends/mla/common.py, chunked
// context).
void add_mixer(const LatentAttention& a, const Layer& layer, const Target& target) {
  const double heads = to_double(heads_per_rank(a.query_heads, target.tensor()));
  const double latent = to_double(a.kv_lora_rank + a.rope_dim);
  const double rank = to_double(a.kv_lora_rank);
  const double width = to_double(a.nope_dim + a.rope_dim + a.value_head_dim);
  const double element = target.activation_bytes();
  const EntryBytes entry = entry_bytes(a, target.deployment);

  AttentionOperator op;
  op.span = a.span;
  op.entry_bytes = entry.entry;
  op.query_bytes = heads * (latent + rank) * element;
  op.decode_flops = 2.0 * heads * (latent + rank);
  const bool absorbed = absorbs_prompts(target.deployment, a);
  op.prefill_flops = absorbed ? op.decode_flops : 2.0 * heads * width;
  op.expand_flops = absorbed ? 0.0 : 2.0 * rank * heads * to_double(a.nope_dim + a.value_head_dim);
  op.size_factor = width / 2.0 / kReferenceHeadSize;
  op.index_bytes = entry.index;
  op.index_flops = 2.0 * to_double(a.index_heads * a.index_head_dim);
  if (a.index_heads == 0) {
    op.decode_shape = shape_of(a, target);
    if (!absorbed) op.prefill_shape = expanded_shape_of(a, target);
  }
  add_attention(std::move(op), target);

  const LatentKernels kernels = latent_kernels(target.deployment, layer.mixer_format);
  const bool two_norms = a.q_lora_rank > 0 && !kernels.joint_norms;
  target.add_memory_bound("latent_norms", two_norms ? 2 : 1, 2.0 * latent * element);
  add_rotation(a, kernels, target);
  target.add_cache_write(latent * element + entry.entry);
  add_decode_copies(a, kernels, target);
}

/// Elements per token that pass through the convolution and the scan.
std::int64_t width_of(const Mamba2& m) { return m.heads * m.head_dim + 2 * m.groups * m.state; }
std::int64_t width_of(const GatedDeltaNet& g) {
  return 2 * g.key_heads * g.key_dim + g.value_heads * g.value_dim;
}
std::int64_t width_of(const LightningAttention& l) { return 3 * l.heads * l.head_dim; }

/// The shapes of a mixer's kernels, named after `mixer`, whose recurrence is `state`.
RecurrentShapes recurrent_shapes(const std::string& mixer, OperatorShape state, bool continues) {
  state.family = OperatorFamily::recurrent;
  RecurrentShapes shapes{.convolution = state, .recurrence = state};
  shapes.convolution.name = mixer + (continues ? "_conv_update" : "_conv");
  shapes.convolution.cache = DType::bf16;  // inputs of the convolution, as activations are
  shapes.recurrence.name = mixer + (continues ? "_update" : "_scan");
  return shapes;
}

struct NamedState {
  std::string mixer{};
  OperatorShape shape{};
};

std::optional<NamedState> state_of(const Mamba2& m, const Target& target) {
  return NamedState{"mamba2",
                    {.cache = target.deployment.model.state_dtype,
                     .outputs = m.conv_kernel,
                     .query_heads = heads_per_rank(m.heads, target.tensor()),
                     .kv_heads = heads_per_rank(m.groups, target.tensor()),
                     .head_dim = m.state,
                     .value_dim = m.head_dim}};
}

std::optional<NamedState> state_of(const GatedDeltaNet& g, const Target& target) {
  return NamedState{g.gate_rank == 0 ? "gated_delta" : "kda",
                    {.cache = target.deployment.model.state_dtype,
                     .outputs = g.conv_kernel,
                     .query_heads = heads_per_rank(g.value_heads, target.tensor()),
                     .kv_heads = heads_per_rank(g.key_heads, target.tensor()),
                     .head_dim = g.key_dim,
                     .value_dim = g.value_dim}};
}

std::optional<NamedState> state_of(const LightningAttention&, const Target&) {
  return std::nullopt;
}

template <class Recurrent>
void add_mixer(const Recurrent& mixer, const Layer& layer, const Target& target) {
  const double ranks = to_double(target.tensor());
  const double width = to_double(width_of(mixer)) / ranks * target.activation_bytes();
  Transformer one_layer = target.deployment.model;
  one_layer.layers = {layer};
  const CacheNeed need = cache_need(layer, target.deployment.model,
                                    target.deployment.engine.kv_cache_dtype, target.tensor());
  const double kernels = to_double(kRecurrentKernels);
  RecurrentOperator op;
  op.state_bytes = need.per_sequence.value / kernels;
  op.flops_each = state_flops_per_token(one_layer).value / ranks / kernels;
  op.activation_each = 2.0 * width;  // in and out
  op.decode.name = "state_update";
  op.prefill.name = "state_scan";
  for (Work* work : {&op.decode, &op.prefill}) {
    work->family = OperatorFamily::memory_bound;
    work->calls = kRecurrentKernels * target.layers;
    work->compute = target.deployment.model.activation;
  }
  if (const auto state = state_of(mixer, target)) {
    op.decode_shapes = recurrent_shapes(state->mixer, state->shape, true);
    op.prefill_shapes = recurrent_shapes(state->mixer, state->shape, false);
  }
  target.out.recurrent.push_back(std::move(op));
  target.add_memory_bound("gated_norm", 1, 3.0 * width);
}

void add_mixer(std::monostate, const Layer&, const Target&) {}

}  // namespace

void add_mixer_operators(const Deployment& deployment, const Layer& layer, std::int64_t layers,
                         int block, StepOperators& out) {
  const Target target{.deployment = deployment, .layers = layers, .block = block, .out = out};
  std::visit([&](const auto& mixer) { add_mixer(mixer, layer, target); }, layer.mixer);
}

}  // namespace roofcast
