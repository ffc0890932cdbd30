// Attention blocks that were timed whole: their shapes, and how they enter a step.
#include "model/step/attention_block.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "model/architecture/requantise.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "model/step/timed_block.hpp"
#include "tests/model/curves/measured_cases.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

constexpr double kLayers = 61;

Transformer deepseek_v3() { return load_model("deepseek-v3"); }

BlockShapes shapes_of(const Transformer& model, std::size_t layer, int tensor) {
  const auto shapes = block_shapes(model.layers.at(layer), model.hidden, model.activation,
                                   {.tensor = tensor}, DType::bf16);
  return shapes.value();
}

// On one of eight ranks, 16 heads: qkv_a 7168 x (1536 + 576), q_b 1536 x 16 x 192, kv_b 512 x 16 x
// 256, o 16 x 128 x 7168.
TEST(AttentionBlock, ConsistsOfTheProjectionsOfOneRank) {
  const BlockShapes shapes = shapes_of(deepseek_v3(), 5, 8);
  EXPECT_EQ(shapes.decode.projections, 15138816 + 4718592 + 2097152 + 14680064);
  EXPECT_EQ(shapes.decode.inputs, 7168);
  EXPECT_EQ(shapes.decode.query_heads, 16);
  EXPECT_EQ(shapes.decode.head_dim, 576);
  EXPECT_EQ(shapes.decode.value_dim, 512);
  EXPECT_EQ(shapes.decode.format, "fp8_block");
  EXPECT_EQ(shapes.prefill.kv_heads, 16);
  EXPECT_EQ(shapes.prefill.head_dim, 192);
  EXPECT_EQ(shapes.prefill.entry, 576);
}

// The indexer is on every rank: 1536 x 64 x 128, 7168 x 128, 7168 x 64.
TEST(AttentionBlock, IncludesTheIndexerOfSparseAttention) {
  const BlockShapes shapes = shapes_of(load_model("deepseek-v3.2"), 5, 8);
  EXPECT_EQ(shapes.decode.projections - shapes_of(deepseek_v3(), 5, 8).decode.projections,
            12582912 + 917504 + 458752);
  EXPECT_EQ(shapes.decode.window, 2048);
  EXPECT_EQ(shapes.decode.index_heads, 64);
}

// Layers of DeepSeek-V4-Pro: 128 tokens an entry first, then every other one 4.
TEST(AttentionBlock, HasTheCompressionOfItsLayer) {
  const Transformer model = load_model("deepseek-v4-pro");
  const BlockShapes whole = shapes_of(model, 0, 8);
  EXPECT_EQ(whole.decode.compression, 128);
  EXPECT_EQ(whole.decode.window, 0);
  EXPECT_EQ(whole.decode.local_tokens, 128);
  EXPECT_EQ(whole.decode.cache, DType::fp8);
  const BlockShapes selecting = shapes_of(model, 2, 8);
  EXPECT_EQ(selecting.decode.compression, 4);
  EXPECT_EQ(selecting.decode.window, 1024);
  EXPECT_FALSE(
      block_shapes(load_model("llama-3.1-8b").layers[0], 4096, DType::bf16, {}, DType::bf16));
}

// 8 sequences of 1,024 tokens, 16 heads: 36,634,624 matrix elements of 8 bits and a scale of 32 for
// 128 x 128 of them, and 8 x 1,023 cached entries of 576 x 2 bytes; 2 FLOPs an element and
// token, and 2 x 16 x (576 + 512) for each of 8 x 1,024 pairs.
TEST(AttentionBlock, HasTheWorkOfAllItsParts) {
  const BlockShapes shapes = shapes_of(deepseek_v3(), 5, 8);
  const ShapeWork work = shape_work(shapes.decode, 8, 1024, 100);
  const double matrices = 36634624;
  EXPECT_DOUBLE_EQ(work.stored_bytes.value, matrices * (1 + 4 / 16384.0) + 8 * 1023 * 576 * 2.0);
  EXPECT_DOUBLE_EQ(work.flops.value, 2 * 8 * matrices + 8 * 1024 * 2 * 16 * 1088.0);
  EXPECT_DOUBLE_EQ(work.bytes.value - work.stored_bytes.value, 8 * 2 * 7168 * 2.0);
}

// Three sequences of 8,192 tokens, 4 tokens an entry: 1,024 of 2,048 entries are selected, and 128
// tokens kept beside them; the indexer reads all 2,048 - 1/4 keys of 128 bytes.
TEST(AttentionBlock, ReadsWhatTheIndexerSelects) {
  const OperatorShape shape = shapes_of(load_model("deepseek-v4-pro"), 2, 8).decode;
  OperatorShape without = shape;
  without.index_heads = 0;
  without.index_dim = 0;
  const double keys = 3 * 8191 / 4.0 * 128;
  EXPECT_NEAR(
      (shape_work(shape, 3, 8192, 100).bytes - shape_work(without, 3, 8192, 100).bytes).value, keys,
      1e-6);
  const double entries = 3 * (1024 + 128) * 512.0;  // fp8
  const double matrices = static_cast<double>(shape.projections) * (1 + 4 / 16384.0);
  EXPECT_NEAR(shape_work(without, 3, 8192, 100).stored_bytes.value, matrices + entries, 1e-3);
}

/// A curve whose time is the same at every size of a grid.
MeasuredCurve flat(const OperatorShape& shape, double microseconds) {
  MeasuredCurve curve{.shape = shape, .kernel = "whole block, vLLM 0.24.0"};
  curve.terms.floor = Seconds{microseconds * 1e-6};
  for (const double x : {1.0, 8.0, 64.0, 1024.0}) {
    for (const double y : {1.0, 1024.0, 65536.0}) {
      curve.points.push_back(
          {.x = x, .y = y, .time = curve.terms.floor, .relative_spread = 0.01, .samples = 1});
    }
  }
  return curve;
}

/// `model` on eight ranks whose blocks take this many microseconds.
RooflineStepTime step_with(double decode, double prefill, const std::string& engine = "vllm-0.24",
                           const Transformer& model = deepseek_v3()) {
  Deployment deployment = deployment_of(model, round_gpu(), {.tensor = 8});
  deployment.engine.kv_cache_dtype = DType::bf16;
  deployment.engine.version = engine;
  const BlockShapes shapes = shapes_of(deployment.model, 5, 8);
  EXPECT_EQ(shapes.decode.format, shapes_of(deployment.model, 0, 8).decode.format);
  deployment.gpu.measured.emplace();
  deployment.gpu.measured->curves = {flat(shapes.decode, decode), flat(shapes.prefill, prefill)};
  return RooflineStepTime(deployment);
}

double total_of(const StepEstimate& step) {
  double total = 0;
  for (const OperatorEstimate& op : step.operators) total += op.time.value;
  return total;
}

// The round GPU reads 36.6 MB in 37 us and computes 64 tokens' 5 GFLOP in 50 us.
TEST(AttentionBlock, TakesItsOwnTimeInsteadOfThatOfItsParts) {
  const Transformer model = deepseek_v3();
  const RooflineStepTime fast = step_with(1000, 4000);
  const RooflineStepTime slow = step_with(1700, 5000);
  const StepBatch decode = decode_batch(model, 8, 1023);
  EXPECT_NEAR((slow.seconds(decode) - fast.seconds(decode)).value, kLayers * 700e-6, 1e-9);
  const StepBatch prefill = prefill_batch(1, 64);
  EXPECT_NEAR((slow.seconds(prefill) - fast.seconds(prefill)).value, kLayers * 1000e-6, 1e-9);
  EXPECT_NEAR(total_of(slow.explain(decode)) - total_of(fast.explain(decode)), kLayers * 700e-6,
              1e-9);
}

TEST(AttentionBlock, GivesItsSourceToItsParts) {
  const StepEstimate step = step_with(1000, 4000).explain(decode_batch(deepseek_v3(), 8, 1023));
  double block = 0;
  for (const OperatorEstimate& op : step.operators) {
    if (op.provenance != Provenance::measured) continue;
    block += op.time.value;
    EXPECT_EQ(op.source, "vLLM 0.24.0") << op.work.name;
    EXPECT_TRUE(op.work.name == "decode_attention" || op.work.name == "qkv_a_proj" ||
                op.work.name == "q_b_proj" || op.work.name == "kv_b_proj" ||
                op.work.name == "o_proj" || op.work.name == "latent_norms" ||
                op.work.name == "rope" || op.work.name == "kv_write" ||
                op.work.name == "quantise_activations")
        << op.work.name;
  }
  EXPECT_NEAR(block, kLayers * 1000e-6, 1e-9);
}

// Operators around attention in a block are the engine's own.
TEST(AttentionBlock, OfAnotherEngineSaysNothing) {
  const StepBatch decode = decode_batch(deepseek_v3(), 8, 1023);
  EXPECT_EQ(step_with(1000, 4000, "sglang-0.5").seconds(decode),
            step_with(2000, 4000, "sglang-0.5").seconds(decode));
}

/// DeepSeek-V3 with latent attention in 16 bits but for the output projection, in `output`.
Transformer with_output_in(const WeightFormat& output) {
  Transformer model = deepseek_v3();
  for (Layer& layer : model.layers) {
    layer.mixer_format = plain_format(DType::bf16);
    layer.output_format = output;
  }
  return model;
}

// The block was timed with all of its projections in 16 bits. With the output projection in 4 bits
// it takes as much less as the projection by itself: on a rank 7168 x 2048 weights, of which the
// round GPU reads 14.7 million at 2 bytes less 4.15625 bits each in 21.7 us of bandwidth.
TEST(AttentionBlock, HasAProjectionOfAnotherFormatInThatFormatsTime) {
  const Transformer plain = with_output_in(plain_format(DType::bf16));
  const Transformer mixed = with_output_in(weight_format_named("awq"));
  const StepBatch decode = decode_batch(plain, 8, 1023);
  const auto saved = [&](const std::string& engine) {
    return (step_with(1000, 4000, engine, plain).seconds(decode) -
            step_with(1000, 4000, engine, mixed).seconds(decode))
               .value /
           kLayers;
  };
  const double bytes = 7168.0 * 2048 * (2 - 4.15625 / 8);
  EXPECT_GE(saved("vllm-0.24"), bytes / 1e12);
  EXPECT_NEAR(saved("vllm-0.24"), saved("sglang-0.5"), 1e-9);  // whose blocks were not timed
  const RooflineStepTime step = step_with(1000, 4000, "vllm-0.24", mixed);
  EXPECT_NEAR(total_of(step.explain(decode)), step.seconds(decode).value, 1e-9);
  for (const OperatorEstimate& op : step.explain(decode).operators) {
    if (op.work.name == "o_proj") {
      EXPECT_EQ(op.provenance, Provenance::extended);
    }
  }
}

// Layers that have it in one format and layers that have it in another are one block.
TEST(AttentionBlock, HasTheProjectionsOfSomeLayersInAnotherFormat) {
  const Transformer plain = with_output_in(plain_format(DType::bf16));
  const Transformer all = with_output_in(weight_format_named("awq"));
  Transformer some = all;
  constexpr std::size_t kSome = 20;
  for (std::size_t i = kSome; i < some.layers.size(); ++i) {
    some.layers[i].output_format = plain.layers[i].output_format;
  }
  const auto time = [&](const Transformer& model, const StepBatch& batch) {
    return step_with(1000, 4000, "vllm-0.24", model).seconds(batch).value;
  };
  const double part = static_cast<double>(kSome) / kLayers;
  for (const StepBatch& batch : {decode_batch(plain, 8, 1023), prefill_batch(1, 64)}) {
    EXPECT_NEAR(time(some, batch),
                time(plain, batch) + part * (time(all, batch) - time(plain, batch)), 1e-9);
    EXPECT_LT(time(all, batch), time(plain, batch));
  }
}

// Both phases share one pass over the projections: less than both blocks, more than either.
TEST(AttentionBlock, SharesItsProjectionsInAMixedStep) {
  const Transformer model = deepseek_v3();
  const RooflineStepTime step = step_with(1000, 4000);
  StepBatch mixed = decode_batch(model, 8, 1023);
  mixed.prefills = {{.new_tokens = 64}};
  double block = 0;
  for (const OperatorEstimate& op : step.explain(mixed).operators) {
    if (op.provenance <= Provenance::extended) block += op.time.value;
  }
  EXPECT_GT(block, kLayers * 4000e-6);
  EXPECT_LT(block, kLayers * 5000e-6);
}

}  // namespace
}  // namespace roofcast
