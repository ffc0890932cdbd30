#include "calibrate/runtime/executor_buffers.hpp"

#include <algorithm>

namespace roofcast::runtime {
namespace {

using kernels::Backend;
using kernels::Memory;

/// Maximum widths over the layers of a model.
struct Widths {
  std::int64_t qkv = 0;
  std::int64_t queries = 0;
  std::int64_t block_in = 0;
  std::int64_t block_mid = 0;
  std::int64_t experts = 0;
  std::int64_t choices = 0;
  std::int64_t expert_mid = 0;
};

Widths widths_of(const RunnableModel& model) {
  Widths widest;
  const auto widen = [](std::int64_t& width, std::int64_t other) {
    width = std::max(width, other);
  };
  for (const RunnableLayer& layer : model.layers) {
    widen(widest.qkv, layer.attention.qkv_width());
    widen(widest.queries, layer.attention.query_width());
    widen(widest.block_in, std::int64_t{layer.gated ? 2 : 1} * layer.intermediate);
    widen(widest.block_mid, layer.intermediate);
    widen(widest.experts, layer.experts.count);
    widen(widest.choices, layer.experts.per_token);
    widen(widest.expert_mid, layer.experts.intermediate);
  }
  return widest;
}

template <class T>
Memory indices(Backend& backend, std::int64_t count) {
  return {backend, static_cast<std::size_t>(count) * sizeof(T)};
}

/// The largest workspace that any layer needs.
std::int64_t attention_workspace(const RunnableModel& model, const ExecutorLimits& limits) {
  std::int64_t max = 0;
  for (const RunnableLayer& layer : model.layers) {
    kernels::DecodeAttention attention{.element = model.element,
                                       .sequences = static_cast<int>(limits.sequences),
                                       .query_heads = layer.attention.query_heads,
                                       .window = layer.attention.window};
    attention.cache = {.element = model.element,
                       .page_size = limits.page_size,
                       .kv_heads = layer.attention.kv_heads,
                       .head_dim = layer.attention.head_dim};
    attention.longest_length = limits.context;
    // Fewer sequences may be split into more parts.
    for (int sequences = 1; sequences <= limits.sequences; ++sequences) {
      attention.sequences = sequences;
      max = std::max(max, workspace_bytes(attention));
    }
  }
  return max;
}

double elements_of_activations(const RunnableModel& model, const ExecutorLimits& limits) {
  const Widths widest = widths_of(model);
  const auto choices = static_cast<double>(widest.choices);
  const double by_row =
      3.0 * model.hidden +
      static_cast<double>(widest.qkv + widest.queries + widest.block_in + widest.block_mid +
                          widest.experts) +
      choices * (2.0 * model.hidden + 3.0 * static_cast<double>(widest.expert_mid));
  const double by_sequence = static_cast<double>(model.hidden) + model.vocabulary;
  return by_row * static_cast<double>(limits.rows) +
         by_sequence * static_cast<double>(limits.sequences);
}

}  // namespace

double buffer_bytes(const RunnableModel& model, const ExecutorLimits& limits) {
  const double tokens = static_cast<double>(limits.pages) * limits.page_size;
  const double activations =
      elements_of_activations(model, limits) * static_cast<double>(kernels::size_of(model.element));
  return tokens * kv_bytes_per_token(model) + activations +
         static_cast<double>(attention_workspace(model, limits)) +
         static_cast<double>(
             quantized_workspace_bytes(model, std::max(limits.rows, limits.sequences)));
}

Executor::Buffers::Buffers(Backend& backend, const RunnableModel& model,
                           const ExecutorLimits& limits) {
  const Widths widest = widths_of(model);
  const std::size_t size = kernels::size_of(model.element);
  const auto elements = [&](std::int64_t count) {
    return Memory(backend, static_cast<std::size_t>(count) * size);
  };
  const std::int64_t rows = limits.rows;
  const std::int64_t sequences = limits.sequences;
  token = indices<std::int32_t>(backend, rows);
  position = indices<std::int32_t>(backend, rows);
  slot = indices<std::int64_t>(backend, rows);
  first_query = indices<std::int32_t>(backend, sequences + 1);
  for (Group* group : {&prompts, &decodes}) {
    group->length = indices<std::int32_t>(backend, sequences);
    group->page_table = indices<std::int32_t>(backend, sequences * limits.pages_per_sequence());
  }
  sampled_row = indices<std::int32_t>(backend, sequences);
  next_token = indices<std::int32_t>(backend, sequences);
  residual = elements(rows * model.hidden);
  normed = elements(rows * model.hidden);
  qkv = elements(rows * widest.qkv);
  attended = elements(rows * widest.queries);
  block_in = elements(rows * widest.block_in);
  block_mid = elements(rows * widest.block_mid);
  block_out = elements(rows * model.hidden);
  gathered = elements(sequences * model.hidden);
  logits = elements(sequences * model.vocabulary);
  attention_workspace = indices<char>(backend, runtime::attention_workspace(model, limits));
  sampling_workspace = indices<char>(
      backend, workspace_bytes(kernels::Sampling{
                   .rows = sequences, .vocabulary = model.vocabulary, .element = model.element}));
  quantized_workspace =
      indices<char>(backend, static_cast<std::int64_t>(quantized_workspace_bytes(
                                 model, std::max(limits.rows, limits.sequences))));
  if (widest.experts > 0) {
    const std::int64_t pairs = rows * widest.choices;
    router_logits = elements(rows * widest.experts);
    first_row = indices<std::int32_t>(backend, widest.experts + 1);
    source = indices<std::int32_t>(backend, pairs);
    place = indices<std::int32_t>(backend, pairs);
    routing_weight = indices<float>(backend, pairs);
    routing_workspace = indices<char>(
        backend, workspace_bytes(kernels::Routing{.tokens = rows,
                                                  .experts = static_cast<int>(widest.experts),
                                                  .top_k = static_cast<int>(widest.choices),
                                                  .element = model.element}));
    expert_rows = elements(pairs * model.hidden);
    experts_in = elements(pairs * 2 * widest.expert_mid);
    experts_mid = elements(pairs * widest.expert_mid);
    experts_out = elements(pairs * model.hidden);
  }
  for (const RunnableLayer& layer : model.layers) {
    const std::int64_t cached =
        std::int64_t{limits.pages} * limits.page_size * layer.attention.kv_width();
    keys.push_back(elements(cached));
    values.push_back(elements(cached));
    if (!model.rotary || rotation_of(layer.attention.head_dim) != nullptr) continue;
    const auto table =
        kernels::rope_table(limits.context, layer.attention.head_dim, model.rope_base);
    Rotation rotation{.head_dim = layer.attention.head_dim,
                      .cosine = Memory(backend, table.cosine.size() * sizeof(float)),
                      .sine = Memory(backend, table.sine.size() * sizeof(float))};
    backend.upload(rotation.cosine.data(), table.cosine.data(), rotation.cosine.bytes());
    backend.upload(rotation.sine.data(), table.sine.data(), rotation.sine.bytes());
    rotations.push_back(std::move(rotation));
  }
}

const Executor::Buffers::Rotation* Executor::Buffers::rotation_of(int head_dim) const {
  for (const Rotation& rotation : rotations) {
    if (rotation.head_dim == head_dim) return &rotation;
  }
  return nullptr;
}

}  // namespace roofcast::runtime
