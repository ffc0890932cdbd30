// Totals over the list of weights: parameter counts, bytes per rank, pipeline stages, FLOPs.
#include <algorithm>
#include <cassert>

#include "base/ceil_divide.hpp"
#include "model/architecture/weights.hpp"

namespace roofcast {

namespace {

// vLLM pads the vocabulary to a multiple of 64 before dividing it by TP
// (DEFAULT_VOCAB_PADDING_SIZE in vllm/model_executor/layers/vocab_parallel_embedding.py).
constexpr std::int64_t kVocabularyPadding = 64;

/// The largest share of a dimension that consists of `pieces` equal, indivisible pieces.
std::int64_t largest_share(std::int64_t dimension, std::int64_t pieces, std::int64_t ranks) {
  const std::int64_t count = pieces > 0 ? pieces : dimension;
  if (count == 0) return 0;
  return ceil_divide(count, ranks) * (dimension / count);
}

void split_by(Weight& weight, Split split, std::int64_t ranks) {
  switch (split) {
    case Split::output:
      weight.outputs = largest_share(weight.outputs, weight.pieces, ranks);
      break;
    case Split::kv_output: {
      // A rank holds at least one KV head: beyond kv_heads ranks they are replicated.
      const std::int64_t rest = weight.outputs - weight.kv_outputs;
      const std::int64_t kv = largest_share(weight.kv_outputs, weight.kv_heads, ranks);
      weight.outputs = (rest > 0 ? largest_share(rest, weight.pieces, ranks) : 0) + kv;
      weight.kv_outputs = kv;
      break;
    }
    case Split::input:
      weight.inputs = largest_share(weight.inputs, weight.pieces, ranks);
      break;
    case Split::vocabulary:
      weight.outputs =
          ceil_divide(ceil_divide(weight.outputs, kVocabularyPadding) * kVocabularyPadding, ranks);
      break;
    case Split::replicated:
    case Split::expert:
      break;
  }
  if (weight.pieces > 0) weight.pieces = ceil_divide(weight.pieces, ranks);
  if (weight.kv_heads > 0) weight.kv_heads = ceil_divide(weight.kv_heads, ranks);
}

Bytes bytes_of(const Weight& weight) {
  return Bytes{static_cast<double>(weight.parameters()) * weight.format.bits_per_weight / 8.0};
}

Bytes sum(const std::vector<PartBytes>& parts) {
  Bytes total;
  for (const PartBytes& part : parts) total += part.bytes;
  return total;
}

void add_part(std::vector<PartBytes>& parts, const Weight& weight, Bytes bytes) {
  const auto same = [&](const PartBytes& p) {
    return p.part == weight.part && p.format == weight.format.name;
  };
  const auto found = std::find_if(parts.begin(), parts.end(), same);
  if (found != parts.end()) {
    found->bytes += bytes;
  } else {
    parts.push_back({.part = weight.part, .format = weight.format.name, .bytes = bytes});
  }
}

/// Whether an end weight is on this stage. The embedding is on the first, the final norm and LM
/// head on the last, which also holds the embedding if it is tied (as vLLM's models load it).
bool on_stage(const Weight& weight, bool tied, bool first, bool last) {
  const bool at_input = weight.part == Part::embedding || weight.part == Part::positions;
  const bool tied_head = tied && weight.name == "embedding";
  return at_input ? first || (tied_head && last) : last;
}

/// Calls `use` with the weights of a layer and the number of such layers in a row: neighbours are
/// often equal, and listing their weights takes longer than comparing them.
template <class Use>
void for_each_kind(const Transformer& model, LayerRange range, const Use& use) {
  for (std::int64_t i = range.first; i < range.last;) {
    const Layer& layer = model.layers[static_cast<std::size_t>(i)];
    std::int64_t alike = 1;
    while (i + alike < range.last && model.layers[static_cast<std::size_t>(i + alike)] == layer) {
      ++alike;
    }
    use(layer_weights(layer, model.hidden, model.activation), alike);
    i += alike;
  }
}

/// Bytes per rank of one pipeline stage.
std::vector<PartBytes> stage_parts(const Transformer& model, const Parallelism& parallel,
                                   int stage) {
  const auto layers = static_cast<std::int64_t>(model.layers.size());
  const LayerRange range = pipeline_stage(layers, parallel.pipeline, stage);
  std::vector<PartBytes> parts;
  for_each_kind(model, range, [&](const std::vector<Weight>& weights, std::int64_t layers_alike) {
    for (const Weight& weight : weights) {
      add_part(parts, weight,
               bytes_of(shard(weight, parallel)) * static_cast<double>(layers_alike));
    }
  });
  for (const Weight& weight : end_weights(model)) {
    const bool here =
        on_stage(weight, model.tied_embeddings, stage == 0, stage == parallel.pipeline - 1);
    if (here) add_part(parts, weight, bytes_of(shard(weight, parallel)));
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PartBytes& a, const PartBytes& b) { return a.part < b.part; });
  return parts;
}

/// 1 if the checkpoint's exact size is not known.
double exact_over_formula(const Transformer& model) {
  if (!model.checkpoint_bytes) return 1.0;
  const Bytes whole = sum(weight_bytes_by_part(model, Parallelism{})) + vision_bytes(model);
  return *model.checkpoint_bytes / whole;
}

}  // namespace

Weight shard(const Weight& weight, const Parallelism& parallel) {
  Weight result = weight;
  if (weight.split == Split::expert) {
    if (parallel.expert_parallel) {
      result.copies =
          ceil_divide(weight.copies + parallel.redundant_experts, parallel.expert_ranks());
    } else if (parallel.expert_width_ranks() > 1) {
      split_by(result, weight.expert_split, parallel.expert_width_ranks());
    }
    return result;
  }
  if (parallel.tensor > 1) split_by(result, weight.split, parallel.tensor);
  return result;
}

ParameterCount count_parameters(const Transformer& model) {
  ParameterCount count;
  std::int64_t lookups = 0;  // input embedding and positions: row lookups, no multiplication
  for (const Weight& weight : end_weights(model)) {
    count.total += weight.parameters();
    count.active += weight.parameters_used();
    const bool lookup = weight.part == Part::embedding || weight.part == Part::positions;
    const bool is_head = weight.name == "embedding" && model.tied_embeddings;
    if (lookup && !weight.multiplies && !is_head) lookups += weight.parameters();
  }
  const LayerRange all{0, static_cast<std::int64_t>(model.layers.size())};
  for_each_kind(model, all, [&](const std::vector<Weight>& weights, std::int64_t layers_alike) {
    for (const Weight& weight : weights) {
      count.total += layers_alike * weight.parameters();
      count.active += layers_alike * weight.parameters_used();
    }
  });
  count.active_without_input_embedding = count.active - lookups;
  return count;
}

std::vector<PartBytes> weight_bytes_by_part(const Transformer& model, const Parallelism& parallel) {
  std::vector<PartBytes> fullest = stage_parts(model, parallel, 0);
  for (int stage = 1; stage < parallel.pipeline; ++stage) {
    std::vector<PartBytes> parts = stage_parts(model, parallel, stage);
    if (sum(parts) > sum(fullest)) fullest = std::move(parts);
  }
  return fullest;
}

Bytes vision_bytes(const Transformer& model, int tensor) {
  // vLLM's pixtral.py builds Mistral's own encoder of whole matrices.
  const bool whole = model.architecture == "PixtralForConditionalGeneration";
  return Bytes{static_cast<double>(model.vision_parameters) * 2.0} /
         static_cast<double>(whole ? 1 : tensor);
}

Bytes weight_bytes(const Transformer& model, const Parallelism& parallel) {
  if (model.checkpoint_bytes && parallel.gpus() == 1) return *model.checkpoint_bytes;
  return (sum(weight_bytes_by_part(model, parallel)) + vision_bytes(model, parallel.tensor)) *
         exact_over_formula(model);
}

Bytes weight_bytes_of_stages(const Transformer& model, const Parallelism& parallel) {
  Bytes total;
  for (int stage = 0; stage < parallel.pipeline; ++stage) {
    total += sum(stage_parts(model, parallel, stage)) + vision_bytes(model, parallel.tensor);
  }
  return total * exact_over_formula(model);
}

Flops matmul_flops_per_token(const Transformer& model, bool with_lm_head) {
  std::int64_t multiplied = with_lm_head ? lm_head_matrix(model).parameters_used() : 0;
  for (const Layer& layer : model.layers) {
    for (const Weight& weight : layer_weights(layer, model.hidden, model.activation)) {
      if (weight.multiplies) multiplied += weight.parameters_used();
    }
  }
  for (const ExtraWeight& extra : model.extra) {
    if (extra.multiplies) multiplied += extra.outputs * extra.inputs;
  }
  return Flops{2.0 * static_cast<double>(multiplied)};
}

LayerRange pipeline_stage(std::int64_t layers, int stages, int stage) {
  assert(stages > 0 && stage >= 0 && stage < stages);
  // vllm/distributed/utils.py, get_pp_indices: every stage gets the quotient; the remainder goes
  // one layer each to the second-last stage and backwards, sparing the last (LM head).
  const std::int64_t each = layers / stages;
  const std::int64_t remainder = layers % stages;
  LayerRange range;
  for (int s = 0; s <= stage; ++s) {
    const bool gets_one_more = s < stages - 1 && stages - 2 - s < remainder;
    range.first = range.last;
    range.last = range.first + each + (gets_one_more ? 1 : 0);
  }
  return range;
}

}  // namespace roofcast
