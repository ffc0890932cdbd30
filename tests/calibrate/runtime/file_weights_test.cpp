// A file of one layer whose values say which tensor, row and column they come from.
#include "calibrate/runtime/file_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/calibrate/runtime/reference_backend.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

constexpr int kHidden = 32;
constexpr int kHeads = 2;
constexpr int kHeadDim = 16;
constexpr int kFfn = 64;
constexpr int kVocabulary = 40;

/// A tensor's values are kScale times whole numbers of one byte, so that fp16 and q8_0 have them
/// exactly.
constexpr float kScale = 0.25F;
int code(int tensor, int row, int column) {
  return (37 * tensor + 5 * row + 3 * column) % 255 - 127;
}
float value(int tensor, int row, int column) {
  return kScale * static_cast<float>(code(tensor, row, column));
}

std::string data_of(int tensor, int inputs, int outputs, std::uint32_t type) {
  std::string bytes;
  for (int row = 0; row < outputs; ++row) {
    for (int column = 0; column < inputs; ++column) {
      const bool begins = column % 32 == 0;
      if (type == GgufWriter::kQ8_0 && begins) bytes += raw(k::from_float<k::Fp16>(kScale));
      if (type == GgufWriter::kQ8_0) {
        bytes += raw(static_cast<std::int8_t>(code(tensor, row, column)));
      } else if (type == GgufWriter::kF16) {
        bytes += raw(k::from_float<k::Fp16>(value(tensor, row, column)));
      } else if (type == GgufWriter::kQ5_0 && begins) {
        bytes += std::string(22, '\0');
      } else if (type == GgufWriter::kF32) {
        bytes += raw(value(tensor, row, column));
      }
    }
  }
  return bytes;
}

/// Numbers of the tensors, by which their values differ.
enum Tensor {
  embedding,
  query,
  key,
  attention_value,
  attention_output,
  gate,
  up,
  down,
  head,
  norm
};

struct FileOptions {
  std::string architecture = "llama";
  std::uint32_t attention = GgufWriter::kF16;
  std::uint32_t block = GgufWriter::kF16;
  std::uint32_t head = GgufWriter::kF16;
  bool tied = false;
};

std::string file_of(const FileOptions& options) {
  GgufWriter w;
  const std::string& name = options.architecture;
  w.string("general.architecture", name);
  w.number(name + ".context_length", 64);
  w.number(name + ".embedding_length", kHidden);
  w.number(name + ".block_count", 1);
  w.number(name + ".feed_forward_length", kFfn);
  w.number(name + ".attention.head_count", kHeads);
  w.number(name + ".attention.head_count_kv", 1);
  w.number(name + ".attention.key_length", kHeadDim);
  w.number(name + ".attention.value_length", kHeadDim);
  w.real(name + ".rope.freq_base", 20000);
  w.real(name + ".attention.layer_norm_rms_epsilon", 0.5F);
  w.number(name + ".vocab_size", kVocabulary);
  const auto matrix = [&](const std::string& tensor, Tensor number, int inputs, int outputs,
                          std::uint32_t type) {
    w.tensor(tensor + ".weight", {inputs, outputs}, type, data_of(number, inputs, outputs, type));
  };
  const auto gains = [&](const std::string& tensor) {
    w.tensor(tensor + ".weight", {kHidden}, GgufWriter::kF32,
             data_of(norm, kHidden, 1, GgufWriter::kF32));
  };
  matrix("token_embd", embedding, kHidden, kVocabulary, options.head);
  gains("blk.0.attn_norm");
  matrix("blk.0.attn_q", query, kHidden, kHeads * kHeadDim, options.attention);
  matrix("blk.0.attn_k", key, kHidden, kHeadDim, options.attention);
  matrix("blk.0.attn_v", attention_value, kHidden, kHeadDim, options.attention);
  matrix("blk.0.attn_output", attention_output, kHeads * kHeadDim, kHidden, options.attention);
  gains("blk.0.ffn_norm");
  matrix("blk.0.ffn_gate", gate, kHidden, kFfn, options.block);
  matrix("blk.0.ffn_up", up, kHidden, kFfn, options.block);
  matrix("blk.0.ffn_down", down, kFfn, kHidden, options.block);
  gains("output_norm");
  if (!options.tied) matrix("output", head, kHidden, kVocabulary, options.head);
  return w.bytes();
}

/// What a CPU has of a file, in fp32 where it is not quantised.
struct Loaded {
  TemporaryFolder folder{};
  std::unique_ptr<k::Backend> cpu = k::make_cpu_backend(1);
  GgufFile file{};
  runtime::RunnableModel model{};
  runtime::DeviceWeights weights{};

  explicit Loaded(const FileOptions& options)
      : file(read_gguf(folder.write("model.gguf", file_of(options)))),
        model(runtime::runnable_model(to_transformer(file), k::Element::fp32, std::nullopt)) {
    runtime::take_formats(file, model);
    weights = runtime::file_weights(*cpu, model, file);
  }

  const runtime::LayerWeights& layer() const { return weights.layers.front(); }

  /// [outputs, inputs]; a quantised matrix by its products with the unit vectors, which are
  /// quantised without loss but for the rounding of 1 / 127.
  std::vector<float> values(const runtime::Matrix& matrix) const {
    const auto inputs = static_cast<std::size_t>(matrix.inputs);
    std::vector<float> all(static_cast<std::size_t>(matrix.outputs) * inputs);
    for (const runtime::MatrixPart& part : matrix.parts) {
      float* to = all.data() + static_cast<std::size_t>(part.first) * inputs;
      const auto outputs = static_cast<std::size_t>(part.outputs);
      if (!part.format) {
        std::copy_n(part.data.as<float>(), outputs * inputs, to);
        continue;
      }
      std::vector<float> unit(inputs * inputs);
      for (std::size_t i = 0; i < inputs; ++i) unit[i * inputs + i] = 1;
      std::vector<float> product(inputs * outputs);
      k::QuantizedGemm gemm{
          .shape = {.format = *part.format, .n = part.outputs, .k = matrix.inputs},
          .element = k::Element::fp32,
          .m = matrix.inputs,
          .input = unit.data(),
          .weight = part.data.data(),
          .output = product.data()};
      const k::Memory workspace(*cpu, k::workspace_bytes(gemm));
      gemm.workspace = workspace.data();
      cpu->launch_quantized(gemm);
      for (std::size_t row = 0; row < outputs; ++row) {
        for (std::size_t i = 0; i < inputs; ++i) to[row * inputs + i] = product[i * outputs + row];
      }
    }
    return all;
  }
};

/// Row `row` of the matrix is the tensor's row `in_file`.
void expect_row(const std::vector<float>& values, int inputs, int row, int tensor, int in_file) {
  for (int column = 0; column < inputs; ++column) {
    const float expected = value(tensor, in_file, column);
    EXPECT_NEAR(values[static_cast<std::size_t>(row * inputs + column)], expected,
                std::abs(expected) * 1e-6F)
        << "row " << row << " of tensor " << tensor << ", column " << column;
  }
}

/// Rows of queries and keys of architecture llama: of each head, 2 i and 2 i + 1 of the file are
/// the rotated pair i and i + 8.
void expect_rotated(const std::vector<float>& values, int first, int heads, int tensor) {
  for (int h = 0; h < heads; ++h) {
    for (int i = 0; i < kHeadDim / 2; ++i) {
      const int head_row = h * kHeadDim;
      expect_row(values, kHidden, first + head_row + i, tensor, head_row + 2 * i);
      expect_row(values, kHidden, first + head_row + i + kHeadDim / 2, tensor,
                 head_row + 2 * i + 1);
    }
  }
}

void expect_in_order(const std::vector<float>& values, int inputs, int first, int rows,
                     int tensor) {
  for (int row = 0; row < rows; ++row) expect_row(values, inputs, first + row, tensor, row);
}

void expect_layer_of_llama(const Loaded& loaded) {
  const std::vector<float> qkv = loaded.values(loaded.layer().qkv);
  expect_rotated(qkv, 0, kHeads, query);
  expect_rotated(qkv, kHeads * kHeadDim, 1, key);
  expect_in_order(qkv, kHidden, (kHeads + 1) * kHeadDim, kHeadDim, attention_value);
  expect_in_order(loaded.values(loaded.layer().attention_output), kHeads * kHeadDim, 0, kHidden,
                  attention_output);
  const std::vector<float> block_in = loaded.values(loaded.layer().block_in);
  expect_in_order(block_in, kHidden, 0, kFfn, gate);
  expect_in_order(block_in, kHidden, kFfn, kFfn, up);
  expect_in_order(loaded.values(loaded.layer().block_out), kFfn, 0, kHidden, down);
}

TEST(FileWeights, HoldEachTensorInItsPlace) {
  const Loaded loaded({});
  expect_layer_of_llama(loaded);
  expect_in_order(loaded.values(loaded.weights.lm_head), kHidden, 0, kVocabulary, head);
  const auto* table = loaded.weights.embedding.as<float>();
  expect_in_order({table, table + kVocabulary * kHidden}, kHidden, 0, kVocabulary, embedding);
  for (const k::Memory* gains :
       {&loaded.layer().attention_norm, &loaded.layer().block_norm, &loaded.weights.final_norm}) {
    const auto* row = gains->as<float>();
    expect_row({row, row + kHidden}, kHidden, 0, norm, 0);
  }
}

TEST(FileWeights, KeepQuantisedTensorsAsTheyAreStored) {
  const Loaded loaded({.attention = GgufWriter::kQ8_0, .block = GgufWriter::kQ8_0});
  EXPECT_EQ(loaded.layer().qkv.parts.front().format, k::QuantizedFormat::q8_0);
  EXPECT_EQ(loaded.layer().block_out.parts.front().format, k::QuantizedFormat::q8_0);
  EXPECT_EQ(loaded.weights.lm_head.parts.front().format, std::nullopt);
  expect_layer_of_llama(loaded);
}

TEST(FileWeights, AreReadTensorByTensor) {
  const Loaded loaded({.block = GgufWriter::kQ8_0, .head = GgufWriter::kQ8_0});
  EXPECT_EQ(loaded.layer().qkv.parts.front().format, std::nullopt);
  EXPECT_EQ(loaded.layer().block_in.parts.front().format, k::QuantizedFormat::q8_0);
  EXPECT_EQ(loaded.weights.lm_head.parts.front().format, k::QuantizedFormat::q8_0);
  expect_layer_of_llama(loaded);
}

TEST(FileWeights, OfQwenAreInTheOrderOfHalvesAlready) {
  const Loaded loaded({.architecture = "qwen2"});
  const std::vector<float> qkv = loaded.values(loaded.layer().qkv);
  expect_in_order(qkv, kHidden, 0, kHeads * kHeadDim, query);
  expect_in_order(qkv, kHidden, kHeads * kHeadDim, kHeadDim, key);
}

TEST(FileWeights, OfATiedHeadAreTheEmbedding) {
  const Loaded loaded({.tied = true});
  expect_in_order(loaded.values(loaded.weights.lm_head), kHidden, 0, kVocabulary, embedding);
}

TEST(FileWeights, BringTheFilesNormAndRotation) {
  const Loaded loaded({});
  EXPECT_FLOAT_EQ(loaded.model.norm_epsilon, 0.5F);
  EXPECT_DOUBLE_EQ(loaded.model.rope_base, 20000);
}

TEST(FileWeights, OfAnotherSizeAreRefusedByName) {
  Loaded loaded({});
  loaded.model.vocabulary = kVocabulary - 1;
  try {
    runtime::file_weights(*loaded.cpu, loaded.model, loaded.file);
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("'token_embd.weight' has 1280 elements"), std::string::npos)  // 40 x 32
        << message;
    EXPECT_NE(message.find("the model has 1248"), std::string::npos) << message;  // 39 x 32
  }
}

std::string why_not(const k::Backend& backend, const FileOptions& options) {
  const TemporaryFolder folder;
  const GgufFile file = read_gguf(folder.write("model.gguf", file_of(options)));
  const auto model = runtime::runnable_model(to_transformer(file), k::Element::fp32, std::nullopt);
  return runtime::why_not_as_stored(backend, file, model);
}

TEST(FileWeights, WithoutAKernelAreNamed) {
  const auto cpu = k::make_cpu_backend(1);
  EXPECT_EQ(why_not(*cpu, {.block = GgufWriter::kQ8_0}), "");
  EXPECT_EQ(why_not(*cpu, {.block = GgufWriter::kQ5_0}),
            "no kernel for q5_0 ('blk.0.ffn_up.weight')");
}

/// The reference backend multiplies no quantised weights, as GPUs do not.
TEST(FileWeights, AreRefusedByDevicesThatMultiplyNoQuantisedOnes) {
  const ReferenceBackend reference;
  EXPECT_EQ(why_not(reference, {}), "");
  EXPECT_EQ(why_not(reference, {.block = GgufWriter::kQ8_0}),
            "reference multiplies no quantised weights");
}

}  // namespace
}  // namespace roofcast::test
