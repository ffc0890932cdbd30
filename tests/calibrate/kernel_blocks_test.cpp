// Tables of whole attention blocks, absorbed products, recurrent mixers and quantisation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/tables/aiconfigurator.hpp"
#include "calibrate/tables/import_profile.hpp"
#include "calibrate/tables/imported_rows.hpp"
#include "model/step/roofline.hpp"
#include "tests/calibrate/deepseek_experts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

class KernelBlocks : public testing::Test {
 protected:
  ImportedRows read(const std::string& text) {
    const auto path = std::filesystem::path(folder_.path()) / "table.csv";
    std::ofstream(path) << text;
    ImportedRows rows;
    read_aiconfigurator(path.string(), rows);
    return rows;
  }

  test::TemporaryFolder folder_;
};

constexpr const char* kBlockHead =
    "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,"
    "gemm_type,num_heads,batch_size,isl,tp_size,step,latency\n";

// qkv_a 7168 x 2112, q_b 1536 x 3072, kv_b 512 x 4096, o 2048 x 7168.
TEST_F(KernelBlocks, ABlockIsThatOfItsModelOnOneRank) {
  const ImportedRows rows =
      read(std::string(kBlockHead) +
           "VLLM,0.24.0,NVIDIA H200,mla_generation_module,FLASHMLA,deepseek-ai/DeepSeek-V3,"
           "DeepseekV3ForCausalLM,bfloat16,fp8,fp8_block,16,8,1,1,1024,0.1\n"
           "VLLM,0.24.0,NVIDIA H200,mla_context_module,FLASH_ATTN,deepseek-ai/DeepSeek-V3,"
           "DeepseekV3ForCausalLM,bfloat16,bfloat16,bfloat16,16,4,512,1,0,0.5\n");
  ASSERT_EQ(rows.points.size(), 2u);
  const TimedPoint& decode = rows.points[0];
  EXPECT_EQ(decode.shape.family, OperatorFamily::decode_attention);
  EXPECT_EQ(decode.shape.projections, 15138816 + 4718592 + 2097152 + 14680064);
  EXPECT_EQ(decode.shape.format, "fp8_block");
  EXPECT_EQ(decode.shape.cache, DType::fp8);
  EXPECT_EQ(decode.shape.query_heads, 16);
  EXPECT_EQ(decode.point.x, 8);
  EXPECT_EQ(decode.point.y, 1024);  // vLLM's context includes the new token
  EXPECT_EQ(decode.kernel, "whole block, vLLM 0.24.0");
  const TimedPoint& prefill = rows.points[1];
  EXPECT_EQ(prefill.shape.family, OperatorFamily::prefill_attention);
  EXPECT_EQ(prefill.shape.prompts, 4);
  EXPECT_EQ(prefill.shape.format, "bf16");
  EXPECT_EQ(prefill.point.x, 512);
}

// SGLang states the tokens before the new one. GLM-5.2's other layers reuse a selection.
TEST_F(KernelBlocks, SparseBlocksHaveTheirIndexerOrNone) {
  const ImportedRows rows =
      read(std::string(kBlockHead) +
           "SGLang,0.5.14,NVIDIA B200,dsa_generation_module,sglang_dsa_indexer_trtllm,"
           "nvidia/GLM-5.2-NVFP4,GlmMoeDsaForCausalLM,bfloat16,fp8,bfloat16,8,4,1,8,1023,0.1\n"
           "SGLang,0.5.14,NVIDIA B200,dsa_generation_module_skip_indexer,sglang_dsa_trtllm,"
           "nvidia/GLM-5.2-NVFP4,GlmMoeDsaForCausalLM,bfloat16,fp8,bfloat16,8,4,1,8,1023,0.08\n"
           "SGLang,0.5.14,NVIDIA B200,glm5_topk_module,fast_topk,nvidia/GLM-5.2-NVFP4,"
           "GlmMoeDsaForCausalLM,fp8_e4m3,fp8_e4m3,fp8_block,64,1,4,1,0,0.01\n"
           "SGLang,0.5.14,NVIDIA B200,dsa_generation_module,some,acme/unknown,Acme,bfloat16,fp8,"
           "bfloat16,8,4,1,8,1023,0.1\n");
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].shape.index_heads, 32);
  EXPECT_EQ(rows.points[0].shape.window, 2048);
  EXPECT_EQ(rows.points[0].point.y, 1024);
  EXPECT_EQ(rows.points[1].shape.index_heads, 0);
  EXPECT_EQ(rows.points[1].shape.window, 2048);
  // The indexer's matrices: 2048 x 32 x 128, 6144 x 128 and 6144 x 32.
  EXPECT_EQ(rows.points[0].shape.projections - rows.points[1].shape.projections,
            8388608 + 786432 + 196608);
  EXPECT_EQ(rows.tables[0].duplicates, 1);  // a part of blocks
  EXPECT_EQ(rows.tables[0].unused, 1);      // no such model
}

TEST_F(KernelBlocks, CompressedBlocksAreToldApartByTheirEntries) {
  const std::string head =
      "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,"
      "gemm_type,num_heads,batch_size,isl,tp_size,step,compress_ratio,latency\n";
  const std::string row =
      "VLLM,0.24.0,NVIDIA B200,dsv4_csa_context_module,FLASHMLA_SPARSE_DSV4,"
      "deepseek-ai/DeepSeek-V4-Pro,DeepseekV4ForCausalLM,bfloat16,fp8,fp8_block,16,1,512,8,2048,";
  const ImportedRows rows = read(head + row + "4,0.5\n" + row + "128,0.4\n");
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].shape.compression, 4);
  EXPECT_EQ(rows.points[0].shape.window, 1024);
  EXPECT_EQ(rows.points[1].shape.compression, 128);
  EXPECT_EQ(rows.points[1].shape.window, 0);
  EXPECT_EQ(rows.points[1].point.y, 2048);
}

// vLLM times sparse prompts outside a graph: what hardly exceeds the shortest call is its launches.
TEST_F(KernelBlocks, WhatLaunchesDecideIsRefused) {
  const std::string row =
      "VLLM,0.24.0,NVIDIA H200,dsa_context_module,FLASHMLA_SPARSE,deepseek-ai/DeepSeek-V3.2,"
      "DeepseekV32ForCausalLM,bfloat16,bfloat16,bfloat16,16,1,";
  ImportedRows rows = read(std::string(kBlockHead) + row + "16,1,0,1.2\n" + row + "1024,1,0,1.5\n" +
                           row + "8192,1,0,5.4\n");
  ASSERT_EQ(rows.points.size(), 3u);
  refuse_launch_bound(rows);
  ASSERT_EQ(rows.points.size(), 1u);
  EXPECT_EQ(rows.points[0].point.x, 8192);
  EXPECT_EQ(rows.tables[0].refused, 2);
}

TEST_F(KernelBlocks, AbsorbedProductsAreOneForEachHead) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n"
      "VLLM,0.24.0,NVIDIA H200,mla_gen_pre,vllm_torch_bmm,bfloat16,64,16,0.01\n"
      "SGLang,0.5.14,NVIDIA H200,mla_gen_post,sglang_sgl_kernel_bmm_fp8,fp8,64,16,0.01\n");
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].shape, (OperatorShape{.family = OperatorFamily::gemm,
                                                 .format = "bf16",
                                                 .outputs = 512,
                                                 .inputs = 128,
                                                 .query_heads = 16}));
  EXPECT_EQ(rows.points[1].shape.outputs, 128);
  EXPECT_EQ(rows.points[1].shape.inputs, 512);
  EXPECT_EQ(rows.points[1].shape.format, "fp8");
  // 16 products of 512 x 128 weights of 16 bits; 64 tokens bring 128 and take 512 elements each.
  const ShapeWork work = shape_work(rows.points[0].shape, 64, 0, 100);
  EXPECT_DOUBLE_EQ(work.stored_bytes.value, 16 * 512 * 128 * 2.0);
  EXPECT_DOUBLE_EQ(work.bytes.value, 16 * 512 * 128 * 2.0 + 16 * 64 * 640 * 2.0);
  EXPECT_DOUBLE_EQ(work.flops.value, 2.0 * 64 * 16 * 512 * 128);
}

TEST_F(KernelBlocks, ARecurrentMixerIsTwoKernels) {
  const std::string sizes = ",2048,4,16,128,32,128,Qwen/Qwen3.5-35B-A3B,";
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_model,"
      "d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,model_name,latency\n"
      "vLLM,0.24.0,NVIDIA H200,gdn,causal_conv1d_fn,context,2,512,1024" +
      sizes +
      "0.02\n"
      "vLLM,0.24.0,NVIDIA H200,gdn,chunk_gated_delta_rule_flashinfer,context,2,512,1024" +
      sizes +
      "0.1\n"
      "vLLM,0.24.0,NVIDIA H200,gdn,fused_recurrent_gated_delta_rule_packed_decode,generation,64,1,"
      "64" +
      sizes +
      "0.09\n"
      "TRTLLM,1.3.0rc20,NVIDIA H200,gdn,causal_conv1d_update,generation,64,1,64" +
      sizes +
      "0.01\n"
      "vLLM,0.19.0,NVIDIA H200,gdn,causal_conv1d_update,generation,64,1,64" +
      sizes + "0.01\n");
  ASSERT_EQ(rows.points.size(), 3u);
  EXPECT_EQ(rows.points[0].shape.name, "gated_delta_conv");
  EXPECT_EQ(rows.points[1].shape.name, "gated_delta_scan");
  EXPECT_EQ(rows.points[1].point.x, 512);
  EXPECT_EQ(rows.points[1].point.y, 2);
  EXPECT_EQ(rows.points[2].shape.name, "gated_delta_update");
  EXPECT_EQ(rows.points[2].point.x, 1);
  EXPECT_EQ(rows.points[2].point.y, 64);
  EXPECT_EQ(rows.points[2].shape.cache, DType::fp32);
  EXPECT_EQ(rows.tables[0].refused, 2);  // convolutions of keys alone
  // Each of 64 states of 32 x 128 x 128 elements of 4 bytes is read and written.
  const ShapeWork update = shape_work(rows.points[2].shape, 1, 64, 100);
  EXPECT_DOUBLE_EQ(update.stored_bytes.value, 64 * 2 * 32 * 128 * 128 * 4.0);
  EXPECT_DOUBLE_EQ(update.flops.value, 64 * 6 * 32 * 128 * 128.0);
  // The convolution passes 2 x 16 x 128 + 32 x 128 channels of 1,024 tokens in and out, and leaves
  // three inputs of each channel for each sequence.
  const ShapeWork convolution = shape_work(rows.points[0].shape, 512, 2, 100);
  EXPECT_DOUBLE_EQ(convolution.bytes.value, 1024 * 2 * 8192 * 2.0 + 2 * 8192 * 3 * 2.0);
}

TEST_F(KernelBlocks, MambasGroupsAreItsKeys) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,phase,batch_size,seq_len,num_tokens,d_model,"
      "d_state,d_conv,nheads,head_dim,n_groups,chunk_size,model_name,latency\n"
      "TRTLLM,1.3.0rc20,NVIDIA H200,mamba2,causal_conv1d_update,generation,8,1,8,2688,128,4,64,64,"
      "8,128,nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16,0.01\n");
  ASSERT_EQ(rows.points.size(), 1u);
  const OperatorShape& shape = rows.points[0].shape;
  EXPECT_EQ(shape.name, "mamba2_conv_update");
  EXPECT_EQ(shape.kv_heads, 8);
  EXPECT_EQ(shape.head_dim, 128);
  EXPECT_EQ(shape.outputs, 4);
}

// 20 us for 1,000 rows, of which finding scales takes 8, between 6 us for 500 rows and 10 for
// 1,500, and writing the input by them 3, between 2 and 4. SGLang's rows are those of its layer; in
// a version without such tables nothing can be taken off.
TEST(ImportedProducts, TensorrtLlmsAreWithoutQuantisingTheirInput) {
  const auto product = [](const char* kernel, const char* format) {
    return TimedPoint{
        .shape = {.family = OperatorFamily::gemm, .format = format, .outputs = 64, .inputs = 512},
        .kernel = kernel,
        .point = {.x = 1000, .time = Seconds{20e-6}},
        .name = kernel};
  };
  const auto part = [](const char* name, const char* version, double tokens, double microseconds) {
    return TimedPoint{
        .shape = {.family = OperatorFamily::memory_bound, .name = name, .inputs = 512},
        .kernel = std::string("torch_ops, TRTLLM ") + version,
        .point = {.x = tokens * 512 * 3, .time = Seconds{microseconds * 1e-6}}};
  };
  ImportedRows rows;
  rows.points = {
      product("torch_flow, TRTLLM 1.3.0", "fp8"),     product("torch_flow, TRTLLM 1.3.0", "bf16"),
      product("torch_flow, TRTLLM 1.0.0", "fp8"),     product("torch_flow, TRTLLM 1.2.0", "fp8"),
      product("deepgemm, SGLang 0.5.14", "fp8"),      part("activation_scales", "1.3.0", 500, 6),
      part("activation_scales", "1.3.0", 1500, 10),   part("quantise_activations", "1.3.0", 500, 2),
      part("quantise_activations", "1.3.0", 1500, 4), part("activation_scales", "1.2.0", 500, 6)};
  take_off_quantising(rows);
  ASSERT_EQ(rows.points.size(), 8u);
  EXPECT_NEAR(rows.points[0].point.time.value, 9e-6, 1e-15);
  EXPECT_EQ(rows.points[1].point.time.value, 20e-6);
  EXPECT_EQ(rows.points[2].kernel, "deepgemm, SGLang 0.5.14");
  EXPECT_EQ(rows.points[2].point.time.value, 20e-6);
  ASSERT_EQ(rows.refused.size(), 2u);
  EXPECT_EQ(rows.refused.begin()->second.first.front(), "torch_flow, TRTLLM 1.0.0");
  EXPECT_EQ(rows.refused.rbegin()->second.first.front(), "torch_flow, TRTLLM 1.2.0");
}

// Finding scales takes 42 us for 2,000 rows and 25 for 4,000, as on B200: the 42 were disturbed,
// and 25 at most come off a product of 2,000 rows that took 100 us; of quantising, 10.
TEST(ImportedProducts, NoMoreIsTakenOffThanALargerSizeTakes) {
  const auto part = [](const char* name, double tokens, double microseconds) {
    return TimedPoint{
        .shape = {.family = OperatorFamily::memory_bound, .name = name, .inputs = 512},
        .kernel = "torch_ops, TRTLLM 1.2.0",
        .point = {.x = tokens * 512 * 3, .time = Seconds{microseconds * 1e-6}}};
  };
  ImportedRows rows;
  rows.points = {
      {.shape = {.family = OperatorFamily::gemm, .format = "fp8", .outputs = 64, .inputs = 512},
       .kernel = "torch_flow, TRTLLM 1.2.0",
       .point = {.x = 2000, .time = Seconds{100e-6}}},
      part("activation_scales", 2000, 42),
      part("activation_scales", 4000, 25),
      part("quantise_activations", 2000, 10),
      part("quantise_activations", 4000, 20)};
  take_off_quantising(rows);
  ASSERT_EQ(rows.points.size(), 5u);
  EXPECT_NEAR(rows.points[0].point.time.value, (100 - 25 - 10) * 1e-6, 1e-15);
}

// 256 experts in 8 groups of 32, 4 of which are kept: 1 token hits 8 experts, 32 tokens 132, as
// 16.5 that pick one of each group do. The other 124 take what the 124 between 1 and 32 tokens
// took.
TEST(ImportedExperts, RoutersWithGroupsHitHalfOfThem) {
  const auto experts = [](const char* kernel, double tokens, double microseconds) {
    return TimedPoint{.shape = {.family = OperatorFamily::moe,
                                .format = "fp8_block",
                                .outputs = 256,
                                .inputs = 7168,
                                .experts = 256,
                                .experts_per_token = 8,
                                .gated = true},
                      .kernel = kernel,
                      .point = {.x = tokens, .time = Seconds{microseconds * 1e-6}},
                      .name = kernel};
  };
  const char* grouped = "sglang_fused_moe_triton, SGLang 0.5.14";
  const char* whole = "sglang_fused_moe_triton, SGLang 0.5.9";
  ImportedRows rows;
  rows.points = {experts(grouped, 1, 36),   experts(grouped, 4, 62),     experts(grouped, 32, 250),
                 experts(grouped, 64, 249), experts(grouped, 4096, 974), experts(whole, 32, 458)};
  TimedPoint uneven = experts(grouped, 64, 326);
  uneven.shape.power_law = 101;
  rows.points.push_back(uneven);
  // Without the rows of one token and of all groups nothing can be completed.
  rows.points.push_back(experts("moe_torch_flow_min_latency, TRTLLM 1.3.0", 64, 95));
  undo_group_limit(rows);
  ASSERT_EQ(rows.points.size(), 6u);
  const std::vector<std::pair<double, double>> expected{{1, 36},   {2.5, 62},   {16.5, 250},
                                                        {64, 463}, {4096, 974}, {32, 458}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(rows.points[i].point.x, expected[i].first) << i;
    EXPECT_NEAR(rows.points[i].point.time.value, expected[i].second * 1e-6, 1e-12) << i;
  }
  EXPECT_EQ(rows.refused.size(), 2u);
}

// 256 experts over 8 ranks: the first has one of the four groups that are kept, and the four
// experts that fill up. A token picks 1 + 4 of its experts instead of 1. 8 tokens read 8 experts
// and 3/4 of the fillers, as 8 + 3 spread ones do; 32 read all 32. 16,384 make 81,920 picks, as as
// many spread tokens do, and the other 65,536 pass at (11.9 - 5 p) ms / 16,384, where p is a pick's
// time over 2 and 8 ranks: (17.9 - 11.9) ms / (8 - 5) = 2 ms.
TEST(ImportedExperts, OfRoutersWithGroupsTheFirstRankHasThoseThatFillUp) {
  const auto experts = [](int ranks, double tokens, double microseconds) {
    return TimedPoint{.shape = test::deepseek_experts("fp8_block", 256, ranks),
                      .kernel = "sglang_fused_moe_triton, SGLang 0.5.14",
                      .point = {.x = tokens, .time = Seconds{microseconds * 1e-6}},
                      .name = "row"};
  };
  ImportedRows rows;
  rows.points = {experts(8, 8, 203),       experts(8, 32, 511),  experts(8, 512, 720),
                 experts(8, 16384, 11900), experts(2, 4, 331),   experts(2, 64, 1918),
                 experts(2, 16384, 17900), experts(64, 32, 101), experts(64, 48, 105)};
  rows.points.push_back(experts(64, 4, 91));  // all four of the rank's experts, at any size
  TimedPoint uneven = experts(8, 64, 419);
  uneven.shape.power_law = 101;
  rows.points.push_back(uneven);
  TimedPoint older = experts(8, 512, 332);
  older.kernel = "sglang_fused_moe_triton, SGLang 0.5.9";
  rows.points.push_back(older);
  undo_group_limit(rows);
  constexpr double kToken = 1900.0 / 16384;  // us
  const std::vector<std::pair<double, double>> expected{{11, 203},
                                                        {32, 511},
                                                        {2560, 720 + kToken * 2048},
                                                        {81920, 11900 + kToken * 65536},
                                                        {4 + 7.0 / 8, 331},
                                                        {128, 1918 + kToken * 64},
                                                        {32768, 17900 + kToken * 16384},
                                                        {32, 101},
                                                        {48 * 33, 105 + kToken * 48 * 32},
                                                        {512, 332}};
  ASSERT_EQ(rows.points.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(rows.points[i].point.x, expected[i].first, 1e-9) << i;
    EXPECT_NEAR(rows.points[i].point.time.value, expected[i].second * 1e-6, 1e-12) << i;
  }
  EXPECT_EQ(rows.refused.size(), 2u);
}

// A token's 8 outputs of 7,168 elements are read and their sum is written, 129,024 bytes in 16
// bits; over 8 ranks one is read.
TEST(ImportedExperts, MinLatencyOnesGetTheSumThatWasNotTimed) {
  const auto experts = [](const char* kernel, int ranks) {
    return TimedPoint{.shape = test::deepseek_experts("nvfp4", 256, ranks),
                      .kernel = kernel,
                      .point = {.x = 1000, .time = Seconds{1e-4}},
                      .name = "row"};
  };
  const char* summed = "moe_torch_flow_cutlass, TRTLLM 1.3.0rc20";
  const char* unsummed = "moe_torch_flow_min_latency, TRTLLM 1.3.0rc20";
  ImportedRows rows;
  rows.points = {experts(unsummed, 1), experts(unsummed, 8), experts(summed, 1)};
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  add_finalizing(rows, gpu);
  EXPECT_NEAR(rows.points[0].point.time.value, 1e-4 + 1.29024e-4, 1e-12);
  EXPECT_NEAR(rows.points[1].point.time.value, 1e-4 + 0.28672e-4, 1e-12);
  EXPECT_EQ(rows.points[2].point.time.value, 1e-4);
}

TEST_F(KernelBlocks, ScalesAreWhatFindingThemAdds) {
  const std::string head =
      "framework,version,device,op_name,kernel_source,m,k,quant_dtype,latency\n";
  const ImportedRows rows =
      read(head +
           "VLLM,0.24.0,NVIDIA H200,scale_matrix,static_scaled_fp8_quant,16,4096,fp8,0.003\n"
           "VLLM,0.24.0,NVIDIA H200,compute_scale,dynamic_minus_static,16,4096,fp8,0.00001\n"
           "VLLM,0.24.0,NVIDIA H200,compute_scale,dynamic_minus_static,17,4096,fp8,0\n");
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].shape.name, "quantise_activations");
  EXPECT_EQ(rows.points[0].shape.inputs, 4096);
  EXPECT_EQ(rows.points[0].point.x, 16 * 4096 * 3);  // 16 bits in, 8 out
  EXPECT_EQ(rows.points[1].shape.name, "activation_scales");
  EXPECT_EQ(rows.tables[0].duplicates, 1);
  // A difference may be shorter than any kernel.
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{1e9};
  gpu.dense_peak[DType::fp32] = FlopsPerSecond{1e15};
  EXPECT_TRUE(beats_physics(rows.points[0].shape, rows.points[1].point, gpu));
  EXPECT_FALSE(beats_physics(rows.points[1].shape, rows.points[1].point, gpu));
}

}  // namespace
}  // namespace roofcast
