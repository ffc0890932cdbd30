#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "calibrate/tables/aiconfigurator.hpp"
#include "calibrate/tables/import_profile.hpp"
#include "calibrate/tables/llmservingsim.hpp"
#include "calibrate/tables/mixed_attention.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;

class KernelTables : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(folder_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  ImportedRows read(const std::string& text) {
    ImportedRows rows;
    read_aiconfigurator(file("table.csv", text), rows);
    return rows;
  }

  test::TemporaryFolder folder_;
};

constexpr const char* kGemmHead =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";

TEST_F(KernelTables, AGemmRowIsAPointInSecondsAtItsTokens) {
  const ImportedRows rows = read(std::string(kGemmHead) +
                                 "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,16,4096,1024,0.5\n");
  ASSERT_EQ(rows.points.size(), 1u);
  const TimedPoint& p = rows.points[0];
  EXPECT_EQ(
      p.shape,
      (OperatorShape{
          .family = OperatorFamily::gemm, .format = "bf16", .outputs = 4096, .inputs = 1024}));
  EXPECT_EQ(p.kernel, "cublas, vLLM 0.24.0");
  EXPECT_EQ(p.point.x, 16);
  EXPECT_DOUBLE_EQ(p.point.time.value, 0.5e-3);  // 0.5 ms
  EXPECT_EQ(rows.devices.at("NVIDIA H200"), 1);
  EXPECT_EQ(rows.versions.at("vLLM"), "0.24.0");
}

// vLLM 0.24 alone timed them so; other engines' curves answer for it.
TEST_F(KernelTables, ProductsLaunchedOutsideAGraphAreRefused) {
  const ImportedRows rows =
      read(std::string(kGemmHead) +
           "VLLM,0.24.0,NVIDIA H200,gemm,deepgemm,fp8_block,16,4096,1024,0.09\n"
           "VLLM,0.19.0,NVIDIA H200,gemm,deepgemm,fp8_block,16,4096,1024,0.01\n"
           "SGLang,0.5.14,NVIDIA H200,gemm,deepgemm,fp8_block,16,4096,1024,0.007\n");
  EXPECT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.tables[0].refused, 1);
}

TEST_F(KernelTables, ContextOfADecodeIsStepAndInput) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,"
      "num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,latency\n"
      "VLLM,0.14.0,NVIDIA A100,generation_attention,fa,32,1,8,0,128,1,bfloat16,bfloat16,127,0.1\n"
      "VLLM,0.14.0,NVIDIA A100,context_attention,fa,1,512,8,2,128,1,bfloat16,bfloat16,64,0.1\n"
      "VLLM,0.14.0,NVIDIA A100,context_attention,fa,4,512,8,2,128,1,bfloat16,bfloat16,0,0.1\n");
  ASSERT_EQ(rows.points.size(), 3u);
  EXPECT_EQ(rows.points[0].point.x, 32);
  EXPECT_EQ(rows.points[0].point.y, 128);       // 127 + 1
  EXPECT_EQ(rows.points[0].shape.kv_heads, 8);  // 0: as many as query heads
  EXPECT_EQ(rows.points[1].point.x, 512);
  EXPECT_EQ(rows.points[1].point.y, 64);
  EXPECT_EQ(rows.points[1].shape.prompts, 1);
  EXPECT_EQ(rows.points[2].point.x, 512);  // of each prompt
  EXPECT_EQ(rows.points[2].shape.prompts, 4);
}

TEST_F(KernelTables, MessagesAreElementsOfTwoBytes) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,"
      "latency,backend\n"
      "vLLM,0.14.0,NVIDIA L40S,all_reduce,vLLM_custom_graph,bfloat16,4,1024,0.006,vllm_graph\n"
      "vLLM,0.14.0,NVIDIA L40S,all_reduce,vLLM_custom_eager,bfloat16,4,1024,0.02,vllm_eager\n");
  ASSERT_EQ(rows.points.size(), 1u);  // engines launch it within graphs
  EXPECT_EQ(rows.points[0].point.x, 2048);
  EXPECT_EQ(rows.points[0].shape.ranks, 4);
  EXPECT_EQ(rows.tables[0].duplicates, 1);
}

TEST_F(KernelTables, ExpertsOfOneRankAreNarrower) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,"
      "topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n"
      "VLLM,0.24.0,NVIDIA H100,moe,triton,fp8_block,8,4096,2048,6,256,4,1,balanced,0.08\n"
      "VLLM,0.24.0,NVIDIA H100,moe,triton,fp8_block,8,4096,2048,6,256,1,8,balanced,0.08\n"
      "VLLM,0.24.0,NVIDIA H100,moe,triton,fp8_block,8,4096,2048,6,256,1,1,power_law_1.2,0.08\n");
  ASSERT_EQ(rows.points.size(), 3u);
  EXPECT_EQ(rows.points[0].shape.outputs, 512);  // 2048 over 4 ranks
  EXPECT_EQ(rows.points[0].shape.inputs, 4096);
  EXPECT_EQ(rows.points[0].shape.expert_ranks, 1);
  EXPECT_EQ(rows.points[1].shape.outputs, 2048);  // whole experts, 256 over 8 ranks
  EXPECT_EQ(rows.points[1].shape.experts, 256);
  EXPECT_EQ(rows.points[1].shape.expert_ranks, 8);
  EXPECT_EQ(rows.points[1].point.x, 8);  // tokens of all ranks
  EXPECT_EQ(rows.points[2].shape.power_law, 120);
  EXPECT_TRUE(rows.points[2].shape.gated);
}

TEST_F(KernelTables, ExpertsOfNemotronHaveNoGate) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,"
      "topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n"
      "TRTLLM,1.3.0,NVIDIA H200,moe,moe_torch_flow_nongated,fp8,8,4096,2048,6,256,1,1,balanced,1\n"
      "VLLM,0.24.0,NVIDIA H200,moe,triton,fp8,8,2688,1856,6,128,1,1,balanced,1\n"
      "VLLM,0.24.0,NVIDIA H200,moe,triton,fp8,8,2048,5120,22,512,1,1,balanced,1\n"
      "SGLang,0.5.6,NVIDIA H200,moe_context,deepep,fp8,8,7168,2048,8,256,1,8,uniform,1\n");
  ASSERT_EQ(rows.points.size(), 3u);
  for (const TimedPoint& p : rows.points) EXPECT_FALSE(p.shape.gated);
  EXPECT_EQ(rows.tables[0].unused, 1);  // by the tokens that a rank receives
}

// The window bounds what is attended to: contexts beyond it are one size.
TEST_F(KernelTables, AWindowIsPartOfTheShape) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,"
      "num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,window_size,latency\n"
      "VLLM,0.24.0,NVIDIA H200,generation_attention,fa,32,1,8,8,64,1,bfloat16,bfloat16,63,128,0.1\n"
      "VLLM,0.24.0,NVIDIA H200,generation_attention,fa,32,1,8,8,64,1,bfloat16,fp8,4095,128,0.1\n"
      "TRTLLM,1.3.0,NVIDIA H200,context_attention,fa,2,64,8,8,64,1,fp8,fp8,0,0,0.1\n");
  ASSERT_EQ(rows.points.size(), 3u);
  EXPECT_EQ(rows.points[0].shape.window, 128);
  EXPECT_EQ(rows.points[0].point.y, 64);
  EXPECT_EQ(rows.points[1].point.y, 128);
  EXPECT_FALSE(rows.points[1].shape.fp8_arithmetic);
  EXPECT_EQ(rows.points[2].shape.window, 0);
  EXPECT_TRUE(rows.points[2].shape.fp8_arithmetic);
}

TEST_F(KernelTables, TheKernelOfLatentAttentionIsReadOfEveryEngine) {
  const ImportedRows rows = read(
      "framework,version,device,op_name,kernel_source,mla_dtype,kv_cache_dtype,num_heads,batch_"
      "size,"
      "isl,tp_size,step,latency\n"
      "SGLang,0.5.14,NVIDIA H200,mla_generation,flash_attention,bfloat16,fp8,16,32,1,8,1023,0.1\n"
      "SGLang,0.5.14,NVIDIA H200,mla_context,flash_attention,bfloat16,fp8,16,1,64,8,0,0.1\n"
      "TRTLLM,1.3.0,NVIDIA H200,mla_context,default,bfloat16,fp8,16,4,64,8,0,0.1\n"
      "SGLang,0.5.6,NVIDIA H200,mla_generation,fa3,fp8_block,fp8,16,4,64,8,0,0.1\n");
  ASSERT_EQ(rows.points.size(), 3u);
  EXPECT_TRUE(rows.points[0].shape.latent);
  EXPECT_EQ(rows.points[0].point.y, 1024);       // 1023 + 1
  EXPECT_EQ(rows.points[1].shape.kv_heads, 16);  // keys and values of every head: 128 + 64 and 128
  EXPECT_EQ(rows.points[1].shape.head_dim, 192);
  EXPECT_EQ(rows.points[1].shape.prompts, 4);
  // DeepEP's attention is a whole block; its context leaves out the new token.
  EXPECT_GT(rows.points[2].shape.projections, 0);
  EXPECT_EQ(rows.points[2].point.y, 65);
  EXPECT_EQ(rows.tables[0].refused, 1);  // absorbed prompts
}

// Two experts of 64, each of 3 x 4096 x 4096 weights in 16 bits: 201 MB, 0.2 ms at 1 TB/s. 8 tokens
// that pick 2 of 64 read 14 experts on average, 1.4 ms.
TEST(ImportedRowsTest, ExpertsBesideImpossibleOnesAreRefused) {
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.l2_cache = Bytes{50e6};
  gpu.dense_peak[DType::fp32] = FlopsPerSecond{1e15};
  const auto experts = [](int power_law, double tokens, double seconds) {
    return TimedPoint{.shape = {.family = OperatorFamily::moe,
                                .format = "bf16",
                                .outputs = 4096,
                                .inputs = 4096,
                                .experts = 64,
                                .experts_per_token = 2,
                                .gated = true,
                                .power_law = power_law},
                      .kernel = "some",
                      .point = {.x = tokens, .time = Seconds{seconds}, .samples = 1},
                      .name = "here"};
  };
  ImportedRows rows;
  rows.points = {experts(120, 8, 0.3e-3), experts(0, 8, 1.5e-3)};
  refuse_beyond_physics(rows, gpu);
  EXPECT_EQ(rows.points.size(), 2u);  // uneven picks may be of two experts
  rows.points.push_back(experts(0, 16, 0.5e-3));
  refuse_beyond_physics(rows, gpu);
  EXPECT_TRUE(rows.points.empty());
  EXPECT_EQ(rows.refused.at("beside impossible rows: fewer experts were read than stated").rows, 2);
}

// 32 products of 2,220 us between 15 and 16: the larger sizes would all have to be as slow. The
// last size has no larger one that speaks against it.
TEST(ImportedRowsTest, ASpikeIsRefused) {
  const auto product = [](double tokens, double microseconds) {
    return TimedPoint{
        .shape = {.family = OperatorFamily::gemm, .format = "bf16", .outputs = 64, .inputs = 64},
        .kernel = "some",
        .point = {.x = tokens, .time = Seconds{microseconds * 1e-6}, .samples = 1},
        .name = "here"};
  };
  ImportedRows rows;
  rows.points = {product(16, 15), product(32, 2220), product(64, 16), product(4096, 900)};
  refuse_spikes(rows);
  ASSERT_EQ(rows.points.size(), 3u);
  EXPECT_EQ(rows.points[1].point.x, 64);
  EXPECT_EQ(rows.points[2].point.x, 4096);
  EXPECT_EQ(rows.refused.at("over three times as long as every neighbouring size").rows, 1);
}

// 4096 rows of 1,405 us between 2048 of 164 and 8192 of 684 (aiconfigurator 095f58a, vLLM 0.14 on
// H100): less than three times the larger one, but twice as long as it and four times as long as
// twice the smaller one. What a size that is too fast follows is kept (300 us is 1.6 times 190, but
// not more than 1.5 times twice 105), as is a size without a smaller one.
TEST(ImportedRowsTest, ATimeThatBothNeighboursContradictIsRefused) {
  const auto refused = [](const std::vector<std::pair<double, double>>& sizes) {
    ImportedRows rows;
    for (const auto& [tokens, microseconds] : sizes) {
      rows.points.push_back({.shape = {.family = OperatorFamily::gemm,
                                       .format = "bf16",
                                       .outputs = 6144,
                                       .inputs = 5120},
                             .kernel = "some",
                             .point = {.x = tokens, .time = Seconds{microseconds * 1e-6}},
                             .name = "here"});
    }
    refuse_spikes(rows);
    return sizes.size() - rows.points.size();
  };
  EXPECT_EQ(refused({{2048, 164}, {4096, 1405}, {8192, 684}}), 1u);
  EXPECT_EQ(refused({{2048, 105}, {4096, 300}, {8192, 190}}), 0u);
  EXPECT_EQ(refused({{4096, 1405}, {8192, 684}}), 0u);
}

// NCCL on L40S at 32 MB (aiconfigurator 095f58a): 1,689 us on two, so that a GPU sends 32 MB x 1/2
// in that time, 9.9 GB/s; 9,837 us on four: 3/4 of it, 2.6 GB/s, 26 %. On RTX PRO 6000 931 and
// 2,022 us: 18.0 and 12.4 GB/s, 69 %.
TEST(ImportedRowsTest, CollectivesByWayOfTheHostAreRefused) {
  const Gpu gpu = load_gpu("l40s").gpu;
  const auto kept = [&](double four, int ranks) {
    ImportedRows rows;
    const auto add = [&](int gpus, double bytes, double microseconds) {
      rows.points.push_back({.shape = {.family = OperatorFamily::collective, .ranks = gpus},
                             .kernel = "NCCL",
                             .point = {.x = bytes, .time = Seconds{microseconds * 1e-6}},
                             .name = "here"});
    };
    add(2, 16384, 8);
    add(2, 33554432, 1689);
    add(ranks, 16384, 16);
    add(ranks, 33554432, four);
    refuse_detours(rows, gpu);
    return rows.points.size();
  };
  EXPECT_EQ(kept(9837, 4), 2u);
  EXPECT_EQ(kept(1689.0 * 2022 / 931, 4), 4u);
  EXPECT_EQ(kept(9837, 16), 4u);  // between nodes of eight
}

TEST_F(KernelTables, WhatCannotBeReadIsRefusedWithItsLine) {
  const ImportedRows rows = read(std::string(kGemmHead) +
                                 "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,16,4096,1024,0.5\n"
                                 "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,16,4096\n"
                                 "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,-16,4096,1024,0.5\n"
                                 "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,16,4096,1024,nan\n"
                                 "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,16,4096,1024,0\n"
                                 "VLLM,0.24.0,NVIDIA H200,gemm,cublas,int3,16,4096,1024,1\n");
  EXPECT_EQ(rows.rows, 6);
  EXPECT_EQ(rows.points.size(), 1u);
  EXPECT_EQ(rows.refused.at("number of fields differs from the header's").first[0],
            "table.csv line 3");
  EXPECT_EQ(rows.refused.at("a size or time is not a number in its range").rows, 2);
  EXPECT_EQ(rows.refused.at("time is not positive").rows, 1);
  EXPECT_EQ(rows.unused.at("number format int3").rows, 1);
}

// A profile holds calls of 1 ns to 10,000 s; latencies are milliseconds.
TEST_F(KernelTables, WhatNoProfileHoldsIsRefusedWithItsLine) {
  const std::string row = "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,16,4096,1024,";
  const ImportedRows rows = read(kGemmHead + row + "0.5\n" + row + "1e300\n" + row + "1e-12\n" +
                                 row + "1.1e7\n" + row + "1e7\n");
  EXPECT_EQ(rows.points.size(), 2u);
  ASSERT_TRUE(rows.refused.contains("time is not between 1e-09 and 10000 s"));
  EXPECT_THAT(rows.refused.at("time is not between 1e-09 and 10000 s").first,
              testing::ElementsAre("table.csv line 3", "table.csv line 4", "table.csv line 5"));
  const ImportedRows messages = read(
      "framework,version,device,op_name,kernel_source,allreduce_dtype,num_gpus,message_size,"
      "latency,backend\n"
      "VLLM,0.24.0,NVIDIA H200,all_reduce,vLLM_custom,bfloat16,4096,1024,0.02,vLLM\n"
      "VLLM,0.24.0,NVIDIA H200,all_reduce,vLLM_custom,bfloat16,4098,1024,0.02,vLLM\n");
  EXPECT_EQ(messages.points.size(), 1u);
  EXPECT_EQ(messages.refused.at("larger than any operator of a profile").first[0],
            "table.csv line 3");
}

TEST_F(KernelTables, AFileThatIsNoTableIsAnErrorThatNamesItsColumns) {
  try {
    read("when,what\n1,2\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("when, what"));
  }
  EXPECT_THROW(read(""), Error);
  EXPECT_THROW(read(kGemmHead), Error);
}

TEST_F(KernelTables, EveryRowOfATableIsAccountedFor) {
  const std::string row = "VLLM,0.24.0,NVIDIA B300,gemm,cublas,bfloat16,16,4096,1024,";
  ImportedRows rows;
  read_aiconfigurator(
      file("gemm.csv", kGemmHead + row + "0.5\n" + row + "0.52\n" + row + "nan\n" +
                           "VLLM,0.24.0,NVIDIA GB300,gemm,cublas,bfloat16,16,4096,1024,0.5\n"),
      rows, [](const std::string& device) { return device == "NVIDIA GB300"; });
  settle_duplicates(rows);
  ASSERT_EQ(rows.tables.size(), 1u);
  const TableRows& table = rows.tables[0];
  EXPECT_EQ(table.file, "gemm.csv");
  EXPECT_EQ(table.kind, "gemm");
  EXPECT_EQ(table.rows, 4);
  EXPECT_EQ(table.used(), 1);
  EXPECT_EQ(table.duplicates, 1);
  EXPECT_EQ(table.refused, 1);
  EXPECT_EQ(table.unused, 1);
  EXPECT_EQ(rows.duplicates.at("timed again at the same size: averaged").rows, 1);
  EXPECT_EQ(rows.unused.at("measured on NVIDIA GB300").rows, 1);
  EXPECT_EQ(rows.devices.count("NVIDIA GB300"), 0u);
}

TimedPoint decode(double sequences, double attended, double seconds) {
  return {.shape = {.family = OperatorFamily::decode_attention,
                    .query_heads = 32,
                    .kv_heads = 8,
                    .head_dim = 128,
                    .value_dim = 128},
          .kernel = "some",
          .point = {.x = sequences, .y = attended, .time = Seconds{seconds}, .samples = 1},
          .name = "here"};
}

TEST(ImportedRowsTest, RowsOfOneSizeAreAveragedOrRefusedTogether) {
  ImportedRows rows;
  rows.points = {decode(1, 16, 10e-6), decode(1, 16, 12e-6),   // 20 % apart
                 decode(2, 16, 10e-6), decode(2, 16, 13e-6)};  // 30 % apart: over a quarter
  settle_duplicates(rows);
  ASSERT_EQ(rows.points.size(), 1u);
  EXPECT_DOUBLE_EQ(rows.points[0].point.time.value, 11e-6);
  EXPECT_EQ(rows.points[0].point.samples, 2);
  EXPECT_EQ(rows.refused.at("contradicts another row of the same size").rows, 2);
}

TEST(ImportedRowsTest, ReadsThatTheCacheServedAreRefused) {
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.l2_cache = Bytes{64e6};
  // A cached token of 8 heads of 128 keys and 128 values in 16 bits is 4,096 bytes: 16 sequences of
  // 1,000 tokens read 65.5 MB, 65.5 us from memory on top of the shortest call of 10 us. 300,000
  // tokens are 1.2 GB, beyond any cache.
  ImportedRows rows;
  rows.points = {decode(1, 1, 10e-6), decode(16, 1000, 60e-6), decode(16, 1001, 80e-6),
                 decode(300, 1000, 1000e-6)};
  refuse_cached_reads(rows, gpu);
  EXPECT_EQ(rows.points.size(), 3u);
  EXPECT_EQ(rows.refused.at("keys and values read from the L2 cache").rows, 1);
}

// Keys and values of 65.5 MB take 65.5 us at 1 TB/s: 20 us are impossible, unless the cache of 64
// MB held them. 10 GFLOP/s would not allow it even then (268 MFLOP: 27 ms).
TEST(ImportedRowsTest, TimesThatOnlyMemoryForbidsWereReadFromTheCache) {
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.l2_cache = Bytes{64e6};
  gpu.dense_peak[DType::fp32] = FlopsPerSecond{1e15};
  ImportedRows rows;
  rows.points = {decode(16, 1000, 20e-6), decode(300, 1000, 500e-6)};
  refuse_beyond_physics(rows, gpu);
  EXPECT_TRUE(rows.points.empty());
  EXPECT_EQ(rows.refused.at("keys and values read from the L2 cache").rows, 1);
  EXPECT_EQ(rows.refused.at("faster than the GPU's peaks and bandwidths allow").rows, 1);
  gpu.dense_peak[DType::fp32] = FlopsPerSecond{1e10};
  rows = {};
  rows.points = {decode(16, 1000, 20e-6)};
  refuse_beyond_physics(rows, gpu);
  EXPECT_TRUE(rows.refused.contains("faster than the GPU's peaks and bandwidths allow"));
}

// 21 impossible points of 420 are a twentieth, of 419 more than that.
TEST(ImportedRowsTest, AFileThatIsOftenImpossibleIsRefusedWhole) {
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.dense_peak[DType::fp32] = FlopsPerSecond{1e15};
  for (const int points : {420, 419}) {
    ImportedRows rows;
    begin_table(rows, "some.csv", "attention");
    // 300,000 cached tokens of 4,096 bytes take 1.2 ms.
    for (int i = 0; i < 21; ++i) add_point(rows, decode(300, 1000 + i, 1e-4));
    for (int i = 21; i < points; ++i) add_point(rows, decode(300, 1000 + i, 2e-3));
    refuse_beyond_physics(rows, gpu);
    EXPECT_EQ(rows.points.size(), points == 420 ? 399u : 0u);
  }
}

TEST(ImportProfile, KeepsFactsRefusesWhatBeatsPhysicsAndSaysSo) {
  const Gpu known = load_gpu("h200").gpu;
  const OperatorShape shape{
      .family = OperatorFamily::gemm, .format = "bf16", .outputs = 4096, .inputs = 4096};
  // 4096 x 4096 weights of 16 bits are 33.6 MB: 7 us at 4.8 TB/s.
  ImportedRows rows;
  for (const double m : {1.0, 2.0, 4.0, 8.0}) {
    rows.points.push_back({.shape = shape,
                           .kernel = "some",
                           .point = {.x = m, .time = Seconds{10e-6}, .samples = 1},
                           .name = "fine"});
  }
  rows.points.push_back({.shape = shape,
                         .kernel = "some",
                         .point = {.x = 16, .time = Seconds{5e-6}, .samples = 1},
                         .name = "too fast"});
  rows.devices["NVIDIA H200"] = 5;
  rows.sources.push_back(
      {.kernel = "some", .graph_saving = Seconds{2e-6}, .attention_writes_cache = true});
  const Gpu gpu =
      import_profile(rows, known, {.date = "2026-11-21T10:15:00Z", .tool = "roofcast 0.1.0"});
  ASSERT_EQ(gpu.measured->curves.size(), 1u);
  EXPECT_EQ(gpu.measured->curves[0].points.size(), 4u);
  EXPECT_EQ(gpu.measured->curves[0].graph_saving.value, 2e-6);
  EXPECT_FALSE(gpu.measured->curves[0].writes_cache);  // of attention alone
  EXPECT_EQ(gpu.memory, known.memory);
  EXPECT_EQ(gpu.measured->device, "NVIDIA H200");
  ASSERT_EQ(gpu.measured->rejected.size(), 1u);
  EXPECT_THAT(gpu.measured->rejected[0], HasSubstr("too fast"));
  EXPECT_EQ(parse_gpu(write_gpu(gpu), "here"), gpu);

  ImportedRows nothing;
  nothing.rows = 1;
  leave_out(nothing, LeftOutAs::unused, "beam search", "table.csv line 2");
  try {
    import_profile(nothing, known, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none of 1 rows is usable: 1 rows: beam search"));
  }
}

TEST(MixedAttentionTest, WhatDecodingTakesBesideAChunkIsToldApart) {
  // Chunks alone: 10, 40 and 100 us. Beside the shortest, 16 sequences of 512 tokens take 50 us
  // more. A chunk of 512 has 3 tiles of 128 queries more than one, of 16 sequences and 4 heads: 192
  // empty tiles, here 9.6 us of 40 + 50 + 9.6.
  const std::vector<AttentionCall> calls = {
      {.chunk = 16, .time = Seconds{10e-6}},
      {.chunk = 512, .time = Seconds{40e-6}},
      {.chunk = 512, .cached = 64, .time = Seconds{100e-6}},
      {.sequences = 16, .attended = 512, .time = Seconds{30e-6}},
      {.chunk = 16, .sequences = 16, .attended = 512, .time = Seconds{60e-6}},
      {.chunk = 16, .sequences = 1, .attended = 1024, .time = Seconds{30e-6}},
      {.chunk = 16, .sequences = 1, .attended = 2048, .time = Seconds{50e-6}},
      {.chunk = 512, .sequences = 16, .attended = 512, .time = Seconds{99.6e-6}}};
  const MixedAttention mixed = mixed_attention(calls, 4);
  ASSERT_EQ(mixed.beside.size(), 3u);
  EXPECT_EQ(mixed.beside[2].x, 16);
  EXPECT_EQ(mixed.beside[2].y, 512);
  EXPECT_NEAR(mixed.beside[2].time.value, 50e-6, 1e-15);
  EXPECT_NEAR(mixed.empty_tile.value, 9.6e-6 / 192, 1e-15);
  // One sequence of 2,048 tokens takes 20 us longer than one of 1,024.
  EXPECT_NEAR(mixed.tail_token.value, 20e-6 / 1024, 1e-15);
}

class ProfilerFolder : public KernelTables {
 protected:
  void SetUp() override {
    file("meta.yaml",
         "vllm_version: 0.19.0\ngpu: NVIDIA GeForce RTX 4090\nmodel: meta-llama/Llama-3.1-8B\n"
         "measurement_iterations: 3\nengine:\n  model: /tmp/x\n");
    file("tp1/dense.csv", "layer,tokens,time_us\nqkv_proj,16,56.5\nlayernorm,16,2\nsecret,16,2\n");
    file("tp1/per_sequence.csv", "layer,sequences,time_us\nlm_head,4,1106.9\nsampler,4,27\n");
    file("tp1/attention.csv",
         "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
         "0,0,8,1024,56\n512,128,0,0,50\n512,0,8,1024,130\n");
  }

  ImportedRows read_folder() {
    const Gpu gpu = load_gpu("rtx-4090").gpu;
    Deployment deployment{.model = load_model("llama-3.1-8b"), .gpu = gpu};
    deployment.engine = resolve_engine("vllm-0.19", {}, deployment.model, gpu, {});
    ImportedRows rows;
    const std::filesystem::path top = folder_.path();
    read_llmservingsim((top / "tp1").string(), read_profiler_meta((top / "meta.yaml").string()),
                       deployment, rows);
    return rows;
  }
};

TEST_F(ProfilerFolder, LayersBecomeTheModelsOperators) {
  const ImportedRows rows = read_folder();
  ASSERT_EQ(rows.points.size(), 6u);
  // LLaMA-3.1-8B: (32 + 2 * 8) heads of 128 from 4,096.
  EXPECT_EQ(rows.points[0].shape.outputs, 6144);
  EXPECT_EQ(rows.points[0].shape.inputs, 4096);
  EXPECT_DOUBLE_EQ(rows.points[0].point.time.value, 56.5e-6);
  EXPECT_EQ(rows.points[0].point.samples, 3);
  EXPECT_EQ(rows.points[1].shape.name, "norms");
  EXPECT_EQ(rows.points[1].point.x, 16 * 4 * 4096 * 2);  // input, residual: read and written
  EXPECT_EQ(rows.points[2].shape.outputs, 128256);       // the LM head, by sequences
  EXPECT_EQ(rows.points[2].point.x, 4);
  EXPECT_EQ(rows.points[4].shape.family, OperatorFamily::decode_attention);
  EXPECT_EQ(rows.points[4].point.x, 8);
  EXPECT_EQ(rows.points[4].point.y, 1024);
  EXPECT_EQ(rows.points[5].point.x, 512);
  EXPECT_EQ(rows.points[5].point.y, 128);
  ASSERT_EQ(rows.sources.size(), 1u);
  EXPECT_EQ(rows.sources[0].kernel, rows.points[0].kernel);
  EXPECT_EQ(rows.sources[0].graph_saving.value, 1.8e-6);
  EXPECT_EQ(rows.unused.at("layer secret").rows, 1);
  EXPECT_EQ(rows.versions.at("vLLM"), "0.19.0");
}

TEST_F(ProfilerFolder, AMissingTableIsNamed) {
  std::filesystem::remove(std::filesystem::path(folder_.path()) / "tp1" / "attention.csv");
  try {
    read_folder();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("attention.csv"));
  }
}

TEST_F(ProfilerFolder, AMetaFileWithoutGpuIsRefused) {
  file("meta.yaml", "model: meta-llama/Llama-3.1-8B\nvllm_version: 0.19.0\n");
  EXPECT_THROW(read_folder(), Error);
}

TEST(KernelTablesOfOthers, ProductsWhoseWeightsStayInTheCacheOfAnL40sAreRefused) {
  const std::string name = "kernel_tables/aiconfigurator/l40s_vllm0.24.0_gemm.csv.gz";
  SKIP_WITHOUT_SHARED_DATA(name);
  ImportedRows rows;
  read_aiconfigurator(test::shared_data(name).string(), rows);
  EXPECT_EQ(rows.rows, 107066);  // lines of the file without its head
  const Gpu gpu = import_profile(rows, load_gpu("l40s").gpu,
                                 {.date = "2026-11-21T10:15:00Z", .tool = "roofcast 0.1.0"});
  // Its L2 has 96 MB. No row of the file has more than 1.10 of the peak, so that memory alone rules
  // rows out.
  EXPECT_TRUE(rows.refused.contains("weights read from the L2 cache"));
  EXPECT_FALSE(rows.refused.contains("faster than the GPU's peaks and bandwidths allow"));
  for (const MeasuredCurve& curve : gpu.measured->curves) {
    EXPECT_EQ(curve.shape.family, OperatorFamily::gemm);
    EXPECT_GT(curve.p90_error, 0);
  }
}

}  // namespace
}  // namespace roofcast
