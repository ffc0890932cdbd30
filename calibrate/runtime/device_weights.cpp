#include "calibrate/runtime/device_weights.hpp"

#include <cmath>

namespace roofcast::runtime {
namespace {

using kernels::Memory;

/// Fills tensors in order, each from its own stream.
class WeightFiller {
 public:
  WeightFiller(kernels::Backend& backend, kernels::Element element, std::uint64_t seed)
      : backend_(backend), element_(element), stream_(seed << 32) {}

  Memory matrix(std::int64_t outputs, std::int64_t inputs) {
    if (outputs == 0 || inputs == 0) return {};
    return filled(outputs * inputs, 1.0F / std::sqrt(static_cast<float>(inputs)));
  }

  /// Gains of a norm and rows of an embedding: standard deviation 1.
  Memory unit(std::int64_t count) { return filled(count, 1.0F); }

 private:
  Memory filled(std::int64_t count, float deviation) {
    Memory memory(backend_, static_cast<std::size_t>(count) * kernels::size_of(element_));
    backend_.fill_normal(memory.data(), element_, count, stream_++, deviation);
    return memory;
  }

  kernels::Backend& backend_;
  kernels::Element element_;
  std::uint64_t stream_;
};

LayerWeights layer_weights(WeightFiller& filler, const RunnableModel& model,
                           const RunnableLayer& layer) {
  const RunnableAttention& attention = layer.attention;
  const RunnableExperts& experts = layer.experts;
  LayerWeights weights;
  weights.attention_norm = filler.unit(model.hidden);
  weights.qkv = filler.matrix(attention.qkv_width(), model.hidden);
  weights.attention_output = filler.matrix(model.hidden, attention.query_width());
  weights.block_norm = filler.unit(model.hidden);
  weights.block_in = filler.matrix((layer.gated ? 2 : 1) * layer.intermediate, model.hidden);
  weights.block_out = filler.matrix(model.hidden, layer.intermediate);
  weights.router = filler.matrix(experts.count, model.hidden);
  const std::int64_t rows_in = std::int64_t{2} * experts.count * experts.intermediate;
  weights.experts_in = filler.matrix(rows_in, model.hidden);
  weights.experts_out =
      filler.matrix(std::int64_t{experts.count} * model.hidden, experts.intermediate);
  return weights;
}

}  // namespace

DeviceWeights random_weights(kernels::Backend& backend, const RunnableModel& model,
                             std::uint64_t seed) {
  WeightFiller filler(backend, model.element, seed);
  DeviceWeights weights;
  weights.embedding = filler.unit(std::int64_t{model.vocabulary} * model.hidden);
  for (const RunnableLayer& layer : model.layers) {
    weights.layers.push_back(layer_weights(filler, model, layer));
  }
  weights.final_norm = filler.unit(model.hidden);
  weights.lm_head = filler.matrix(model.vocabulary, model.hidden);
  return weights;
}

}  // namespace roofcast::runtime
