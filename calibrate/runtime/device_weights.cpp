#include "calibrate/runtime/device_weights.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"

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
    return filled(outputs * inputs, deviation_of(inputs));
  }

  Matrix filled(Matrix matrix) {
    for (MatrixPart& part : matrix.parts) {
      if (!part.format) {
        part.data = this->matrix(part.outputs, matrix.inputs);
        continue;
      }
      const kernels::PackedWeight shape{
          .format = *part.format, .n = part.outputs, .k = matrix.inputs};
      part.data = Memory(backend_, shape.bytes());
      backend_.pack_weight(shape, nullptr, nullptr, stream_++, deviation_of(matrix.inputs),
                           part.data.data());
    }
    return matrix;
  }

  /// Gains of a norm and rows of an embedding: standard deviation 1.
  Memory unit(std::int64_t count) { return filled(count, 1.0F); }

 private:
  static float deviation_of(std::int64_t inputs) {
    return 1.0F / std::sqrt(static_cast<float>(inputs));
  }

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
  const RunnableExperts& experts = layer.experts;
  LayerWeights weights;
  weights.attention_norm = filler.unit(model.hidden);
  weights.qkv = filler.filled(qkv_of(model, layer));
  weights.attention_output = filler.filled(attention_output_of(model, layer));
  weights.block_norm = filler.unit(model.hidden);
  weights.block_in = filler.filled(block_in_of(model, layer));
  weights.block_out = filler.filled(block_out_of(model, layer));
  weights.router = filler.filled(matrix_of({{{}, experts.count}}, model.hidden));
  const std::int64_t rows_in = std::int64_t{2} * experts.count * experts.intermediate;
  weights.experts_in = filler.matrix(rows_in, model.hidden);
  weights.experts_out =
      filler.matrix(std::int64_t{experts.count} * model.hidden, experts.intermediate);
  return weights;
}

}  // namespace

Matrix matrix_of(const std::vector<NamedFormat>& pieces, int inputs) {
  Matrix matrix{.inputs = inputs};
  for (const NamedFormat& piece : pieces) {
    if (piece.outputs == 0 || inputs == 0) continue;
    if (matrix.parts.empty() || matrix.parts.back().format != piece.format) {
      matrix.parts.push_back({.format = piece.format, .first = matrix.outputs});
    }
    matrix.parts.back().outputs += piece.outputs;
    matrix.outputs += piece.outputs;
  }
  const bool plain = std::any_of(matrix.parts.begin(), matrix.parts.end(),
                                 [](const MatrixPart& part) { return !part.format; });
  if (plain && matrix.parts.size() > 1) {
    throw Error(
        "plain and quantised matrices with the same input (query, key and value, or gate and up) "
        "cannot be run; expected all or none of them quantised");
  }
  return matrix;
}

Matrix qkv_of(const RunnableModel& model, const RunnableLayer& layer) {
  const RunnableAttention& attention = layer.attention;
  return matrix_of({{layer.formats.query, attention.query_width()},
                    {layer.formats.key, attention.kv_width()},
                    {layer.formats.value, attention.kv_width()}},
                   model.hidden);
}

Matrix attention_output_of(const RunnableModel& model, const RunnableLayer& layer) {
  return matrix_of({{layer.formats.attention_output, model.hidden}}, layer.attention.query_width());
}

Matrix block_in_of(const RunnableModel& model, const RunnableLayer& layer) {
  return matrix_of({{layer.formats.gate, layer.gated ? layer.intermediate : 0},
                    {layer.formats.up, layer.intermediate}},
                   model.hidden);
}

Matrix block_out_of(const RunnableModel& model, const RunnableLayer& layer) {
  return matrix_of({{layer.formats.block_out, model.hidden}}, layer.intermediate);
}

Matrix lm_head_of(const RunnableModel& model) {
  return matrix_of({{model.lm_head_format, model.vocabulary}}, model.hidden);
}

DeviceWeights random_weights(kernels::Backend& backend, const RunnableModel& model,
                             std::uint64_t seed) {
  WeightFiller filler(backend, model.element, seed);
  DeviceWeights weights;
  weights.embedding = filler.unit(std::int64_t{model.vocabulary} * model.hidden);
  for (const RunnableLayer& layer : model.layers) {
    weights.layers.push_back(layer_weights(filler, model, layer));
  }
  weights.final_norm = filler.unit(model.hidden);
  weights.lm_head = filler.filled(lm_head_of(model));
  return weights;
}

std::size_t quantized_workspace_bytes(const RunnableModel& model, std::int64_t rows) {
  std::size_t bytes = 0;
  const auto widen = [&](const Matrix& matrix) {
    for (const MatrixPart& part : matrix.parts) {
      if (!part.format) continue;
      const kernels::PackedWeight shape{
          .format = *part.format, .n = part.outputs, .k = matrix.inputs};
      bytes = std::max(bytes, workspace_bytes(kernels::QuantizedGemm{.shape = shape, .m = rows}));
    }
  };
  for (const RunnableLayer& layer : model.layers) {
    widen(qkv_of(model, layer));
    widen(attention_output_of(model, layer));
    widen(block_in_of(model, layer));
    widen(block_out_of(model, layer));
  }
  widen(lm_head_of(model));
  return bytes;
}

}  // namespace roofcast::runtime
