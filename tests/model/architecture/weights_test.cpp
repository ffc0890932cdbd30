#include "model/architecture/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "model/architecture/attention_flops.hpp"
#include "model/architecture/requantise.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

const Weight& find(const std::vector<Weight>& weights, const std::string& name) {
  const auto same = [&](const Weight& weight) { return weight.name == name; };
  const auto found = std::find_if(weights.begin(), weights.end(), same);
  if (found == weights.end()) throw std::runtime_error("no weight " + name);
  return *found;
}

std::vector<Weight> weights_of(const Transformer& model, std::size_t layer) {
  return layer_weights(model.layers[layer], model.hidden, model.activation);
}

// All models below, for properties that hold for every model.
std::vector<Transformer> all_shapes() {
  return {test::llama_3_1_8b(),    test::llama_2_70b(),    test::qwen2_5_7b(),
          test::mixtral_8x7b(),    test::deepseek_v3_2(),  test::gpt_oss_20b(),
          test::qwen3_next_80b(),  test::nemotron_h_56b(), test::nemotron_3_nano(),
          test::gemma_3_27b(),     test::llama_4_scout(),  test::gpt2_small(),
          test::minimax_text_01(), test::llama_3_2_1b()};
}

TEST(ParameterCounts, DenseModelsMatchTheirCheckpoints) {
  // Llama-3.1-8B per layer: qkv 4096 * (32 + 16) * 128 = 25,165,824; o 16,777,216; three of
  // 4096 * 14336 = 176,160,768; norms 8,192: 218,112,000. Times 32, two embeddings of
  // 128256 * 4096 and the final norm: 8,030,261,248, half of the index's 16,060,522,496 bytes.
  EXPECT_EQ(count_parameters(test::llama_3_1_8b()).total, 8'030'261'248);
  // Index of Llama-3.1-70B: 141,107,412,992 bytes.
  EXPECT_EQ(count_parameters(test::llama_3_1_70b()).total, 141'107'412'992 / 2);
  // Same layers with a vocabulary of 32000: 2 * 96256 * 8192 fewer.
  EXPECT_EQ(count_parameters(test::llama_2_70b()).total,
            70'553'706'496 - 2 * (128'256 - 32'000) * 8192LL);
  // Qwen2.5-7B with q, k and v biases: 15,231,233,024 bytes in its index.
  EXPECT_EQ(count_parameters(test::qwen2_5_7b()).total, 15'231'233'024 / 2);
  // Qwen3-32B: 64 * (5120 * 80 * 128 + 8192 * 5120 + 256 + 3 * 5120 * 25600 + 2 * 5120)
  // + 5120 + 2 * 151936 * 5120.
  EXPECT_EQ(count_parameters(test::qwen3_32b()).total, 32'762'123'264);
  // Gemma-3-27B, text: 62 * (5376 * 64 * 128 + 4096 * 5376 + 256 + 3 * 5376 * 21504 + 4 * 5376)
  // + 5376 + 262208 * 5376, the head tied.
  EXPECT_EQ(count_parameters(test::gemma_3_27b()).total, 27'009'346'304);
}

TEST(ParameterCounts, TiedHeadsAreCountedOnce) {
  // Llama-3.2-1B: 16 * (2048 * 48 * 64 + 2048 * 2048 + 3 * 2048 * 8192 + 4096) + 2048
  // + 128256 * 2048 = 973,146,112 + 262,668,288.
  const ParameterCount count = count_parameters(test::llama_3_2_1b());
  EXPECT_EQ(count.total, 1'235'814'400);
  // The table multiplies as the LM head, so the FLOP-relevant figure keeps it.
  EXPECT_EQ(count.active_without_input_embedding, count.total);
}

TEST(ParameterCounts, Gpt2HasPositionsAndBiases) {
  // 12 * (768 * 2304 + 2304 + 768 * 768 + 768 + 2 * 768 * 3072 + 3072 + 768 + 4 * 768)
  // + (50257 + 1024) * 768 + 2 * 768 = 124,439,808 (GPT-2 small).
  const ParameterCount count = count_parameters(test::gpt2_small());
  EXPECT_EQ(count.total, 124'439'808);
  EXPECT_EQ(count.active_without_input_embedding, 124'439'808 - 1024 * 768);
}

TEST(ParameterCounts, MixtureOfExpertsModelsMatch) {
  // Mixtral-8x7B: 93,405,585,408 bytes in its index; two of eight experts active:
  // total - 32 * 6 * 3 * 4096 * 14336.
  const ParameterCount mixtral = count_parameters(test::mixtral_8x7b());
  EXPECT_EQ(mixtral.total, 93'405'585'408 / 2);
  EXPECT_EQ(mixtral.active, mixtral.total - 32LL * 6 * 3 * 4096 * 14336);
  EXPECT_EQ(mixtral.active_without_input_embedding, mixtral.active - 32000 * 4096);
  // Qwen3-30B-A3B: 61,064,245,248 bytes; eight of 128 experts of 768: published 3.3B.
  const ParameterCount qwen = count_parameters(test::qwen3_30b_a3b());
  EXPECT_EQ(qwen.total, 61'064'245'248 / 2);
  EXPECT_EQ(qwen.active, qwen.total - 48LL * 120 * 3 * 2048 * 768);
  // Llama-4 Scout, text only: the repository's 108,641,793,536 less vision tower and projector.
  EXPECT_EQ(count_parameters(test::llama_4_scout()).total, 108'641'793'536 - 871'932'416);
}

TEST(ParameterCounts, GptOssMatchesItsModelCard) {
  // Per layer: qkv 2880 * 5120 + 5120; o 4096 * 2880 + 2880; sinks 64; router 2880 * 32 + 32;
  // 32 experts of 2880 * 5760 + 5760 + 2880 * 2880 + 2880; norms 5760: 823,186,976, times 24,
  // plus 2 * 201088 * 2880 + 2880. The card states 20.91B in total and 3.61B active.
  const std::int64_t attention = 2880 * 5120 + 5120 + 4096 * 2880 + 2880 + 64;
  const std::int64_t expert = 2880 * 5760 + 5760 + 2880 * 2880 + 2880;
  const std::int64_t others = 2880 * 32 + 32 + 2 * 2880;
  const std::int64_t ends = 2 * 201088LL * 2880 + 2880;
  const ParameterCount count = count_parameters(test::gpt_oss_20b());
  EXPECT_EQ(count.total, 24 * (attention + others + 32 * expert) + ends);
  EXPECT_EQ(count.total, 20'914'757'184);
  EXPECT_EQ(count.active_without_input_embedding,
            24 * (attention + others + 4 * expert) + 201088LL * 2880 + 2880);
  EXPECT_NEAR(static_cast<double>(count.active_without_input_embedding) / 1e9, 3.61, 0.005);
}

TEST(ParameterCounts, LatentAttentionModelsMatch) {
  // DeepSeek-V3 attention: 7168 * 1536 + 1536 + 1536 * 128 * 192 + 7168 * 576 + 512
  // + 512 * 128 * 256 + 128 * 128 * 7168 = 187,107,328. Dense layer FFN 3 * 7168 * 18432, MoE
  // layer 257 * 3 * 7168 * 2048 + 256 * 7168 + 256; norms 2 * 7168; ends 2 * 129280 * 7168 + 7168.
  const std::int64_t attention = 7168LL * 1536 + 1536 + 1536LL * 128 * 192 + 7168LL * 576 + 512 +
                                 512LL * 128 * 256 + 128LL * 128 * 7168;
  const std::int64_t moe = 257LL * 3 * 7168 * 2048 + 256 * 7168 + 256;
  const std::int64_t expected =
      61 * (attention + 2 * 7168) + 3 * 3LL * 7168 * 18432 + 58 * moe + 2 * 129280LL * 7168 + 7168;
  EXPECT_EQ(count_parameters(test::deepseek_v3()).total, expected);
  EXPECT_EQ(expected, 671'026'419'200);
  // The indexer of V3.2: 1536 * 8192 + 7168 * 128 + 2 * 128 + 7168 * 64 in each of 61 layers.
  const std::int64_t indexer = 1536LL * 8192 + 7168 * 128 + 2 * 128 + 7168 * 64;
  EXPECT_EQ(count_parameters(test::deepseek_v3_2()).total, expected + 61 * indexer);
}

TEST(ParameterCounts, RecurrentMixersMatch) {
  // Gated delta net of Qwen3-Next: 2048 * (2 * 2048 + 2 * 4096) + 2048 * 64 + 8192 * 4 + 64 + 128
  // + 4096 * 2048 = 33,718,464.
  const Transformer next = test::qwen3_next_80b();
  std::int64_t mixer = 0;
  for (const Weight& weight : weights_of(next, 0)) {
    if (weight.part == Part::state_mixer) mixer += weight.parameters();
  }
  EXPECT_EQ(mixer, 2048LL * 12288 + 2048 * 64 + 8192 * 4 + 64 + 128 + 4096LL * 2048);
  EXPECT_EQ(count_parameters(next).total, 79'674'391'296);
  EXPECT_EQ(count_parameters(next).active, 3'874'929'408);
  EXPECT_EQ(count_parameters(test::qwen3_6_35b_a3b()).total, 34'660'610'688);

  // Mamba-2 of Nemotron-H-56B: 8192 * (2 * 16384 + 4096 + 256) + 20480 * 5 + 3 * 256 + 16384
  // + 16384 * 8192.
  const Transformer nemotron = test::nemotron_h_56b();
  mixer = 0;
  for (const Weight& weight : weights_of(nemotron, 0)) {
    if (weight.part == Part::state_mixer) mixer += weight.parameters();
  }
  EXPECT_EQ(mixer, 8192LL * 37120 + 20480 * 5 + 3 * 256 + 16384 + 16384LL * 8192);
  EXPECT_EQ(count_parameters(nemotron).total, 56'324'350'464);
  EXPECT_EQ(count_parameters(test::nemotron_3_nano()).total, 31'577'940'288);
  EXPECT_EQ(count_parameters(test::nemotron_3_nano()).active_without_input_embedding,
            3'227'754'816);
}

TEST(ParameterCounts, LightningAttentionModelIsAsPublished) {
  // MiniMax-Text-01 (arXiv 2501.08313) states 456B in total and 45.9B active; the active figure
  // leaves out both embeddings of 200064 * 6144.
  const ParameterCount count = count_parameters(test::minimax_text_01());
  EXPECT_NEAR(static_cast<double>(count.total) / 1e9, 456.0, 0.5);
  const std::int64_t active = count.active_without_input_embedding - 200064LL * 6144;
  EXPECT_NEAR(static_cast<double>(active) / 1e9, 45.9, 0.05);
}

TEST(ParameterCounts, LowRankGatesOfKimiDeltaAttention) {
  // Kimi Linear 48B-A3B: hidden 2304, 32 heads of 128, gates of rank 128. Projections
  // 2304 * 3 * 4096, beta 2304 * 32, gates 2 * (2304 * 128 + 128 * 4096), convolutions 3 * 4096 *
  // 4, A 32, dt bias 4096, norm 128, output 4096 * 2304.
  Layer layer;
  layer.mixer = GatedDeltaNet{.key_heads = 32,
                              .value_heads = 32,
                              .key_dim = 128,
                              .value_dim = 128,
                              .conv_kernel = 4,
                              .gate_rank = 128};
  std::int64_t total = 0;
  for (const Weight& weight : layer_weights(layer, 2304, DType::bf16)) {
    total += weight.parameters();
  }
  EXPECT_EQ(total, 2304LL * 12288 + 2304 * 32 + 2 * (2304 * 128 + 128 * 4096) + 12288 * 4 + 32 +
                       4096 + 128 + 4096 * 2304);
}

TEST(ParameterCounts, SharedCachesAndSharedValuesDropTheirProjections) {
  Layer layer;
  Attention attention = test::grouped_query(8, 2, 64);
  const auto qkv_outputs = [&](const Attention& a) {
    layer.mixer = a;
    return find(layer_weights(layer, 512, DType::bf16), "qkv_proj").outputs;
  };
  EXPECT_EQ(qkv_outputs(attention), (8 + 2 + 2) * 64);
  attention.keys_are_values = true;
  EXPECT_EQ(qkv_outputs(attention), (8 + 2) * 64);
  attention.reuses_earlier_cache = true;
  EXPECT_EQ(qkv_outputs(attention), 8 * 64);
}

TEST(ParameterCounts, LowRankQueriesAndGroupedOutputs) {
  // q: 1024 * 256 + 256 + 256 * 16 * 64; kv (one head, keys are values): 1024 * 64;
  // output in 4 groups of 4 heads, rank 128 each: 4 * (256 * 128), then 512 * 1024.
  Layer layer;
  Attention attention = test::grouped_query(16, 1, 64);
  attention.keys_are_values = true;
  attention.q_lora_rank = 256;
  attention.output_lora_rank = 128;
  attention.output_groups = 4;
  layer.mixer = attention;
  std::int64_t total = 0;
  for (const Weight& weight : layer_weights(layer, 1024, DType::bf16)) {
    total += weight.parameters();
  }
  EXPECT_EQ(total, 1024 * 256 + 256 + 256 * 1024 + 1024 * 64 + 4 * 256 * 128 + 512 * 1024);
}

TEST(ParameterCounts, ExtraWeightsAndPerLayerEmbeddingsCount) {
  Transformer model = test::llama_3_2_1b();
  const std::int64_t before = count_parameters(model).total;
  model.per_layer_embedding = 256;
  model.extra.push_back({.name = "per_layer_projection", .outputs = 16 * 256, .inputs = 2048});
  for (Layer& layer : model.layers) {
    layer.extra.push_back({.name = "per_layer_gate", .outputs = 256, .inputs = 2048});
  }
  EXPECT_EQ(count_parameters(model).total,
            before + 128256LL * 16 * 256 + 16 * 256 * 2048 + 16 * 256 * 2048);
}

TEST(Shards, HeadsAreDividedAndKvHeadsReplicated) {
  const Weight qkv = find(weights_of(test::llama_3_1_8b(), 0), "qkv_proj");
  EXPECT_EQ(qkv.outputs, (32 + 2 * 8) * 128);
  EXPECT_EQ(shard(qkv, {.tensor = 8}).outputs, (4 + 2 * 1) * 128);
  // 16 ranks: two query heads each, and a whole KV head still.
  EXPECT_EQ(shard(qkv, {.tensor = 16}).outputs, (2 + 2 * 1) * 128);
}

TEST(Shards, DivisionsThatDoNotComeOutTakeTheCeiling) {
  // Qwen2.5-7B: 28 query and 4 KV heads over 3 ranks: 10 and 2; FFN 18944 / 3 = 6314.67.
  const std::vector<Weight> weights = weights_of(test::qwen2_5_7b(), 0);
  EXPECT_EQ(shard(find(weights, "qkv_proj"), {.tensor = 3}).outputs, (10 + 2 * 2) * 128);
  EXPECT_EQ(shard(find(weights, "o_proj"), {.tensor = 3}).inputs, 10 * 128);
  EXPECT_EQ(shard(find(weights, "mlp.gate_up_proj"), {.tensor = 3}).outputs, 2 * 6315);
  EXPECT_EQ(shard(find(weights, "mlp.down_proj"), {.tensor = 3}).inputs, 6315);
}

TEST(Shards, LatentDownProjectionsAreReplicatedUpProjectionsDivided) {
  const std::vector<Weight> weights = weights_of(test::deepseek_v3(), 0);
  const Parallelism eight{.tensor = 8};
  EXPECT_EQ(shard(find(weights, "qkv_a_proj"), eight).outputs, 1536 + 576);
  EXPECT_EQ(shard(find(weights, "q_b_proj"), eight).outputs, 16 * 192);
  EXPECT_EQ(shard(find(weights, "kv_b_proj"), eight).outputs, 16 * 256);
  EXPECT_EQ(shard(find(weights, "o_proj"), eight).inputs, 16 * 128);
}

TEST(Shards, ExpertsAreSpreadWholeOrSplitByWidth) {
  const std::vector<Weight> weights = weights_of(test::mixtral_8x7b(), 0);
  const Weight up = find(weights, "experts.gate_up_proj");
  const Weight down = find(weights, "experts.down_proj");
  EXPECT_EQ(shard(up, {.tensor = 4}).copies, 8);
  EXPECT_EQ(shard(up, {.tensor = 4}).outputs, 2 * 14336 / 4);
  EXPECT_EQ(shard(down, {.tensor = 4}).inputs, 14336 / 4);
  // Data-parallel ranks share the experts too: width over 2 * 2 ranks.
  EXPECT_EQ(shard(down, {.tensor = 2, .data = 2}).inputs, 14336 / 4);
  // Expert parallel over tensor * data = 6 ranks: ceil(8 / 6) = 2 whole experts.
  const Parallelism spread{.tensor = 2, .data = 3, .expert_parallel = true};
  EXPECT_EQ(shard(up, spread).copies, 2);
  EXPECT_EQ(shard(up, spread).outputs, 2 * 14336);
  EXPECT_EQ(shard(down, spread).inputs, 14336);
}

TEST(Shards, SharedExpertsSplitLikeADenseBlock) {
  const std::vector<Weight> weights = weights_of(test::deepseek_v3(), 60);
  const Parallelism spread{.tensor = 8, .expert_parallel = true};
  EXPECT_EQ(shard(find(weights, "shared_experts.gate_up_proj"), spread).outputs, 2 * 2048 / 8);
}

TEST(Shards, VocabularyIsPaddedToSixtyFourThenDivided) {
  // GPT-2: 50257 rows, padded to 50304, over two ranks.
  const Weight embedding = find(end_weights(test::gpt2_small()), "embedding");
  EXPECT_EQ(shard(embedding, {.tensor = 2}).outputs, 25152);
  EXPECT_EQ(shard(embedding, {}).outputs, 50257);
}

TEST(Shards, AllRanksTogetherHoldAtLeastTheWhole) {
  for (const Transformer& model : all_shapes()) {
    for (const int tensor : {2, 3, 4, 8, 16}) {
      for (const bool expert_parallel : {false, true}) {
        const Parallelism parallel{.tensor = tensor, .expert_parallel = expert_parallel};
        for (const Layer& layer : model.layers) {
          for (const Weight& weight : layer_weights(layer, model.hidden, model.activation)) {
            EXPECT_GE(tensor * shard(weight, parallel).parameters(), weight.parameters())
                << model.name << " " << weight.name << " TP " << tensor;
          }
        }
      }
    }
  }
}

TEST(Shards, DivisibleWeightsAreConservedExactly) {
  // Two ranks divide every head, group, expert and width of these models; only replicated weights
  // are held twice.
  for (const Transformer& model : all_shapes()) {
    for (const Layer& layer : model.layers) {
      for (const Weight& weight : layer_weights(layer, model.hidden, model.activation)) {
        const Weight part = shard(weight, {.tensor = 2});
        const bool replicated =
            weight.split == Split::replicated ||
            (weight.split == Split::expert && weight.expert_split == Split::replicated);
        EXPECT_EQ(part.parameters() * (replicated ? 1 : 2), weight.parameters())
            << model.name << " " << weight.name;
      }
    }
  }
}

TEST(WeightBytes, SixteenBitModelsAreTwoBytesAParameter) {
  const Transformer model = test::llama_3_1_8b();
  EXPECT_DOUBLE_EQ(weight_bytes(model, {}).value, 16'060'522'496.0);
}

TEST(WeightBytes, QuantisedExpertsAreCountedInTheirOwnFormat) {
  // gpt-oss-20b: 24 * 32 * 3 * 2880^2 expert weights at 4.25 bits, everything else (their biases
  // too) at 16.
  const std::int64_t experts = 24LL * 32 * 3 * 2880 * 2880;
  const double expected =
      static_cast<double>(experts) * 4.25 / 8 + static_cast<double>(20'914'757'184 - experts) * 2;
  EXPECT_DOUBLE_EQ(weight_bytes(test::gpt_oss_20b(), {}).value, expected);
}

TEST(WeightBytes, PartsSumToTheWhole) {
  for (const Transformer& model : all_shapes()) {
    double sum = 0;
    for (const PartBytes& part : weight_bytes_by_part(model, {})) sum += part.bytes.value;
    EXPECT_DOUBLE_EQ(weight_bytes(model, {}).value, sum) << model.name;
  }
}

TEST(WeightBytes, TensorParallelLeavesOnlyNormsWhole) {
  // Llama-3.1-8B over 8: everything but 65 norms of 4096 divides.
  const std::int64_t norms = 65 * 4096;
  const double expected = static_cast<double>((8'030'261'248 - norms) / 8 + norms) * 2;
  EXPECT_DOUBLE_EQ(weight_bytes(test::llama_3_1_8b(), {.tensor = 8}).value, expected);
}

TEST(WeightBytes, PipelineCountsTheFullestStage) {
  // Llama-3.1-8B in two stages of 16 layers of 218,112,000; both hold one embedding matrix, the
  // last also the final norm.
  const double expected = (16 * 218'112'000.0 + 128'256.0 * 4096 + 4096) * 2;
  EXPECT_DOUBLE_EQ(weight_bytes(test::llama_3_1_8b(), {.pipeline = 2}).value, expected);
  // A tied table is on the first and on the last stage: 16 layers of 60,821,504 in two halves.
  const double tied = (8 * 60'821'504.0 + 128'256.0 * 2048 + 2048) * 2;
  EXPECT_DOUBLE_EQ(weight_bytes(test::llama_3_2_1b(), {.pipeline = 2}).value, tied);
}

TEST(WeightBytes, ExactCheckpointBytesWinAndScaleTheShares) {
  Transformer model = test::llama_3_1_8b();
  const Bytes formula = weight_bytes(model, {});
  const Bytes share = weight_bytes(model, {.tensor = 4});
  model.checkpoint_bytes = formula * 0.55;
  EXPECT_DOUBLE_EQ(weight_bytes(model, {}).value, formula.value * 0.55);
  EXPECT_DOUBLE_EQ(weight_bytes(model, {.tensor = 4}).value, share.value * 0.55);
}

// vLLM 0.19.0 on Llama-4-Scout, TP 4: 53.12 GiB, where a whole tower (1.6 GiB) on each rank would
// make 54.3. Mistral's own encoder is whole on each (vLLM's pixtral.py).
TEST(WeightBytes, VisionTowersAreSplitOverRanks) {
  Transformer model = test::llama_3_1_8b();
  const Bytes text = weight_bytes(model, {.tensor = 2});
  model.vision_parameters = 400'000'000;
  EXPECT_DOUBLE_EQ(weight_bytes(model, {.tensor = 2}).value, text.value + 400e6);
  model.architecture = "PixtralForConditionalGeneration";
  EXPECT_DOUBLE_EQ(weight_bytes(model, {.tensor = 2}).value, text.value + 800e6);
}

TEST(MatmulFlops, AreTwicePerActiveMatrixParameter) {
  // Llama-3.1-8B: 32 * (218,112,000 - 8,192) matrix parameters, and 128256 * 4096 in the head.
  const double layers = 2.0 * 32 * (218'112'000 - 8'192);
  EXPECT_DOUBLE_EQ(matmul_flops_per_token(test::llama_3_1_8b(), false).value, layers);
  EXPECT_DOUBLE_EQ(matmul_flops_per_token(test::llama_3_1_8b(), true).value,
                   layers + 2.0 * 128'256 * 4096);
  // A tied head multiplies all the same.
  const Transformer tied = test::llama_3_2_1b();
  EXPECT_DOUBLE_EQ((matmul_flops_per_token(tied, true) - matmul_flops_per_token(tied, false)).value,
                   2.0 * 128'256 * 2048);
}

TEST(MatmulFlops, CountChosenExpertsOnly) {
  // Mixtral layer: qkv 4096 * 6144, o 4096^2, router 4096 * 8, two experts of 3 * 4096 * 14336.
  const double layer = 4096.0 * 6144 + 4096.0 * 4096 + 4096 * 8 + 2 * 3 * 4096.0 * 14336;
  EXPECT_DOUBLE_EQ(matmul_flops_per_token(test::mixtral_8x7b(), false).value, 2 * 32 * layer);
}

TEST(AttentionFlops, GrowWithTheContext) {
  // 4 * 32 heads * 128 * 1000 tokens in each of 32 layers.
  EXPECT_DOUBLE_EQ(attention_flops_per_token(test::llama_3_1_8b(), 1000).value,
                   4.0 * 32 * 128 * 1000 * 32);
  EXPECT_DOUBLE_EQ(attention_flops_per_token(test::llama_3_1_8b(), 0).value, 0.0);
}

TEST(AttentionFlops, StopGrowingAtAWindow) {
  // gpt-oss at 1000 tokens: 12 full layers and 12 that see 128, of 64 heads of 64.
  EXPECT_DOUBLE_EQ(attention_flops_per_token(test::gpt_oss_20b(), 1000).value,
                   4.0 * 64 * 64 * 12 * (1000 + 128));
}

TEST(AttentionFlops, LatentAttentionWorksOnTheLatent) {
  // 2 * 128 heads * (2 * 512 + 64) * 1000 * 61 layers.
  EXPECT_DOUBLE_EQ(attention_flops_per_token(test::deepseek_v3(), 1000).value,
                   2.0 * 128 * 1088 * 1000 * 61);
  // Sparse: at most 2048 attended, but 64 heads of 128 score all 10,000 in the indexer.
  EXPECT_DOUBLE_EQ(attention_flops_per_token(test::deepseek_v3_2(), 10'000).value,
                   61 * (2.0 * 128 * 1088 * 2048 + 2.0 * 64 * 128 * 10'000));
}

TEST(AttentionFlops, RecurrentLayersDoNotSeeTheContext) {
  // Qwen3-Next: 12 attention layers of 16 heads of 256.
  EXPECT_DOUBLE_EQ(attention_flops_per_token(test::qwen3_next_80b(), 1000).value,
                   4.0 * 16 * 256 * 12 * 1000);
  // 36 states of 32 * 128 * 128 elements, seven operations each.
  EXPECT_DOUBLE_EQ(state_flops_per_token(test::qwen3_next_80b()).value, 36 * 7.0 * 32 * 128 * 128);
}

TEST(AttendedTokens, FollowTheSpan) {
  using Kind = AttentionSpan::Kind;
  EXPECT_EQ(attended_tokens({}, 0), 1);
  EXPECT_EQ(attended_tokens({}, 999), 1000);
  EXPECT_EQ(attended_tokens({Kind::sliding, 128}, 50), 51);
  EXPECT_EQ(attended_tokens({Kind::sliding, 128}, 999), 128);
  EXPECT_EQ(attended_tokens({Kind::sparse, 2048}, 9999), 2048);
  // The first token of a chunk sees itself only, the last sees the whole chunk.
  EXPECT_EQ(attended_tokens({Kind::chunked, 8192}, 8191), 8192);
  EXPECT_EQ(attended_tokens({Kind::chunked, 8192}, 8192), 1);
}

TEST(PipelineStages, DivideEvenlyAndSpareTheLast) {
  const auto sizes = [](std::int64_t layers, int stages) {
    std::vector<std::int64_t> result;
    std::int64_t next = 0;
    for (int stage = 0; stage < stages; ++stage) {
      const LayerRange range = pipeline_stage(layers, stages, stage);
      EXPECT_EQ(range.first, next);
      next = range.last;
      result.push_back(range.last - range.first);
    }
    EXPECT_EQ(next, layers);
    return result;
  };
  using testing::ElementsAre;
  EXPECT_THAT(sizes(80, 4), ElementsAre(20, 20, 20, 20));
  // One left over goes to the second last, two to the two before the last, and so on to the first.
  EXPECT_THAT(sizes(61, 4), ElementsAre(15, 15, 16, 15));
  EXPECT_THAT(sizes(62, 4), ElementsAre(15, 16, 16, 15));
  EXPECT_THAT(sizes(63, 4), ElementsAre(16, 16, 16, 15));
  EXPECT_THAT(sizes(61, 2), ElementsAre(31, 30));
}

// nvidia/DeepSeek-R1-NVFP4-v2 quantises the output projection of attention and nothing else of it,
// amd/DeepSeek-R1-0528-MXFP4 excludes self_attn; both quantise dense and shared feed-forward
// blocks.
TEST(Requantise, LatentAttentionKeeps16BitsBeside4) {
  const auto formats = [](const std::string& quantisation) {
    Transformer model = test::deepseek_v3_2();
    requantise(model, quantisation);
    const auto dense = weights_of(model, 0);
    const auto mixture = weights_of(model, 5);
    std::vector<std::string> names;
    for (const char* name : {"qkv_a_proj", "q_b_proj", "kv_b_proj", "o_proj"}) {
      names.push_back(find(mixture, name).format.name);
    }
    names.push_back(model.layers[5].ffn_format.name);
    names.push_back(model.layers[5].shared_format.name);
    names.push_back(find(dense, "mlp.down_proj").format.name);
    return names;
  };
  using testing::ElementsAre;
  EXPECT_THAT(formats("nvfp4"),
              ElementsAre("bf16", "bf16", "bf16", "nvfp4", "nvfp4", "nvfp4", "nvfp4"));
  EXPECT_THAT(formats("mxfp4"),
              ElementsAre("bf16", "bf16", "bf16", "bf16", "mxfp4", "mxfp4", "mxfp4"));
  EXPECT_THAT(formats("fp8"), ElementsAre("fp8", "fp8", "fp8", "fp8", "fp8", "fp8", "fp8"));
}

TEST(Requantise, AnotherFormatReplacesThatOfTheOutputProjection) {
  Transformer model = test::deepseek_v3_2();
  requantise(model, "nvfp4");
  requantise(model, "fp8");
  EXPECT_EQ(find(weights_of(model, 5), "o_proj").format.name, "fp8");
}

TEST(RequantisedToSave, IsNoAnswerForWeightsThatAreNarrowAlready) {
  const Transformer wide = test::deepseek_v3_2();
  const auto narrow = requantised_to_save(wide, "fp8");
  ASSERT_TRUE(narrow);
  EXPECT_LT(weight_bytes(*narrow, {}), weight_bytes(wide, {}) * 0.55);  // one byte instead of two
  EXPECT_FALSE(requantised_to_save(*narrow, "int8"));
  EXPECT_TRUE(requantised_to_save(*narrow, "nvfp4"));
}

// As in Kimi-Linear, which mixes tokens otherwise in most layers.
TEST(Requantise, WhatMixesTokensBesideLatentAttentionKeeps16BitsBesideMxfp4) {
  Transformer model = test::deepseek_v3_2();
  model.layers[5].mixer = GatedDeltaNet{};
  requantise(model, "mxfp4");
  for (const std::size_t layer : {0, 5, 6}) {
    EXPECT_EQ(model.layers[layer].mixer_format.name, "bf16");
    EXPECT_EQ(output_format_of(model.layers[layer]).name, "bf16");
    EXPECT_EQ(model.layers[layer].ffn_format.name, "mxfp4");
    EXPECT_EQ(model.layers[layer].shared_format.name, "mxfp4");
  }
}

}  // namespace
}  // namespace roofcast
