#include "calibrate/runtime/executor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "calibrate/runtime/executor_buffers.hpp"

namespace roofcast::runtime {
namespace {

using kernels::KernelSource;

/// `data` advanced by `elements` elements.
void* offset(void* data, kernels::Element element, std::int64_t elements) {
  return static_cast<char*>(data) + elements * static_cast<std::int64_t>(kernels::size_of(element));
}

/// Factor for scores before the softmax (Vaswani et al., 2017, 3.2.1).
float score_scale(const RunnableAttention& sizes) {
  return 1.0F / std::sqrt(static_cast<float>(sizes.head_dim));
}

template <class T>
void send(kernels::Backend& backend, const kernels::Memory& to, const std::vector<T>& from) {
  const std::size_t bytes = from.size() * sizeof(T);
  if (bytes > to.bytes()) throw std::logic_error("a step is larger than the executor's limits");
  if (bytes > 0) backend.upload(to.data(), from.data(), bytes);
}

template <class Attention>
KernelSource source_for(const kernels::Backend& backend, const Attention& attention,
                        kernels::KernelFamily family) {
  for (const auto& [source, name] : backend.sources(family)) {
    if (backend.supports(attention, source)) return source;
  }
  throw std::runtime_error(backend.facts().name + " has no attention kernel for head size " +
                           std::to_string(attention.cache.head_dim));
}

}  // namespace

Executor::Executor(kernels::Backend& backend, RunnableModel model, const ExecutorLimits& limits,
                   std::uint64_t seed)
    : Executor(backend, model, limits, random_weights(backend, model, seed)) {}

Executor::Executor(kernels::Backend& backend, RunnableModel model, const ExecutorLimits& limits,
                   DeviceWeights weights)
    : backend_(backend),
      model_(std::move(model)),
      limits_(limits),
      weights_(std::move(weights)),
      gemms_(backend),
      buffers_(std::make_unique<Buffers>(backend, model_, limits)) {}

Executor::~Executor() = default;

const void* Executor::logits() const { return buffers_->logits.data(); }

Executor::Shape Executor::shape_of(const StepRows& rows) {
  return {.rows = rows.rows(),
          .prompt_rows = rows.prompt_rows(),
          .prompts = rows.prompts.sequences(),
          .decodes = rows.decodes.sequences(),
          .longest_query = rows.longest_query,
          .longest_prompt = rows.prompts.longest_length,
          // A recording serves all batches up to the next power of two.
          .longest_decode = static_cast<std::int64_t>(
              std::bit_ceil(static_cast<std::uint64_t>(rows.decodes.longest_length))),
          .sampled = static_cast<std::int64_t>(rows.sampled_row.size())};
}

void Executor::prepare(const StepRows& rows) {
  const Shape shape = shape_of(rows);
  const auto choose = [&](std::int64_t m, const Matrix& matrix, const kernels::Memory& input,
                          const kernels::Memory& output) {
    if (matrix.parts.empty() || matrix.parts.front().format) return;
    gemms_.choose({.element = model_.element,
                   .result = model_.element,
                   .m = m,
                   .n = matrix.outputs,
                   .k = matrix.inputs,
                   .input = input.data(),
                   .weight = matrix.parts.front().data.data(),
                   .output = output.data()});
  };
  const Buffers& b = *buffers_;
  for (const LayerWeights& w : weights_.layers) {
    choose(shape.rows, w.qkv, b.normed, b.qkv);
    choose(shape.rows, w.attention_output, b.attended, b.block_out);
    choose(shape.rows, w.block_in, b.normed, b.block_in);
    choose(shape.rows, w.block_out, b.block_mid, b.block_out);
    choose(shape.rows, w.router, b.normed, b.router_logits);
  }
  choose(shape.sampled, weights_.lm_head, b.gathered, b.logits);
  if (shape.prompts > 0) {
    for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
      const kernels::PrefillAttention attention = prompts_of(shape, layer);
      backend_.prepare(attention,
                       source_for(backend_, attention, kernels::KernelFamily::prefill_attention));
    }
    return;
  }
  auto& recording = recorded_[{shape.decodes, shape.longest_decode}];
  if (!recording) recording = backend_.record([this, shape] { launch_all(shape); });
}

std::vector<std::int32_t> Executor::run(const StepRows& rows) {
  const Shape shape = shape_of(rows);
  upload(rows);
  const auto recording = recorded_.find({shape.decodes, shape.longest_decode});
  if (shape.prompts == 0 && recording != recorded_.end()) {
    backend_.replay(*recording->second);
  } else {
    launch_all(shape);
    backend_.synchronize();
  }
  std::vector<std::int32_t> next(static_cast<std::size_t>(shape.sampled));
  if (!next.empty()) {
    backend_.download(next.data(), buffers_->next_token.data(), next.size() * sizeof(next[0]));
  }
  return next;
}

void Executor::upload(const StepRows& rows) {
  Buffers& b = *buffers_;
  send(backend_, b.token, rows.token);
  send(backend_, b.position, rows.position);
  send(backend_, b.slot, rows.slot);
  send(backend_, b.first_query, rows.first_query);
  send(backend_, b.prompts.length, rows.prompts.length);
  send(backend_, b.prompts.page_table, rows.prompts.page_table);
  send(backend_, b.decodes.length, rows.decodes.length);
  send(backend_, b.decodes.page_table, rows.decodes.page_table);
  send(backend_, b.sampled_row, rows.sampled_row);
}

void Executor::launch_all(const Shape& shape) {
  Buffers& b = *buffers_;
  backend_.launch(kernels::Embedding{.element = model_.element,
                                     .tokens = shape.rows,
                                     .hidden = model_.hidden,
                                     .vocabulary = model_.vocabulary,
                                     .token = b.token.as<std::int32_t>(),
                                     .table = weights_.embedding.data(),
                                     .output = b.residual.data()});
  for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
    // The previous block, if any, has left its output in block_out; the norm adds it.
    const bool first = layer == 0;
    kernels::RmsNorm norm{.element = model_.element,
                          .rows = shape.rows,
                          .hidden = model_.hidden,
                          .epsilon = model_.norm_epsilon,
                          .input = first ? b.residual.data() : b.block_out.data(),
                          .residual = first ? nullptr : b.residual.data(),
                          .weight = weights_.layers[layer].attention_norm.data(),
                          .residual_out = first ? nullptr : b.residual.data(),
                          .output = b.normed.data()};
    backend_.launch(norm);
    launch_attention(shape, layer);
    norm.input = b.block_out.data();
    norm.residual = b.residual.data();
    norm.residual_out = b.residual.data();
    norm.weight = weights_.layers[layer].block_norm.data();
    backend_.launch(norm);
    if (model_.layers[layer].intermediate > 0) launch_block(shape, layer);
    if (model_.layers[layer].experts.count > 0) launch_experts(shape, layer);
  }
  launch_sampling(shape);
}

void Executor::multiply(std::int64_t m, const Matrix& matrix, const void* input, void* output) {
  for (const MatrixPart& part : matrix.parts) {
    if (!part.format) break;
    backend_.launch_quantized(kernels::QuantizedGemm{
        .shape = {.format = *part.format, .n = part.outputs, .k = matrix.inputs},
        .element = model_.element,
        .m = m,
        .input = input,
        .weight = part.data.data(),
        .output = offset(output, model_.element, part.first),
        .output_stride = matrix.outputs,
        .workspace = buffers_->quantized_workspace.data()});
  }
  if (matrix.parts.empty() || matrix.parts.front().format) return;
  const kernels::Gemm gemm{.element = model_.element,
                           .result = model_.element,
                           .m = m,
                           .n = matrix.outputs,
                           .k = matrix.inputs,
                           .input = input,
                           .weight = matrix.parts.front().data.data(),
                           .output = output};
  backend_.launch(gemm, gemms_.chosen(gemm));
}

kernels::PagedCache Executor::cache_of(std::size_t layer) const {
  return {.element = model_.element,
          .page_size = limits_.page_size,
          .kv_heads = model_.layers[layer].attention.kv_heads,
          .head_dim = model_.layers[layer].attention.head_dim,
          .keys = buffers_->keys[layer].data(),
          .values = buffers_->values[layer].data(),
          .pages_per_sequence = limits_.pages_per_sequence()};
}

void Executor::launch_attention(const Shape& shape, std::size_t layer) {
  Buffers& b = *buffers_;
  const RunnableAttention& sizes = model_.layers[layer].attention;
  const LayerWeights& weights = weights_.layers[layer];
  const std::int64_t stride = sizes.qkv_width();
  void* query = b.qkv.data();
  void* key = offset(query, model_.element, sizes.query_width());
  void* value = offset(key, model_.element, sizes.kv_width());
  multiply(shape.rows, weights.qkv, b.normed.data(), query);
  if (const auto* rotation = b.rotation_of(sizes.head_dim)) {
    backend_.launch(kernels::Rope{.element = model_.element,
                                  .tokens = shape.rows,
                                  .query_heads = sizes.query_heads,
                                  .kv_heads = sizes.kv_heads,
                                  .head_dim = sizes.head_dim,
                                  .stride = stride,
                                  .query = query,
                                  .key = key,
                                  .position = b.position.as<std::int32_t>(),
                                  .cosine = rotation->cosine.as<float>(),
                                  .sine = rotation->sine.as<float>()});
  }
  backend_.launch(kernels::KvWrite{.element = model_.element,
                                   .tokens = shape.rows,
                                   .stride = stride,
                                   .key = key,
                                   .value = value,
                                   .slot = b.slot.as<std::int64_t>(),
                                   .cache = cache_of(layer)});
  if (shape.prompts > 0) launch_prompts(shape, layer);
  if (shape.decodes > 0) launch_decodes(shape, layer);
  multiply(shape.rows, weights.attention_output, b.attended.data(), b.block_out.data());
}

kernels::PrefillAttention Executor::prompts_of(const Shape& shape, std::size_t layer) const {
  const Buffers& b = *buffers_;
  const RunnableAttention& sizes = model_.layers[layer].attention;
  kernels::PagedCache cache = cache_of(layer);
  cache.page_table = b.prompts.page_table.as<std::int32_t>();
  return {.element = model_.element,
          .sequences = shape.prompts,
          .query_heads = sizes.query_heads,
          .scale = score_scale(sizes),
          .window = sizes.window,
          .query = b.qkv.data(),
          .query_stride = sizes.qkv_width(),
          .output = b.attended.data(),
          .first_query = b.first_query.as<std::int32_t>(),
          .length = b.prompts.length.as<std::int32_t>(),
          .cache = cache,
          .tokens = shape.prompt_rows,
          .longest_query = shape.longest_query,
          .longest_length = shape.longest_prompt};
}

void Executor::launch_prompts(const Shape& shape, std::size_t layer) {
  const kernels::PrefillAttention attention = prompts_of(shape, layer);
  backend_.launch(attention,
                  source_for(backend_, attention, kernels::KernelFamily::prefill_attention));
}

void Executor::launch_decodes(const Shape& shape, std::size_t layer) {
  Buffers& b = *buffers_;
  const RunnableAttention& sizes = model_.layers[layer].attention;
  const std::int64_t first = shape.prompt_rows;
  kernels::PagedCache cache = cache_of(layer);
  cache.page_table = b.decodes.page_table.as<std::int32_t>();
  const kernels::DecodeAttention attention{
      .element = model_.element,
      .sequences = shape.decodes,
      .query_heads = sizes.query_heads,
      .scale = score_scale(sizes),
      .window = sizes.window,
      .query = offset(b.qkv.data(), model_.element, first * sizes.qkv_width()),
      .query_stride = sizes.qkv_width(),
      .output = offset(b.attended.data(), model_.element, first * sizes.query_width()),
      .length = b.decodes.length.as<std::int32_t>(),
      .cache = cache,
      .longest_length = std::min(shape.longest_decode, limits_.context),
      .workspace = b.attention_workspace.data()};
  backend_.launch(attention,
                  source_for(backend_, attention, kernels::KernelFamily::decode_attention));
}

void Executor::launch_block(const Shape& shape, std::size_t layer) {
  Buffers& b = *buffers_;
  const RunnableLayer& sizes = model_.layers[layer];
  const LayerWeights& weights = weights_.layers[layer];
  multiply(shape.rows, weights.block_in, b.normed.data(), b.block_in.data());
  backend_.launch(kernels::Activation{
      .kind = sizes.gated ? kernels::ActivationKind::silu_mul : kernels::ActivationKind::gelu,
      .element = model_.element,
      .rows = shape.rows,
      .width = sizes.intermediate,
      .input = b.block_in.data(),
      .output = b.block_mid.data()});
  multiply(shape.rows, weights.block_out, b.block_mid.data(), b.block_out.data());
  if (sizes.experts.count == 0) return;
  // Adds the shared experts' output to the residual immediately; the normed result is not used.
  backend_.launch(kernels::RmsNorm{.element = model_.element,
                                   .rows = shape.rows,
                                   .hidden = model_.hidden,
                                   .epsilon = model_.norm_epsilon,
                                   .input = b.block_out.data(),
                                   .residual = b.residual.data(),
                                   .weight = weights.block_norm.data(),
                                   .residual_out = b.residual.data(),
                                   .output = b.block_out.data()});
}

void Executor::launch_experts(const Shape& shape, std::size_t layer) {
  Buffers& b = *buffers_;
  const RunnableExperts& experts = model_.layers[layer].experts;
  const LayerWeights& weights = weights_.layers[layer];
  const std::int64_t pairs = shape.rows * experts.per_token;
  multiply(shape.rows, weights.router, b.normed.data(), b.router_logits.data());
  backend_.launch(kernels::Routing{.tokens = shape.rows,
                                   .experts = experts.count,
                                   .top_k = experts.per_token,
                                   .element = model_.element,
                                   .logits = b.router_logits.data(),
                                   .first_row = b.first_row.as<std::int32_t>(),
                                   .source = b.source.as<std::int32_t>(),
                                   .place = b.place.as<std::int32_t>(),
                                   .weight = b.routing_weight.as<float>(),
                                   .workspace = b.routing_workspace.data()});
  backend_.launch(kernels::GatherRows{.element = model_.element,
                                      .rows = pairs,
                                      .hidden = model_.hidden,
                                      .row = b.source.as<std::int32_t>(),
                                      .input = b.normed.data(),
                                      .output = b.expert_rows.data()});
  kernels::GroupedGemm gemm{.element = model_.element,
                            .experts = experts.count,
                            .rows = pairs,
                            .n = 2 * experts.intermediate,
                            .k = model_.hidden,
                            .input = b.expert_rows.data(),
                            .weight = weights.experts_in.data(),
                            .output = b.experts_in.data(),
                            .first_row = b.first_row.as<std::int32_t>()};
  backend_.launch(gemm, KernelSource::own);
  backend_.launch(kernels::Activation{.kind = kernels::ActivationKind::silu_mul,
                                      .element = model_.element,
                                      .rows = pairs,
                                      .width = experts.intermediate,
                                      .input = b.experts_in.data(),
                                      .output = b.experts_mid.data()});
  gemm.n = model_.hidden;
  gemm.k = experts.intermediate;
  gemm.input = b.experts_mid.data();
  gemm.weight = weights.experts_out.data();
  gemm.output = b.experts_out.data();
  backend_.launch(gemm, KernelSource::own);
  backend_.launch(kernels::Combine{.element = model_.element,
                                   .tokens = shape.rows,
                                   .top_k = experts.per_token,
                                   .hidden = model_.hidden,
                                   .input = b.experts_out.data(),
                                   .place = b.place.as<std::int32_t>(),
                                   .weight = b.routing_weight.as<float>(),
                                   .output = b.block_out.data()});
}

void Executor::launch_sampling(const Shape& shape) {
  if (shape.sampled == 0) return;
  Buffers& b = *buffers_;
  backend_.launch(kernels::RmsNorm{.element = model_.element,
                                   .rows = shape.rows,
                                   .hidden = model_.hidden,
                                   .epsilon = model_.norm_epsilon,
                                   .input = b.block_out.data(),
                                   .residual = b.residual.data(),
                                   .weight = weights_.final_norm.data(),
                                   .residual_out = b.residual.data(),
                                   .output = b.normed.data()});
  backend_.launch(kernels::GatherRows{.element = model_.element,
                                      .rows = shape.sampled,
                                      .hidden = model_.hidden,
                                      .row = b.sampled_row.as<std::int32_t>(),
                                      .input = b.normed.data(),
                                      .output = b.gathered.data()});
  multiply(shape.sampled, weights_.lm_head, b.gathered.data(), b.logits.data());
  backend_.launch(kernels::Sampling{.rows = shape.sampled,
                                    .vocabulary = model_.vocabulary,
                                    .element = model_.element,
                                    .logits = b.logits.data(),
                                    .token = b.next_token.as<std::int32_t>(),
                                    .workspace = b.sampling_workspace.data()});
}

}  // namespace roofcast::runtime
