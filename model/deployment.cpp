#include "model/deployment.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "model/architecture/experts.hpp"

namespace roofcast {
namespace {

/// Largest TP degree that messages suggest: no more GPUs than this share a fast link.
constexpr int kLargestNamedTensor = 64;

/// A dimension that tensor parallelism divides among the ranks.
struct Divided {
  std::int64_t count = 0;
  const char* what = "";
  bool replicates = false;  // heads that are replicated once TP exceeds them (KV heads)
};

/// Every kind of head and width in a layer that TP must divide.
std::vector<Divided> divided_by_tensor(const Layer& layer) {
  std::vector<Divided> list;
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) {
    list.push_back({a->query_heads, "query heads"});
    list.push_back({a->kv_heads, "KV heads", true});
  } else if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer)) {
    list.push_back({latent->query_heads, "query heads"});
  } else if (const auto* mamba = std::get_if<Mamba2>(&layer.mixer)) {
    list.push_back({mamba->heads, "state heads"});
  } else if (const auto* delta = std::get_if<GatedDeltaNet>(&layer.mixer)) {
    list.push_back({delta->key_heads, "linear-attention key heads"});
    list.push_back({delta->value_heads, "linear-attention value heads"});
  } else if (const auto* lightning = std::get_if<LightningAttention>(&layer.mixer)) {
    list.push_back({lightning->heads, "linear-attention heads"});
  }
  if (const auto* ffn = std::get_if<DenseFfn>(&layer.ffn)) {
    list.push_back({ffn->intermediate, "FFN width"});
  }
  return list;
}

bool divides(const Divided& divided, int tensor) {
  if (divided.count % tensor == 0) return true;
  return divided.replicates && divided.count > 0 && tensor % divided.count == 0;
}

/// The first dimension that TP does not divide; nullopt if it shards every layer.
std::optional<Divided> obstacle(const Transformer& model, int tensor) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (i > 0 && model.layers[i] == model.layers[i - 1]) continue;
    for (const Divided& divided : divided_by_tensor(model.layers[i])) {
      if (!divides(divided, tensor)) return divided;
    }
  }
  return std::nullopt;
}

std::string working_degrees(const Transformer& model) {
  std::vector<int> degrees;
  for (int tensor = 1; tensor <= kLargestNamedTensor; ++tensor) {
    if (!obstacle(model, tensor)) degrees.push_back(tensor);
  }
  return fmt::format("{}", fmt::join(degrees, ", "));
}

}  // namespace

std::optional<std::string> why_not_parallel(const Transformer& model, const Parallelism& parallel) {
  const std::pair<int, const char*> degrees[] = {
      {parallel.tensor, "tensor_parallel_size"},
      {parallel.pipeline, "pipeline_parallel_size"},
      {parallel.data, "data_parallel_size"},
      {parallel.context, "prefill_context_parallel_size"}};
  for (const auto& [degree, key] : degrees) {
    if (degree < 1) return fmt::format("`{}`: {} given, expected at least 1", key, degree);
  }
  if (const std::optional<Divided> found = obstacle(model, parallel.tensor)) {
    return fmt::format(
        "`tensor_parallel_size`: {} does not divide the {} {} of {}; possible values: {}",
        parallel.tensor, found->count, found->what, model.name, working_degrees(model));
  }
  if (static_cast<std::size_t>(parallel.pipeline) > model.layers.size()) {
    return fmt::format("`pipeline_parallel_size`: {} stages given, but {} has {} layers",
                       parallel.pipeline, model.name, model.layers.size());
  }
  if (parallel.expert_parallel && !has_experts(model)) {
    return fmt::format("`enable_expert_parallel`: {} has no experts", model.name);
  }
  return std::nullopt;
}

void check_parallelism(const Transformer& model, const Parallelism& parallel) {
  if (const auto why = why_not_parallel(model, parallel)) throw UsageError(*why);
}

}  // namespace roofcast
