// Tables of AITER and of cuDNN's benchmark.
#include "calibrate/tables/other_tables.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/statistics.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/step/measured_time.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

const std::string kExpertsHead =
    "gfx,cu_num,token,model_dim,inter_dim,expert,topk,act,dtype,q_dtype_a,q_dtype_w,q_type,"
    "use_g1u1,us_total,us1,us2,tflops,bw,run_1stage,file\n";

class OtherTables : public testing::Test {
 protected:
  /// What a table holds for an MI300X or a GB200.
  ImportedRows read(const std::string& text) {
    Gpu gpu;
    gpu.display_name = "AMD Instinct MI300X";
    gpu.compute_capability = "gfx942";
    gpu.multiprocessors = 304;
    ImportedRows rows;
    EXPECT_TRUE(read_other_table(
        file(text), gpu, rows, [](const std::string& device) { return device != "NVIDIA GB200"; }));
    return rows;
  }

  std::string file(const std::string& text) {
    const auto path = std::filesystem::path(folder_.path()) / "table.csv";
    std::ofstream(path) << text;
    return path.string();
  }

  test::TemporaryFolder folder_;
};

TEST_F(OtherTables, AitersProductsAreThoseOfTheChip) {
  const std::string head =
      "op,kind,gfx,cu_num,dtype,B,M,N,K,us,tflops,libtype,split_k,bpreshuffle,file\n";
  const ImportedRows rows =
      read(head +
           "gemm,a8w8_blockscale,gfx942,304,fp8,1,64,3584,5120,20.5,100,ck,0,,a.csv\n"
           "batched_gemm,bf16,gfx942,304,bf16,16,32,1280,8192,69,155,,0,,b.csv\n"
           "gemm,a8w8,gfx942,80,int8,1,64,3584,5120,20.5,100,ck,0,,a.csv\n"
           "gemm,a4w4_blockscale,gfx950,256,fp4,1,64,3584,5120,20.5,100,,0,,a.csv\n");
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].shape.format, "fp8_block");
  EXPECT_EQ(rows.points[0].shape.outputs, 3584);
  EXPECT_EQ(rows.points[0].shape.inputs, 5120);
  // A HIP graph starts a kernel in 2.99 us, without which AITER times them.
  EXPECT_DOUBLE_EQ(rows.points[0].point.time.value, 23.49e-6);
  EXPECT_EQ(rows.points[0].kernel, "tuned, AITER");
  EXPECT_EQ(rows.points[1].shape.query_heads, 16);
  EXPECT_EQ(rows.unused.at("measured on gfx942 of 80 units").rows, 1);
  EXPECT_EQ(rows.unused.at("measured on gfx950 of 256 units").rows, 1);
  EXPECT_EQ(rows.devices.at("AMD Instinct MI300X"), 2);
}

// A token's nine experts of three matrices of 7,168 x 256 are 2 x 3 x 9 x 7,168 x 256 = 99.09
// MFLOP, so that 64 tokens in 413 us are 15.36 TFLOP/s; two matrices in 900 us 4.70.
TEST_F(OtherTables, AitersExpertsAreToldApartByTheirTypes) {
  const ImportedRows rows =
      read(kExpertsHead +
           ",304,64,7168,256,257,9,ActivationType.Silu,torch.bfloat16,torch.float8_e4m3fnuz,"
           "torch.float8_e4m3fnuz,QuantType.per_1x128,1,413,200,213,15.36,1,0,a.csv\n"
           "gfx942,304,64,7168,256,257,9,ActivationType.Silu,torch.bfloat16,torch.bfloat16,"
           "torch.bfloat16,QuantType.No,0,900,900,0,4.7,1,1,a.csv\n"
           ",80,64,7168,256,257,9,ActivationType.Silu,torch.bfloat16,torch.bfloat16,"
           "torch.bfloat16,QuantType.No,1,900,500,400,1,1,0,a.csv\n");
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].shape.format, "fp8_block");
  EXPECT_EQ(rows.points[0].shape.outputs, 256);
  EXPECT_EQ(rows.points[0].shape.experts, 257);
  EXPECT_TRUE(rows.points[0].shape.gated);
  // Two kernels, each started by the graph, and one.
  EXPECT_DOUBLE_EQ(rows.points[0].point.time.value, 418.98e-6);
  EXPECT_EQ(rows.points[1].shape.format, "bf16");
  EXPECT_FALSE(rows.points[1].shape.gated);
  EXPECT_DOUBLE_EQ(rows.points[1].point.time.value, 902.99e-6);
}

// Of 1,024 tokens in 359.48 us, 250.9 TFLOP/s are those of eight experts a token. The same two
// numbers at 8,192 tokens or with a ninth expert are not of that size. A row may leave them out.
TEST_F(OtherTables, AitersExpertsOfAnotherSizeAreRefused) {
  const auto row = [](int tokens, const char* experts, const char* teraflops) {
    return fmt::format(
        ",304,{},7168,256,{},ActivationType.Silu,torch.bfloat16,torch.float8_e4m3fnuz,"
        "torch.float8_e4m3fnuz,QuantType.per_1x128,1,359.48,359.48,0,{},1,1,a.csv\n",
        tokens, experts, teraflops);
  };
  const ImportedRows rows =
      read(kExpertsHead + row(1024, "256,8", "250.9") + row(8192, "256,8", "250.9") +
           row(1024, "257,9", "250.9") + row(2048, "256,8", "0"));
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].point.x, 1024);
  EXPECT_EQ(rows.points[1].point.x, 2048);
  EXPECT_EQ(rows.refused.at("time of another size, as its TFLOP/s tell").rows, 2);
}

TEST_F(OtherTables, CudnnsCausalForwardPassesArePrompts) {
  const std::string head =
      "config_name,model_name,backend,data_type,attn_mask,batch_size,q_seqlen,kv_seqlen,"
      "num_q_heads,num_kv_heads,head_dim_qk,head_dim_vo,profile_pass,deterministic_bwd,time_ms,"
      "tflops,max_diff,num_iterations,sliding_window_size,success,error_message,gpu_name,"
      "cudnn_version,cudnn_backend_version\n";
  const std::string end = ",1600,0,10,,True,,NVIDIA GB200,1.21.1,92200\n";
  const ImportedRows rows =
      read(head + "dsv3,dsv3,cudnn,bfloat16,top_left,2,4096,4096,128,128,192,128,fwd,False,0.9" +
           end + "dsv3,dsv3,cudnn,fp8,top_left,2,4096,4096,128,128,192,128,fwd,False,0.6" + end +
           "dsv3,dsv3,cudnn,bfloat16,top_left,2,4096,4096,128,128,192,128,bwd,False,3" + end +
           "dsv3,dsv3,cudnn,bfloat16,no_mask,2,4096,4096,128,128,192,128,fwd,False,2" + end);
  ASSERT_EQ(rows.points.size(), 2u);
  EXPECT_EQ(rows.points[0].shape.head_dim, 192);
  EXPECT_EQ(rows.points[0].shape.value_dim, 128);
  EXPECT_EQ(rows.points[0].shape.prompts, 2);
  EXPECT_EQ(rows.points[0].point.x, 4096);
  EXPECT_DOUBLE_EQ(rows.points[0].point.time.value, 0.9e-3);
  EXPECT_TRUE(rows.points[1].shape.fp8_arithmetic);
  EXPECT_EQ(rows.tables[0].unused, 2);
}

TEST_F(OtherTables, AnotherTableIsNotTheirs) {
  ImportedRows rows;
  EXPECT_FALSE(read_other_table(file("framework,version\nVLLM,0.24.0\n"), {}, rows));
  EXPECT_TRUE(rows.tables.empty());
}

/// How long a step's kernel takes by the built-in tables, over the time that was read; 0 where none
/// answers.
double told_over_timed(const TimedPoint& timed, const Gpu& gpu) {
  const auto times = measured_times(gpu, timed.shape, {}, "sglang");
  return times ? times->at(timed.point.x, 0) / timed.point.time : 0;
}

// AITER's own table (ROCm/aiter e4048607): a product of 4,096 rows, 2,112 outputs and 7,168 inputs
// in fp8 with scales of blocks takes 146.9 us on an MI300X, which a HIP graph starts in 2.99 us. By
// the shares of other vendors' GPUs, 55 % of the peak, 124 GFLOP at 2,615 TFLOP/s would take 89 us.
TEST(BuiltInAiterTables, ALargeProductTakesWhatItWasTimedAt) {
  const Gpu gpu = load_gpu("mi300x").gpu;
  const TimedPoint timed{.shape = {.family = OperatorFamily::gemm,
                                   .format = "fp8_block",
                                   .outputs = 2112,
                                   .inputs = 7168},
                         .point = {.x = 4096, .time = Seconds{149.89e-6}}};
  EXPECT_NEAR(told_over_timed(timed, gpu), 1, 0.05);  // points are thinned to 5 %
}

// Llama-3.1-8B's and Qwen3-32B's projections of queries, keys and values over one to eight GPUs.
// MI355X's 100, 200 and 800 outputs of 5,120 inputs, near to the last, were left with slow kernels.
TEST(BuiltInAiterTables, HalfTheOutputsOfProjectionsTakeNoLonger) {
  const Gpu gpu = load_gpu("mi355x").gpu;
  const auto time_of = [&](std::int64_t outputs, std::int64_t inputs, double tokens) {
    const OperatorShape product{
        .family = OperatorFamily::gemm, .format = "bf16", .outputs = outputs, .inputs = inputs};
    return measured_times(gpu, product, {}, "sglang").value().at(tokens, 0);
  };
  for (const auto& [outputs, inputs] : {std::pair(6144, 4096), std::pair(10240, 5120)}) {
    for (const int ranks : {1, 2, 4}) {
      for (const double tokens : {1.0, 32.0, 512.0, 2048.0, 8192.0}) {
        const std::int64_t share = outputs / ranks;
        EXPECT_LE(time_of(share / 2, inputs, tokens), time_of(share, inputs, tokens))
            << share << " x " << inputs << ", " << tokens << " tokens";
      }
    }
  }
}

// The tables are made of these rows, so that this says nothing of their accuracy: it checks that
// each row is found again by its shape.
TEST(BuiltInAiterTables, AnswerTheRowsThatTheyWereMadeOf) {
  for (const char* table : {"gemm_best.csv.gz", "moe.csv.gz"}) {
    const std::string name = std::string("kernel_tables/aiter/") + table;
    SKIP_WITHOUT_SHARED_DATA(name);
    for (const char* gpu_name : {"mi300x", "mi355x"}) {
      const Gpu gpu = load_gpu(gpu_name).gpu;
      ImportedRows rows;
      ASSERT_TRUE(read_other_table(test::shared_data(name).string(), gpu, rows, {}));
      std::vector<double> ratios;
      for (const TimedPoint& timed : rows.points) {
        const double exponent = std::log2(timed.point.x);
        if (exponent == std::round(exponent)) ratios.push_back(told_over_timed(timed, gpu));
      }
      EXPECT_GT(ratios.size(), 50u) << gpu_name << " " << table;
      std::sort(ratios.begin(), ratios.end());
      EXPECT_NEAR(quantile(ratios, 0.5), 1, 0.02) << gpu_name << " " << table;
      EXPECT_NEAR(quantile(ratios, 0.1), 1, 0.1) << gpu_name << " " << table;
      EXPECT_NEAR(quantile(ratios, 0.9), 1, 0.1) << gpu_name << " " << table;
    }
  }
}

}  // namespace
}  // namespace roofcast
