#include "roofcast/import.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/curves/measured_curve.hpp"
#include "model/io/gpu_reader.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ImportQuestions : public testing::Test {
 protected:
  TemporaryFolder folder_;
};

constexpr const char* kBench =
    R"({"backend":"vllm","model_id":"org/m","num_prompts":2,"request_rate":"inf",
"duration":2.0,"completed":2,"total_input_tokens":200,"total_output_tokens":22,
"request_throughput":1.0,"output_throughput":11.0,"mean_ttft_ms":50.0,"mean_tpot_ms":10.0,
"mean_e2el_ms":150.0,"input_lens":[100,100],"output_lens":[11,11],"ttfts":[0.05,0.05],
"a key of its own":{"b":[1,"c"]}})";

TEST_F(ImportQuestions, RunsReadBackAsTheyWereWritten) {
  ImportQuestion question{.paths = {folder_.write("bench.json", kBench)}};
  question.options.meta = {{"gpu", "h100"}, {"tp", "2"}};
  ImportAnswer answer = import_runs(question);
  ASSERT_THAT(answer.runs, SizeIs(1));
  answer.runs[0].id = 7;
  answer.inputs.store = "store.db";
  const ImportAnswer read = read_back(answer, import_answer_from_json, import_answer_schema());
  const ImportedRun& run = read.runs.at(0);
  EXPECT_EQ(run.id, 7);
  EXPECT_EQ(run.requests, 2);
  EXPECT_EQ(run.run.setting.model, "org/m");
  EXPECT_EQ(run.run.setting.tensor, 2);
  EXPECT_EQ(run.run.setting.pipeline, std::nullopt);
  EXPECT_TRUE(std::isinf(run.run.setting.request_rate_per_s.value()));
  EXPECT_EQ(run.run.setting.other.at("a key of its own"), R"({"b":[1,"c"]})");
  EXPECT_EQ(gpu_of(run.run.setting), "h100 x 2");
  EXPECT_EQ(read.inputs.meta, question.options.meta);
}

TEST_F(ImportQuestions, ABrokenFileDoesNotKeepTheOthersFromBeingRead) {
  const ImportAnswer answer = import_runs({.paths = {folder_.write("notes.txt", "nothing measured"),
                                                     folder_.write("bench.json", kBench)}});
  EXPECT_THAT(answer.runs, SizeIs(1));
  EXPECT_THAT(answer.problems, ElementsAre(HasSubstr("notes.txt: contains no result")));
}

TEST_F(ImportQuestions, APathThatDoesNotExistKeepsWhatWasReadBefore) {
  const ImportAnswer answer =
      import_runs({.paths = {folder_.write("notes.txt", "nothing measured"),
                             folder_.write("bench.json", kBench), "no/such/folder",
                             folder_.write("more.json", kBench)}});
  EXPECT_THAT(answer.runs, SizeIs(2));
  EXPECT_THAT(answer.problems,
              ElementsAre(HasSubstr("notes.txt: contains no result"), HasSubstr("no/such/folder")));
}

/// A product at four sizes; the third row has no time.
constexpr const char* kTable =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,1,4096,4096,0.010\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,16,4096,4096,0.011\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,64,4096,4096,0\n"
    "VLLM,0.24.0,NVIDIA H200,gemm,cublas,bfloat16,256,4096,4096,0.020\n";

TEST_F(ImportQuestions, TablesReadBackAsTheyWereWritten) {
  const std::string out = folder_.path() + "/mine.json";
  const TablesAnswer answer =
      import_tables({.paths = {folder_.write("gemm.csv", kTable)}, .gpu = "h200", .out = out});
  const TablesAnswer read = read_back(answer, tables_answer_from_json, tables_answer_schema());
  EXPECT_EQ(read.rows, 4);
  EXPECT_EQ(read.curves, 1);
  EXPECT_EQ(read.points, 3);
  ASSERT_THAT(read.refused, SizeIs(1));
  EXPECT_EQ(read.refused[0].rows, 1);
  EXPECT_THAT(read.refused[0].first, ElementsAre(HasSubstr("gemm.csv line 4")));
  EXPECT_THAT(read.unused, IsEmpty());
  ASSERT_THAT(read.tables, SizeIs(1));
  EXPECT_EQ(read.tables[0].file, "gemm.csv");
  EXPECT_EQ(read.tables[0].used(), 3);
  ASSERT_THAT(read.families, SizeIs(1));
  EXPECT_EQ(read.families[0].family, OperatorFamily::gemm);
  EXPECT_TRUE(std::filesystem::exists(out));
}

TEST_F(ImportQuestions, ATableOfMoreSizesThanAProfileHoldsIsThinnedAndReadsBack) {
  // AITER's own table of an MI355X has 4,112 numbers of rows of one product. Here 2,500, each of
  // 10 us and 0.1 us a row, beyond which a HIP graph takes 2.99 us to start a kernel.
  std::string table =
      "op,kind,gfx,cu_num,dtype,B,M,N,K,us,tflops,libtype,split_k,bpreshuffle,file\n";
  for (int rows = 1; rows <= 2500; ++rows) {
    table += fmt::format("gemm,a8w8_blockscale,gfx950,256,fp8,1,{},8192,512,{},1,ck,0,,a.csv\n",
                         rows, 10 + 0.1 * rows);
  }
  const std::string out = folder_.path() + "/mine.json";
  const TablesAnswer answer = import_tables(
      {.paths = {folder_.write("gemm_best.csv", table)}, .gpu = "mi355x", .out = out});
  EXPECT_THAT(answer.warnings, ElementsAre(HasSubstr("1 of 1 curve with more than 2000 sizes")));
  const Gpu gpu = load_gpu(out).gpu;
  ASSERT_THAT(gpu.measured->curves, SizeIs(1));
  const MeasuredCurve& curve = gpu.measured->curves[0];
  EXPECT_LE(curve.points.size(), 2000u);
  EXPECT_EQ(curve.points.front().x, 1);
  EXPECT_EQ(curve.points.back().x, 2500);
  for (double rows = 1; rows <= 2500; ++rows) {
    const double time = roofcast::answer(curve, rows, 0, gpu.multiprocessors).time.value;
    EXPECT_NEAR(time / (12.99e-6 + 0.1e-6 * rows), 1, 0.0101) << rows;
  }
}

TEST_F(ImportQuestions, TablesOfAnotherGpuWriteNothing) {
  const std::string out = folder_.path() + "/mine.json";
  const std::string table = folder_.write("gemm.csv", kTable);
  EXPECT_THAT(complaint([&] { import_tables({.paths = {table}, .gpu = "l40s", .out = out}); }),
              HasSubstr("4 rows: measured on NVIDIA H200"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace roofcast::test
