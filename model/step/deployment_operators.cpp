#include "model/step/deployment_operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <variant>

#include "base/dotted_version.hpp"
#include "model/architecture/expert_load.hpp"
#include "model/architecture/weights.hpp"
#include "model/curves/curve_source.hpp"
#include "model/step/collective.hpp"
#include "model/step/eager_launches.hpp"
#include "model/step/efficiency.hpp"
#include "model/step/expert_kernels.hpp"
#include "model/step/latent_kernels.hpp"
#include "model/step/measured_time.hpp"
#include "model/step/shared_experts.hpp"
#include "model/step/timed_block.hpp"
#include "model/step/version_terms.hpp"

namespace roofcast {

namespace {

// Sampling without top-k or top-p: logits to fp32 (2 + 4 bytes), softmax or argmax over them (4),
// in about five kernels. A sort-free filter adds 0.13 ms to 0.28 ms at batch 128 and 131,072 logits
// (vllm-project/vllm pull 40376), which is not counted; a full sort is a separate operator
// (top_p_sort, for engines that use one).
constexpr double kSamplingBytesPerLogit = 10.0;
constexpr std::int64_t kSamplingCalls = 5;

double activation_bytes(const Deployment& deployment) {
  return bits_of(deployment.model.activation) / 8.0;
}

/// Whether kernel tables are built in that answer for the engine on this GPU.
bool has_tables(const Deployment& deployment) {
  return deployment.gpu.has_tables_for(deployment.engine.version);
}

/// In which steps a layer's shared experts run beside the routed ones; in none without kernel
/// tables: there experts' shares and host terms were fitted to servers with shared experts in turn.
SharedExpertOverlap beside_routed(const Deployment& deployment, const Layer& layer) {
  return has_tables(deployment) ? shared_expert_overlap(deployment, layer) : SharedExpertOverlap{};
}

/// Bytes of one activation as a matrix of this format reads it: quantised for narrow arithmetic.
double input_bytes(const WeightFormat& format) {
  return std::min(bits_of(format.compute) / 8.0, 2.0);
}

/// Equal except for the number of calls: one row of the operator table.
bool same_shape(const LinearOperator& a, const LinearOperator& b) {
  return a.work.name == b.work.name && a.work.format == b.work.format &&
         a.flops_each == b.flops_each && a.activation_each == b.activation_each &&
         a.stored_fixed == b.stored_fixed && a.experts == b.experts &&
         a.expert_bytes == b.expert_bytes && a.pick_classes == b.pick_classes &&
         a.expert_ranks == b.expert_ranks && a.wait == b.wait && a.serial == b.serial &&
         a.least == b.least && a.least_each == b.least_each && a.untuned == b.untuned &&
         a.shape == b.shape && a.block == b.block && a.phase == b.phase && a.beside == b.beside;
}

/// Equal layers, counted once, in order of first appearance.
struct LayerGroup {
  Layer layer{};
  std::int64_t count = 0;
};

std::vector<LayerGroup> group_layers(std::span<const Layer> layers) {
  std::vector<LayerGroup> groups;
  for (const Layer& layer : layers) {
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const LayerGroup& group) { return group.layer == layer; });
    if (same == groups.end()) {
      groups.push_back({.layer = layer, .count = 1});
    } else {
      ++same->count;
    }
  }
  return groups;
}

LinearOperator gemm_operator(const Deployment& deployment, const Weight& whole,
                             std::int64_t calls) {
  const Weight weight = shard(whole, deployment.parallel);
  const double inputs = to_double(weight.inputs);
  const double outputs = to_double(weight.outputs);
  LinearOperator op;
  op.work.name = weight.name;
  op.work.family = OperatorFamily::gemm;
  op.work.calls = calls;
  op.work.compute = weight.format.compute;
  op.work.format = weight.format.name;
  op.work.library = deployment.engine.kernel_library;
  op.work.weight_bits = weight.format.bits_per_weight;
  op.flops_each = 2.0 * inputs * outputs;
  op.stored_fixed = inputs * outputs * weight.format.bits_per_weight / 8.0;
  op.activation_each = inputs * input_bytes(weight.format) + outputs * activation_bytes(deployment);
  op.shape = {.family = OperatorFamily::gemm,
              .format = kernel_format_name(weight.format),
              .outputs = weight.outputs,
              .inputs = weight.inputs};
  op.least = least_product_time(deployment, op.shape);
  op.least_each = least_row_time(deployment, op.shape);
  return op;
}

/// How unevenly the layer's experts are picked: as the engine was told, else as published.
ExpertPopularity popularity_of(const Deployment& deployment, const MoeFfn& moe) {
  const std::optional<double>& given = deployment.engine.expert_power_law;
  return given ? ExpertPopularity{.power_law = *given}
               : published_popularity(deployment.model, moe);
}

/// The shape under which measured curves list a layer's routed experts; `whole` is the matrix of
/// all ranks.
void set_expert_shape(const Deployment& deployment, const Layer& layer, const Weight& down,
                      const Weight& whole, double pairs_a_token, LinearOperator& op) {
  op.shape = {.family = OperatorFamily::moe,
              .name = std::string(expert_kernels(deployment, layer)),
              .format = kernel_format_name(layer.ffn_format),
              .outputs = down.inputs,
              .inputs = down.outputs,
              .experts = down.copies,
              .experts_per_token = std::min(down.copies_used, down.copies),
              .gated = std::get<MoeFfn>(layer.ffn).gated,
              .power_law = deployment.engine.enable_eplb
                               ? 0  // timed without
                               : static_cast<int>(std::lround(
                                     100 * deployment.engine.expert_power_law.value_or(0)))};
  op.shape_each = pairs_a_token / to_double(op.shape.experts_per_token);
  op.calls_of_shape = kExpertCalls;
  const int ranks = deployment.parallel.expert_ranks();
  const std::int64_t copies = whole.copies + deployment.parallel.redundant_experts;
  if (ranks == 1 || down.copies * ranks != copies) return;
  op.alone_shape = op.shape;
  op.alone_each = op.shape_each;
  op.shape.experts = whole.copies;
  op.shape.experts_per_token = whole.copies_used;
  op.shape.expert_ranks = ranks;
  // TensorRT-LLM's kernels, as timed, take a rank's share of the time.
  op.dispatched = deployment.parallel.data * deployment.parallel.context > 1 &&
                  deployment.engine.all2all != All2All::allgather_reducescatter &&
                  !deployment.engine.version.starts_with("trtllm");
  op.shape_each = to_double(op.group_tokens);
}

/// The routed experts of a layer as one operator: gate, up and down together, as engines fuse them.
LinearOperator expert_operator(const Deployment& deployment, const Layer& layer,
                               const std::vector<Weight>& weights, std::int64_t layers) {
  LinearOperator op;
  double parameters = 0;  // of one expert on this rank
  double widths = 0;      // input and output elements of its matrices
  std::int64_t picked = 0;
  std::int64_t all = 0;
  Weight down;
  Weight whole_down;
  for (const Weight& whole : weights) {
    if (whole.split != Split::expert || !whole.multiplies) continue;
    const Weight weight = shard(whole, deployment.parallel);
    if (whole.expert_split == Split::input) {
      down = weight;
      whole_down = whole;
    }
    op.experts = weight.copies;
    picked = whole.copies_used;
    all = whole.copies + deployment.parallel.redundant_experts;
    parameters += to_double(weight.inputs * weight.outputs);
    widths += to_double(weight.inputs + weight.outputs);
  }
  if (op.experts == 0) return {.work = {.calls = 0}};
  // The experts receive the tokens of all data-parallel and context ranks. Neglects that vLLM's
  // compute what is decoded once for each context rank. A rank computes its share of the
  // token-expert pairs (the busiest rank's) with whole experts, or all pairs with its part of their
  // width.
  const Parallelism& parallel = deployment.parallel;
  op.expert_ranks = parallel.expert_ranks();
  op.group_tokens = parallel.data;
  const MoeFfn& moe = std::get<MoeFfn>(layer.ffn);
  const ExpertPopularity popularity = popularity_of(deployment, moe);
  op.busiest = busiest_rank_load(moe, parallel, popularity, deployment.engine.enable_eplb);
  const double pairs =
      to_double(picked * op.group_tokens) / to_double(parallel.expert_ranks()) * op.busiest;
  const double per_call = 1.0 / to_double(kExpertCalls);
  op.work.name = "experts";
  op.work.family = OperatorFamily::moe;
  op.work.calls = kExpertCalls * layers;
  op.work.compute = layer.ffn_format.compute;
  op.work.format = layer.ffn_format.name;
  op.work.library = expert_kernels(deployment, layer);
  op.work.weight_bits = layer.ffn_format.bits_per_weight;
  if (parallel.context > 1) op.phase = Phase::context;
  op.pick_probability = to_double(picked) / to_double(all);
  op.pick_classes = pick_classes(moe, popularity);
  for (double& probability : op.pick_classes) {
    probability *= to_double(moe.experts) / to_double(all);  // spread over the copies
  }
  op.expert_bytes = parameters * layer.ffn_format.bits_per_weight / 8.0 * per_call;
  op.flops_each = 2.0 * parameters * pairs * per_call;
  op.activation_each = widths * pairs * activation_bytes(deployment) * per_call;
  set_expert_shape(deployment, layer, down, whole_down, pairs, op);
  op.untuned = runs_default_experts(deployment, op.shape);
  return op;
}

/// A message of `bytes_each` per token (or row) among `ranks` ranks; no calls for a single rank.
LinearOperator collective_operator(std::string name, Exchange exchange, int ranks,
                                   std::int64_t calls, double bytes_each) {
  LinearOperator op;
  op.work.name = std::move(name);
  op.work.family = OperatorFamily::collective;
  op.work.calls = ranks > 1 ? calls : 0;
  op.work.ranks = ranks;
  op.work.exchange = exchange;
  op.activation_each = bytes_each;
  // A reducing switch saves an all-reduce the ring's second pass but not the message itself; in the
  // other collectives a rank's own share stays local.
  const bool whole = exchange == Exchange::all_reduce || exchange == Exchange::point_to_point;
  op.wire_share = whole ? 1.0 : to_double(ranks - 1) / to_double(ranks);
  op.shape = {.family = OperatorFamily::collective,
              .ranks = exchange == Exchange::point_to_point ? 2 : ranks,
              .exchange = exchange};
  op.shape_each = bytes_each;
  return op;
}

/// Expected number of `bins` that k picks fall into, each pick any bin.
double hit(double bins, std::int64_t picks) {
  double missed = 1;
  for (std::int64_t i = 0; i < picks; ++i) missed *= 1 - 1 / bins;
  return bins * (1 - missed);
}

/// The index of the layers' attention block, added if it is new; kNoBlock if the GPU's curves time
/// none.
int block_of(const Deployment& deployment, const Layer& layer, StepOperators& out) {
  if (!deployment.gpu.measured && !has_tables(deployment)) return kNoBlock;
  // Timed without.
  if (deployment.engine.context_ranks > 1 || deployment.parallel.context > 1) return kNoBlock;
  const auto shapes = block_shapes(layer, deployment.model.hidden, deployment.model.activation,
                                   deployment.parallel, deployment.engine.kv_cache_dtype);
  if (!shapes) return kNoBlock;
  const auto known = std::find(out.blocks.begin(), out.blocks.end(), *shapes);
  if (known != out.blocks.end()) return static_cast<int>(known - out.blocks.begin());
  if (!has_block_times(*shapes, deployment.gpu, deployment.engine.version)) return kNoBlock;
  out.blocks.push_back(*shapes);
  return static_cast<int>(out.blocks.size()) - 1;
}

/// Whether the GPU's curves time the shape, or one that answers for it.
bool is_timed(const Deployment& deployment, const OperatorShape& shape) {
  return deployment.gpu.measured && !find_blend(*deployment.gpu.measured, shape).parts.empty();
}

/// The products of latent attention in its absorbed form, for each head: its queries to the
/// latent's width, and the sum of latents to its values.
std::array<LinearOperator, 2> absorbed_products(const Deployment& deployment,
                                                const LatentAttention& a, const Layer& layer,
                                                std::int64_t layers) {
  const std::int64_t heads = heads_per_rank(a.query_heads, deployment.parallel.tensor);
  // SGLang keeps what it absorbs in fp8 where the weights are (0.5.14, deepseek_v2's w_kc); vLLM
  // and TensorRT-LLM in 16 bits (vLLM 0.24, MLAAttention's W_UK_T; TensorRT-LLM 1.3,
  // k_b_proj_trans).
  const bool narrow =
      deployment.engine.version.starts_with("sglang") && layer.mixer_format.bits_per_weight < 16;
  const WeightFormat format = plain_format(narrow ? DType::fp8 : deployment.model.activation);
  const auto product = [&](const char* name, std::int64_t outputs, std::int64_t inputs) {
    const double n = to_double(heads * outputs);
    const double k = to_double(inputs);
    LinearOperator op;
    op.work.name = name;
    op.work.family = OperatorFamily::gemm;
    op.work.calls = layers;
    op.work.compute = format.compute;
    op.work.format = format.name;
    op.work.library = deployment.engine.kernel_library;
    op.work.weight_bits = format.bits_per_weight;
    op.flops_each = 2.0 * n * k;
    op.stored_fixed = n * k * format.bits_per_weight / 8.0;
    op.activation_each =
        to_double(heads) * k * input_bytes(format) + n * activation_bytes(deployment);
    op.shape = {.family = OperatorFamily::gemm,
                .format = format.name,
                .outputs = outputs,
                .inputs = inputs,
                .query_heads = heads};
    return op;
  };
  return {product("absorbed_keys", a.kv_lora_rank, a.nope_dim),
          product("absorbed_values", a.value_head_dim, a.kv_lora_rank)};
}

/// Adds the absorbed products and leaves what they do not compute to `expanding`, the product of
/// the same weights that expands keys and values of prompts. No effect where they were not timed.
void add_absorbed(const Deployment& deployment, const Layer& layer, std::int64_t layers, int block,
                  LinearOperator& expanding, StepOperators& out) {
  const auto* a = std::get_if<LatentAttention>(&layer.mixer);
  if (a == nullptr) return;
  auto products = absorbed_products(deployment, *a, layer, layers);
  for (const LinearOperator& op : products) {
    if (!is_timed(deployment, op.shape)) return;
  }
  const bool all = absorbs_prompts(deployment, *a);
  if (all) {
    expanding.work.calls = 0;
  } else {
    expanding.phase = Phase::prefill;
  }
  for (LinearOperator& op : products) {
    op.phase = all ? Phase::all : Phase::decode;
    op.block = block;
    add_operator(out.per_token, std::move(op));
  }
}

/// Whether kernels that find a scale for each row run, as timed: not in TensorRT-LLM, whose fp8
/// checkpoints bring scales (ModelOpt) and whose blocks have a kernel of their own
/// (fp8_quantize_1x128), but in vLLM and SGLang, unless a checkpoint brings scales.
bool finds_scales(const Deployment& deployment) {
  return !deployment.engine.version.starts_with("trtllm");
}

/// Whether the kernel before a matrix's product writes its input quantised, as norms around latent
/// attention do in AMD's engines (latent_kernels()) and as TensorRT-LLM's PyTorch backend (from 1.0
/// on) does in fp8 with one scale: attention does for its output (modules/attention.py,
/// has_quant_scale), SwiGLU from 1.1 on (modules/gated_mlp.py, _apply_activation; pull 6540), and
/// in Llama models wider than 4,096 the all-reduce of tensor parallelism together with the norm
/// (modeling_llama.py, LlamaDecoderLayer, RESIDUAL_RMS_NORM_QUANT_FP8). Neglects that the first
/// layer has no such all-reduce before it.
bool is_quantised_before(const Deployment& deployment, const Weight& weight) {
  const LatentKernels kernels = latent_kernels(deployment, weight.format);
  if (weight.name == "qkv_a_proj" && kernels.quantised_input) return true;
  if (weight.name == "q_b_proj" && kernels.quantised_query) return true;
  if (weight.format.name != "fp8" || !deployment.engine.version.starts_with("trtllm")) return false;
  const std::string_view version = stated_version(deployment.engine.version);
  const auto from = [&](std::string_view first) {
    return version.empty() || !is_older(version, first);
  };
  if (!from("1.0")) return false;
  if (weight.name == "o_proj") return true;
  if (weight.name.ends_with("down_proj")) return from("1.1");
  constexpr std::int64_t kWidestUnfused = 4096;
  return (weight.name == "qkv_proj" || weight.name == "mlp.gate_up_proj") &&
         deployment.model.architecture == "LlamaForCausalLM" &&
         deployment.model.hidden > kWidestUnfused && deployment.parallel.tensor > 1;
}

/// Adds what a matrix's input needs before a product in 8 bits or less, unless the kernel before it
/// does that or the time of the product includes it.
void add_quantisation(const Deployment& deployment, const Weight& weight,
                      const LinearOperator& product, StepOperators& out) {
  if (is_quantised_before(deployment, weight)) return;
  if (quantises_input(deployment.gpu, product.shape, deployment.engine.version)) {
    out.more_launches += product.work.calls;
    if (product.phase == Phase::prefill) out.prompt_launches += product.work.calls;
    return;
  }
  const std::int64_t inputs = product.shape.inputs;
  const double bytes = activation_bytes(deployment) + input_bytes(weight.format);
  const auto add = [&](const char* name) {
    LinearOperator op =
        memory_bound_operator(deployment, name, product.work.calls, to_double(inputs) * bytes);
    op.shape.inputs = inputs;
    op.block = product.block;
    op.phase = product.phase;
    op.beside = product.beside;
    const bool extra = op.work.name != "quantise_activations";
    if (extra && !is_timed(deployment, op.shape)) return;
    add_operator(out.per_token, std::move(op));
  };
  add("quantise_activations");
  if (finds_scales(deployment)) add("activation_scales");
}

/// Kernels that PyTorch launches for what was added so far, mixers apart.
std::int64_t launches_of(const StepOperators& operators) {
  std::int64_t launches = operators.more_launches;
  for (const LinearOperator& op : operators.per_token) launches += op.work.calls;
  return launches;
}

bool has_own_output_format(const Layer& layer) {
  return kernel_format_name(output_format_of(layer)) != kernel_format_name(layer.mixer_format);
}

/// Adds what AITER's experts need before them (fused_moe.py): tokens sorted by expert in a kernel
/// that also clears the output, and quantised for narrow arithmetic. Neglects that two-stage
/// kernels quantise once more between their products.
void add_sorting(const Deployment& deployment, const LayerGroup& group,
                 const LinearOperator& experts, StepOperators& out) {
  const double element = activation_bytes(deployment);
  const double elements = to_double(deployment.model.hidden * experts.group_tokens);
  add_operator(out.per_token, memory_bound_operator(deployment, "expert_sorting", group.count,
                                                    elements * element));
  const WeightFormat& format = group.layer.ffn_format;
  if (bits_of(format.compute) > 8) return;
  add_operator(out.per_token, memory_bound_operator(deployment, "quantise_activations", group.count,
                                                    elements * (element + input_bytes(format))));
}

void add_matrices(const Deployment& deployment, const LayerGroup& group, int block,
                  StepOperators& out) {
  const Transformer& model = deployment.model;
  const std::vector<Weight> weights = layer_weights(group.layer, model.hidden, model.activation);
  const SharedExpertOverlap beside = beside_routed(deployment, group.layer);
  const bool folded = folds_shared_experts(deployment, group.layer);
  for (const Weight& weight : weights) {
    if (!weight.multiplies || weight.split == Split::expert) continue;
    const std::int64_t before = launches_of(out);
    const int own_block = is_of_block(weight) ? block : kNoBlock;
    LinearOperator product = gemm_operator(deployment, weight, group.count);
    product.block = own_block;
    if (own_block != kNoBlock && has_own_output_format(group.layer) && weight.name == "o_proj") {
      Weight timed = weight;
      timed.format = group.layer.mixer_format;
      out.timed_otherwise.push_back(gemm_operator(deployment, timed, group.count));
      out.timed_otherwise.back().block = own_block;
      out.in_own_format.push_back(product);
    }
    if (weight.part == Part::shared_experts) product.beside = beside;
    if (weight.name == "kv_b_proj") {
      add_absorbed(deployment, group.layer, group.count, own_block, product, out);
    }
    add_operator(out.per_token, product);
    if (bits_of(weight.format.compute) <= 8) add_quantisation(deployment, weight, product, out);
    if (folded && weight.part == Part::shared_experts) {
      out.more_launches -= launches_of(out) - before;
    }
  }
  LinearOperator experts = expert_operator(deployment, group.layer, weights, group.count);
  const std::int64_t before = launches_of(out);
  if (experts.experts > 0 && !selects_experts(deployment.gpu, experts.shape, experts.alone_shape,
                                              deployment.engine.version)) {
    const double scores = 2.0 * to_double(std::get<MoeFfn>(group.layer.ffn).experts);
    add_operator(out.per_token, memory_bound_operator(deployment, "top_k", group.count,
                                                      scores * activation_bytes(deployment)));
  }
  const bool routed = experts.experts > 0;
  if (routed && needs_sorted_tokens(deployment.gpu, experts.shape, experts.alone_shape,
                                    deployment.engine.version)) {
    add_sorting(deployment, group, experts, out);
  }
  add_operator(out.per_token, std::move(experts));
  if (routed) {
    const std::int64_t launches =
        group.count * expert_launches(group.layer.ffn_format, deployment.engine);
    out.more_launches += launches - (launches_of(out) - before);
  }
}

/// Which of a rank's tokens it sends to the other context ranks: all in vLLM, whose ranks exchange
/// what they decode as well (0.27, pcp_manager.py, _build_batch_layout), prompts' in SGLang
/// (0.5.16, layers/cp).
Phase phase_of_prompt_exchange(const Deployment& deployment) {
  const bool prompts = deployment.parallel.context > 1 &&
                       traits_of(deployment.engine.scheduler).divides_prompts_alone;
  return prompts ? Phase::prefill : Phase::all;
}

/// Adds a gathering of `elements` per token among the context ranks; none without such ranks.
void add_prompt_gather(const Deployment& deployment, const char* name, std::int64_t calls,
                       double elements, StepOperators& out) {
  const int ranks = deployment.parallel.context;
  LinearOperator op = collective_operator(name, Exchange::all_gather, ranks, calls,
                                          elements * activation_bytes(deployment) * ranks);
  op.work.stride = deployment.parallel.tensor;
  op.wait = deployment.engine.host.rank_skew;
  op.phase = phase_of_prompt_exchange(deployment);
  add_operator(out.per_token, std::move(op));
}

/// Elements of K and V, or of a latent, and of an indexer's key that a layer caches for a token on
/// one rank.
double cached_elements(const Layer& layer, int tensor) {
  if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer)) {
    return to_double(latent->kv_lora_rank + latent->rope_dim +
                     (latent->index_heads > 0 ? latent->index_head_dim : 0));
  }
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) {
    return to_double(heads_per_rank(a->kv_heads, tensor) * (a->head_dim + a->value_head_dim));
  }
  return 0;
}

/// Adds the messages that bring every token to every rank and what the experts there made of it
/// back to the token's owner. Neglects that where prompts are added up the decodes of their steps
/// are, too.
void add_gathering(const Deployment& deployment, const LayerGroup& group, StepOperators& out) {
  const Parallelism& parallel = deployment.parallel;
  const TokenGathering& gathering = deployment.engine.gathering;
  const WeightFormat& format = group.layer.ffn_format;
  const bool whole = parallel.expert_parallel;
  const double element = activation_bytes(deployment);
  const double hidden = to_double(deployment.model.hidden);
  const int senders = parallel.data * parallel.context;
  const Phase exchanged = phase_of_prompt_exchange(deployment);
  const bool decodes_once = exchanged == Phase::prefill && parallel.data > 1;
  const auto add = [&](Phase phase, const char* name, Exchange exchange, double width) {
    LinearOperator op =
        collective_operator(name, exchange, whole ? parallel.expert_ranks() : senders, group.count,
                            hidden * width * (decodes_once ? parallel.data : senders));
    op.work.stride = whole ? 1 : parallel.tensor;
    op.phase = phase;
    add_operator(out.per_token, std::move(op));
  };
  const bool quantised =
      whole && gathering.quantised && (gathering.block_scales || format.name != "fp8_block");
  const double gathered = quantised ? input_bytes(format) : element;
  if (gathering.sums_prompts && parallel.context == 1) {
    add(Phase::prefill, "expert_gather", Exchange::all_reduce, gathered);
    add(Phase::prefill, "expert_scatter", Exchange::all_reduce, element);
    add(Phase::decode, "expert_gather", Exchange::all_gather, gathered);
    add(Phase::decode, "expert_scatter", Exchange::reduce_scatter, element);
    return;
  }
  const Phase phase = decodes_once ? Phase::context : exchanged;
  add(phase, "expert_gather", Exchange::all_gather, gathered);
  add(phase, "expert_scatter", Exchange::reduce_scatter, element);
  if (exchanged != Phase::prefill || decodes_once) return;
  // What is decoded is on all ranks already, whose experts' sums are added up.
  LinearOperator sums = collective_operator("expert_all_reduce", Exchange::all_reduce,
                                            parallel.context, group.count, hidden * element);
  sums.work.stride = parallel.tensor;
  sums.phase = Phase::decode;
  add_operator(out.per_token, std::move(sums));
}

/// Adds the messages of a mixture of experts between ranks.
void add_routing(const Deployment& deployment, const MoeFfn& moe, const LayerGroup& group,
                 StepOperators& out) {
  const Parallelism& parallel = deployment.parallel;
  if (parallel.data * parallel.context == 1) return;
  const All2All backend = deployment.engine.all2all;
  if (!parallel.expert_parallel || backend == All2All::allgather_reducescatter) {
    return add_gathering(deployment, group, out);
  }
  const double element = activation_bytes(deployment);
  const double hidden = to_double(deployment.model.hidden);
  const int ranks = parallel.expert_ranks();
  // A token goes to each rank that has one of its experts, at the arithmetic's width, and returns
  // at the activation's; the TP ranks of one data-parallel rank share the sending. DeepEP's
  // high-throughput kernels send it once to each other node, its low-latency kernels once for each
  // expert (legacy.md and test_internode.py of DeepEP at dd758ca).
  const double picked = hit(ranks, moe.experts_per_token);
  const int nodes = nodes_of(deployment.gpu, ranks);
  ExpertExchange experts{.low_latency_only = backend == All2All::deepep_low_latency};
  if (nodes > 1 && !experts.low_latency_only) {
    experts.off_node = hit(nodes, moe.experts_per_token) * (nodes - 1) / nodes / picked;
  }
  if (backend != All2All::deepep_high_throughput) {
    experts.copies_per_expert = to_double(moe.experts_per_token) / picked;
  }
  const auto add = [&](const char* name, double width) {
    LinearOperator op = collective_operator(name, Exchange::all_to_all, ranks, group.count,
                                            picked / to_double(parallel.tensor) * hidden * width);
    op.work.experts = experts;
    add_operator(out.per_token, std::move(op));
  };
  add("expert_dispatch", input_bytes(group.layer.ffn_format));
  add("expert_combine", element);
}

/// Norms, activation functions and communication of a layer group.
void add_around(const Deployment& deployment, const LayerGroup& group, StepOperators& out) {
  const Layer& layer = group.layer;
  const double element = activation_bytes(deployment);
  const double row = to_double(deployment.model.hidden) * element;
  const auto add_activation = [&](std::int64_t intermediate, bool gated,
                                  const SharedExpertOverlap& beside) {
    const double width = to_double(intermediate) / to_double(deployment.parallel.tensor);
    LinearOperator op = memory_bound_operator(deployment, "activation", group.count,
                                              (gated ? 3.0 : 2.0) * width * element);
    op.beside = beside;
    add_operator(out.per_token, std::move(op));
  };
  // A fused norm reads the block's output and the residual and writes both.
  const std::int64_t width = std::max<std::int64_t>(1, deployment.model.hidden);
  LinearOperator norms = memory_bound_operator(
      deployment, "norms", layer.norm_elements / width * group.count, 4.0 * row);
  if (norms_within_all_reduce(deployment)) norms.phase = Phase::prefill;
  add_operator(out.per_token, std::move(norms));
  if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
    add_activation(dense->intermediate, dense->gated, {});
  }
  if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) {
    add_routing(deployment, *moe, group, out);
    if (moe->shared_intermediate > 0) {
      add_activation(moe->shared_intermediate, moe->gated, beside_routed(deployment, layer));
      // Within the routed experts' kernels none is launched; else their sum is one more.
      out.more_launches += folds_shared_experts(deployment, layer) ? -group.count : group.count;
    }
  }
  // Row-parallel matrices end in an all-reduce: one after the mixer, one after the FFN
  // (Megatron-LM, arXiv 1909.08053 section 3).
  const int halves = (std::holds_alternative<std::monostate>(layer.mixer) ? 0 : 1) +
                     (std::holds_alternative<std::monostate>(layer.ffn) ? 0 : 1);
  add_operator(out.per_token,
               all_reduce_operator(deployment, "all_reduce", group.count * halves, row));
}

/// Which ends of the model a stage has, and how often it sends to the next.
struct Ends {
  bool first = true;
  bool last = true;
  std::int64_t sends = 0;
};

/// Final norm, LM head and sampling of the tokens that need logits.
void add_head(const Deployment& deployment, StepOperators& out) {
  const Transformer& model = deployment.model;
  const double element = activation_bytes(deployment);
  const double vocabulary = to_double(model.vocabulary);
  add_operator(out.per_row, gemm_operator(deployment, lm_head_matrix(model), 1));
  add_operator(out.per_row,
               collective_operator("logits_all_gather", Exchange::all_gather,
                                   deployment.parallel.tensor, 1, vocabulary * element));
  const double per_call = kSamplingBytesPerLogit / to_double(kSamplingCalls);
  LinearOperator sampling =
      memory_bound_operator(deployment, "sampling", kSamplingCalls, vocabulary * per_call);
  // Timed as a whole, over the logits as the LM head writes them.
  sampling.shape_each = vocabulary * element;
  sampling.calls_of_shape = kSamplingCalls;
  add_operator(out.per_row, std::move(sampling));
  if (deployment.engine.sampling == SamplingKind::plain || !deployment.engine.sorts_logits) return;
  LinearOperator sort = memory_bound_operator(deployment, "top_p_sort", 1, vocabulary * element);
  sort.serial = sort_time(model.vocabulary);
  add_operator(out.per_row, std::move(sort));
}

/// Embedding, final norm, transfers between pipeline stages, LM head and sampling.
void add_ends(const Deployment& deployment, const Ends& ends, StepOperators& out) {
  const Transformer& model = deployment.model;
  const Parallelism& parallel = deployment.parallel;
  const double row = to_double(model.hidden) * activation_bytes(deployment);
  if (ends.first) {
    add_operator(out.per_token, memory_bound_operator(deployment, "embedding", 1, 2.0 * row));
  }
  if (ends.last) {
    add_operator(out.per_token, memory_bound_operator(deployment, "norms", 1, 4.0 * row));
    for (const Weight& weight : end_weights(model)) {
      if (!weight.multiplies || weight.part == Part::lm_head) continue;
      add_operator(out.per_token, gemm_operator(deployment, weight, 1));
    }
  }
  if (ends.first) {
    add_operator(out.per_token, all_reduce_operator(deployment, "all_reduce", 1, row));
  }
  const int stages = parallel.pipeline;
  add_operator(out.per_token,
               collective_operator("pipeline_send", Exchange::point_to_point,
                                   stages > 1 ? parallel.tensor * stages : 1, ends.sends, row));
  // Every context rank gets all states before it computes logits.
  if (ends.last) add_prompt_gather(deployment, "prompt_gather", 1, to_double(model.hidden), out);
  // Pooling neglects what becomes of the states: a row each is normalised, or meets a small head.
  if (ends.last && !deployment.engine.pooling) add_head(deployment, out);
}

/// Adds the exchange of context ranks around a layer's decode attention: all of them get the
/// queries of each, which all attend to a share of the tokens, and each gets the sums of its own
/// heads, which were first scaled by what the ranks' softmax denominators come to (vLLM 0.19,
/// mla_attention.py and v1/attention/ops/common.py, cp_lse_ag_out_rs). Neglects the gathering of a
/// long prompt's earlier chunks.
void add_context_exchange(const Deployment& deployment, const LayerGroup& group,
                          StepOperators& out) {
  const auto ranks = static_cast<int>(deployment.engine.context_ranks);
  if (ranks == 1) return;
  double heads = 0;
  double query = 0;
  double value = 0;
  const int tensor = deployment.parallel.tensor;
  if (const auto* a = std::get_if<LatentAttention>(&group.layer.mixer)) {
    heads = to_double(heads_per_rank(a->query_heads, tensor)) * ranks;
    query = to_double(a->kv_lora_rank + a->rope_dim);
    value = to_double(a->kv_lora_rank);
  } else if (const auto* b = std::get_if<Attention>(&group.layer.mixer)) {
    heads = to_double(heads_per_rank(b->query_heads, tensor)) * ranks;
    query = to_double(b->head_dim);
    value = to_double(b->value_head_dim);
  } else {
    return;
  }
  const double element = activation_bytes(deployment);
  const auto add = [&](LinearOperator op) {
    op.phase = Phase::decode;
    add_operator(out.per_token, std::move(op));
  };
  const auto exchange = [&](const char* name, Exchange kind, double bytes) {
    LinearOperator op = collective_operator(name, kind, ranks, group.count, bytes);
    op.wait = deployment.engine.host.rank_skew;
    add(std::move(op));
  };
  exchange("context_queries", Exchange::all_gather, heads * query * element);
  exchange("context_denominators", Exchange::all_gather, ranks * heads * sizeof(float));
  add(memory_bound_operator(deployment, "context_scaling", group.count,
                            2.0 * heads * value * element));
  exchange("context_sums", Exchange::reduce_scatter, heads * value * element);
}

void add_layers(const Deployment& deployment, std::span<const Layer> layers, StepOperators& out) {
  for (const LayerGroup& group : group_layers(layers)) {
    const int block = block_of(deployment, group.layer, out);
    add_matrices(deployment, group, block, out);
    add_mixer_operators(deployment, group.layer, group.count, block, out);
    add_context_exchange(deployment, group, out);
    add_prompt_gather(deployment, "prompt_kv_gather", group.count,
                      cached_elements(group.layer, deployment.parallel.tensor), out);
    add_around(deployment, group, out);
    const bool latent = std::holds_alternative<LatentAttention>(group.layer.mixer);
    const std::int64_t of_prompts = latent ? kLatentCopies : scan_launches(group.layer);
    out.more_launches += of_prompts * group.count;
    out.prompt_launches += of_prompts * group.count;
  }
}

/// PyTorch sorts up to this many rows one by one, each with its own radix sort, and more rows as
/// segments of one sort (aten/src/ATen/native/cuda/Sort.cu).
constexpr std::int64_t kRowsSortedApart = 128;

/// Time of vLLM's top-p filter in PyTorch, per logit, up to 128 rows and beyond. Benchmarks at
/// 131,072 logits: 64 rows 1.07 and 1.13 ms, 128 rows 2.32 ms (4.18 ms on another GPU), 512 rows
/// 6.15 and 6.19 ms, 1024 rows 10.7 ms (vllm-project/vllm pulls 40376 and 51507, which name no GPU
/// for each, so that one time stands for all GPUs).
constexpr Seconds kSortOfALogit{0.14e-9};
constexpr Seconds kSortOfALogitTogether{0.06e-9};

}  // namespace

bool absorbs_prompts(const Deployment& deployment, const LatentAttention& attention) {
  return attention.span.kind == AttentionSpan::Kind::sparse ||
         (deployment.parallel.context > 1 &&
          traits_of(deployment.engine.scheduler).divides_prompts_alone);
}

Seconds SerialTime::of(std::int64_t n) const {
  const auto first = static_cast<double>(std::min(n, rows));
  return each * first + each_beyond * (static_cast<double>(n) - first);
}

SerialTime sort_time(std::int64_t vocabulary) {
  const double logits = to_double(vocabulary);
  return {.each = kSortOfALogit * logits,
          .rows = kRowsSortedApart,
          .each_beyond = kSortOfALogitTogether * logits};
}

LinearOperator memory_bound_operator(const Deployment& deployment, std::string name,
                                     std::int64_t calls, double bytes_each) {
  LinearOperator op;
  op.work.name = std::move(name);
  op.work.family = OperatorFamily::memory_bound;
  op.work.calls = calls;
  op.work.compute = deployment.model.activation;
  op.activation_each = bytes_each;
  op.shape = {.family = OperatorFamily::memory_bound, .name = op.work.name};
  op.shape_each = bytes_each;
  return op;
}

LinearOperator all_reduce_operator(const Deployment& deployment, std::string name,
                                   std::int64_t calls, double bytes_each) {
  LinearOperator op = collective_operator(std::move(name), Exchange::all_reduce,
                                          deployment.parallel.tensor, calls, bytes_each);
  op.work.one_shot = deployment.engine.one_shot;
  op.wait = deployment.engine.host.rank_skew;
  return op;
}

void add_operator(std::vector<LinearOperator>& list, LinearOperator op) {
  if (op.work.calls == 0) return;
  const auto same = std::find_if(
      list.begin(), list.end(), [&](const LinearOperator& other) { return same_shape(other, op); });
  if (same == list.end()) {
    list.push_back(std::move(op));
  } else {
    same->work.calls += op.work.calls;
  }
}

StepOperators step_operators(const Deployment& deployment) {
  StepOperators out;
  add_layers(deployment, deployment.model.layers, out);
  add_ends(deployment, {.sends = deployment.parallel.pipeline - 1}, out);
  return out;
}

StepOperators draft_operators(const Deployment& deployment) {
  const Transformer& model = deployment.model;
  const Layer layer = draft_layer(model, deployment.engine.speculation.method);
  StepOperators out;
  add_layers(deployment, {&layer, 1}, out);
  add_ends(deployment, {}, out);
  const Weight projection{.name = "draft_projection",
                          .outputs = model.hidden,
                          .inputs = 2 * model.hidden,
                          .format = plain_format(model.activation)};
  add_operator(out.per_token, gemm_operator(deployment, projection, 1));
  const double row = to_double(model.hidden) * activation_bytes(deployment);
  add_operator(out.per_token, memory_bound_operator(deployment, "norms", 2, 4.0 * row));
  return out;
}

StepOperators stage_operators(const Deployment& deployment, int stage) {
  const std::span<const Layer> layers = deployment.model.layers;
  const int stages = deployment.parallel.pipeline;
  const LayerRange range = pipeline_stage(std::ssize(layers), stages, stage);
  const bool last = stage == stages - 1;
  StepOperators out;
  add_layers(deployment,
             layers.subspan(static_cast<std::size_t>(range.first),
                            static_cast<std::size_t>(range.last - range.first)),
             out);
  add_ends(deployment, {.first = stage == 0, .last = last, .sends = last ? 0 : 1}, out);
  return out;
}

}  // namespace roofcast
