#include "calibrate/runtime/file_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace roofcast::runtime {
namespace {

using kernels::Element;
using kernels::Memory;
using Bytes8 = std::vector<std::uint8_t>;

const GgufTensor* find(const GgufFile& file, const std::string& name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [&](const GgufTensor& tensor) { return tensor.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

const GgufTensor& require(const GgufFile& file, const std::string& name) {
  const GgufTensor* tensor = find(file, name);
  if (tensor == nullptr) {
    throw Error(fmt::format("{}: tensor '{}' is missing", file.path, name));
  }
  return *tensor;
}

std::string in_layer(std::size_t layer, const char* name) {
  return fmt::format("blk.{}.{}.weight", layer, name);
}

/// Storage of a plain tensor.
std::optional<Element> plain_element_of(const GgufTensor& tensor) {
  if (tensor.type == "f32") return Element::fp32;
  if (tensor.type == "f16") return Element::fp16;
  if (tensor.type == "bf16") return Element::bf16;
  return std::nullopt;
}

/// GGUF's own formats only: int8 and the like are names of ours.
MatrixFormat format_of(const GgufTensor& tensor) {
  if (tensor.type.front() != 'q') return std::nullopt;
  return kernels::quantized_format_named(tensor.type);
}

/// The LM head's tensor: the embedding where the two are tied.
const GgufTensor& lm_head(const GgufFile& file) {
  const GgufTensor* own = find(file, "output.weight");
  return own != nullptr ? *own : require(file, "token_embd.weight");
}

/// Values of a plain or quantised tensor's row `row` as floats.
class Rows {
 public:
  explicit Rows(const GgufTensor& tensor)
      : tensor_(tensor), data_(read_tensor_data(tensor)), width_(tensor.shape.front()) {}

  std::int64_t count() const { return tensor_.elements / width_; }
  std::size_t row_bytes() const { return data_.size() / static_cast<std::size_t>(count()); }
  const std::uint8_t* row(std::int64_t i) const {
    return data_.data() + static_cast<std::size_t>(i) * row_bytes();
  }

  void values(std::int64_t i, float* to) const {
    const std::uint8_t* from = row(i);
    if (const MatrixFormat format = format_of(tensor_)) {
      return dequantize_row(*format, from, static_cast<int>(width_), to);
    }
    const Element element = *plain_element_of(tensor_);
    for (std::int64_t k = 0; k < width_; ++k) to[k] = value(element, from, k);
  }

 private:
  template <class T>
  static float at(const std::uint8_t* from, std::int64_t k) {
    T value;
    std::memcpy(&value, from + static_cast<std::size_t>(k) * sizeof value, sizeof value);
    return kernels::to_float(value);
  }
  static float value(Element element, const std::uint8_t* from, std::int64_t k) {
    if (element == Element::fp32) return at<float>(from, k);
    return element == Element::fp16 ? at<kernels::Fp16>(from, k) : at<kernels::Bf16>(from, k);
  }

  const GgufTensor& tensor_;
  Bytes8 data_;
  std::int64_t width_;
};

/// Appends values in the element's storage.
template <class T>
void append(Bytes8& to, const std::vector<float>& values) {
  const std::size_t begin = to.size();
  to.resize(begin + values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = kernels::from_float<T>(values[i]);
    std::memcpy(to.data() + begin + i * sizeof(T), &value, sizeof value);
  }
}

void append(Bytes8& to, Element element, const std::vector<float>& values) {
  if (element == Element::fp32) append<float>(to, values);
  if (element == Element::fp16) append<kernels::Fp16>(to, values);
  if (element == Element::bf16) append<kernels::Bf16>(to, values);
}

/// A tensor whose rows become outputs of a matrix; `head_dim` above 0: the rows of each head of
/// that size are in the order of neighbouring pairs.
struct Piece {
  const GgufTensor* tensor = nullptr;
  int head_dim = 0;
};

/// Row of the file that becomes row `row` of a head: of a pair of rotated elements, i and i + d / 2
/// here, the file has 2 i and 2 i + 1.
std::int64_t row_in_file(std::int64_t row, int head_dim) {
  if (head_dim == 0) return row;
  const std::int64_t head = row / head_dim * head_dim;
  const std::int64_t i = row - head;
  const std::int64_t half = head_dim / 2;
  return head + (i < half ? 2 * i : 2 * (i - half) + 1);
}

class Loader {
 public:
  Loader(kernels::Backend& backend, Element element) : backend_(backend), element_(element) {}

  /// A vector, or a table that is looked up.
  Memory plain(const GgufTensor& tensor, std::int64_t elements) const {
    if (tensor.elements != elements) refuse(tensor, elements);
    const Rows rows(tensor);
    Bytes8 bytes;
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.front()));
    for (std::int64_t i = 0; i < rows.count(); ++i) {
      rows.values(i, values.data());
      append(bytes, element_, values);
    }
    return uploaded(bytes);
  }

  Matrix filled(Matrix matrix, const std::vector<Piece>& pieces) const {
    std::size_t piece = 0;
    for (MatrixPart& part : matrix.parts) {
      Bytes8 bytes;
      for (std::int64_t rows = 0; rows < part.outputs; ++piece) {
        const GgufTensor& tensor = *pieces.at(piece).tensor;
        if (tensor.shape.size() != 2 || tensor.shape.front() != matrix.inputs ||
            rows + tensor.shape.back() > part.outputs) {
          refuse(tensor, std::int64_t{part.outputs} * matrix.inputs);
        }
        append_rows(bytes, tensor, pieces[piece].head_dim, part.format.has_value());
        rows += tensor.shape.back();
      }
      if (!part.format) {
        part.data = uploaded(bytes);
        continue;
      }
      const kernels::PackedWeight shape{
          .format = *part.format, .n = part.outputs, .k = matrix.inputs};
      part.data = Memory(backend_, shape.bytes());
      backend_.pack_weight(shape, bytes.data(), nullptr, 0, 0, part.data.data());
    }
    return matrix;
  }

 private:
  [[noreturn]] static void refuse(const GgufTensor& tensor, std::int64_t elements) {
    throw Error(fmt::format("{}: tensor '{}' has {} elements, where the model has {}", tensor.path,
                            tensor.name, tensor.elements, elements));
  }

  Memory uploaded(const Bytes8& bytes) const {
    Memory memory(backend_, bytes.size());
    backend_.upload(memory.data(), bytes.data(), bytes.size());
    return memory;
  }

  void append_rows(Bytes8& bytes, const GgufTensor& tensor, int head_dim, bool as_stored) const {
    const Rows rows(tensor);
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.front()));
    for (std::int64_t i = 0; i < rows.count(); ++i) {
      const std::int64_t row = row_in_file(i, head_dim);
      if (as_stored) {
        bytes.insert(bytes.end(), rows.row(row), rows.row(row) + rows.row_bytes());
      } else {
        rows.values(row, values.data());
        append(bytes, element_, values);
      }
    }
  }

  kernels::Backend& backend_;
  Element element_;
};

constexpr const char* kMatrices[] = {"attn_q",      "attn_k", "attn_v",
                                     "attn_output", "ffn_up", "ffn_down"};

/// As why_not_as_stored(), on a device that multiplies all formats.
std::string why_unreadable(const GgufFile& file, const RunnableModel& model) {
  const auto unknown = [&](const std::string& name) -> std::string {
    const GgufTensor* tensor = find(file, name);
    if (tensor == nullptr) return "no tensor '" + name + "'";
    if (plain_element_of(*tensor) || format_of(*tensor)) return {};
    return "no kernel for " + tensor->type + " ('" + name + "')";
  };
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const RunnableLayer& layer = model.layers[i];
    if (layer.experts.count > 0) return "no kernel for quantised experts";
    for (const char* name : kMatrices) {
      if (std::string why = unknown(in_layer(i, name)); !why.empty()) return why;
    }
    if (!layer.gated) continue;
    if (std::string why = unknown(in_layer(i, "ffn_gate")); !why.empty()) return why;
  }
  if (std::string why = unknown("token_embd.weight"); !why.empty()) return why;
  return unknown(lm_head(file).name);
}

}  // namespace

void take_formats(const GgufFile& file, RunnableModel& model) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    RunnableLayer& layer = model.layers[i];
    const auto of = [&](const char* name) { return format_of(require(file, in_layer(i, name))); };
    layer.formats = {.query = of("attn_q"),
                     .key = of("attn_k"),
                     .value = of("attn_v"),
                     .attention_output = of("attn_output"),
                     .gate = layer.gated ? of("ffn_gate") : std::nullopt,
                     .up = of("ffn_up"),
                     .block_out = of("ffn_down")};
  }
  model.lm_head_format = format_of(lm_head(file));
  model.norm_epsilon = static_cast<float>(
      gguf_number(file, "attention.layer_norm_rms_epsilon").value_or(model.norm_epsilon));
  model.rope_base = gguf_number(file, "rope.freq_base").value_or(model.rope_base);
}

std::string why_not_as_stored(const kernels::Backend& backend, const GgufFile& file,
                              const RunnableModel& model) {
  std::string why = why_unreadable(file, model);
  if (!why.empty() || backend.multiplies_quantized()) return why;
  RunnableModel stored = model;
  take_formats(file, stored);
  if (!is_quantized(stored)) return {};
  return backend.facts().name + " multiplies no quantised weights";
}

DeviceWeights file_weights(kernels::Backend& backend, const RunnableModel& model,
                           const GgufFile& file) {
  const Loader loader(backend, model.element);
  const std::int64_t hidden = model.hidden;
  DeviceWeights weights;
  weights.embedding = loader.plain(require(file, "token_embd.weight"), model.vocabulary * hidden);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const RunnableLayer& layer = model.layers[i];
    const auto tensor = [&](const char* name) { return &require(file, in_layer(i, name)); };
    const int rotated = file.architecture == "llama" ? layer.attention.head_dim : 0;
    std::vector<Piece> block_in;
    if (layer.gated) block_in.push_back({tensor("ffn_gate")});
    block_in.push_back({tensor("ffn_up")});
    LayerWeights w;
    w.attention_norm = loader.plain(*tensor("attn_norm"), hidden);
    w.qkv = loader.filled(
        qkv_of(model, layer),
        {{tensor("attn_q"), rotated}, {tensor("attn_k"), rotated}, {tensor("attn_v")}});
    w.attention_output =
        loader.filled(attention_output_of(model, layer), {{tensor("attn_output")}});
    w.block_norm = loader.plain(*tensor("ffn_norm"), hidden);
    w.block_in = loader.filled(block_in_of(model, layer), block_in);
    w.block_out = loader.filled(block_out_of(model, layer), {{tensor("ffn_down")}});
    weights.layers.push_back(std::move(w));
  }
  weights.final_norm = loader.plain(require(file, "output_norm.weight"), hidden);
  weights.lm_head = loader.filled(lm_head_of(model), {{&lm_head(file)}});
  return weights;
}

}  // namespace roofcast::runtime
