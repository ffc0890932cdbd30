#include <gmock/gmock.h>

#include <cmath>

#include "tests/reports/importers/import_text.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two requests with 100 tokens in and 11 out: 50 + 10 x (11 - 1) = 150 ms each.
const std::string kAggregate =
    R"({"date":"20260102-030405","endpoint_type":"vllm","backend":"vllm","label":null,
"model_id":"org/model-x","tokenizer_id":"org/model-x","num_prompts":2,"request_rate":"inf",
"burstiness":1.0,"max_concurrency":8,"duration":2.0,"completed":2,"total_input_tokens":200,
"total_output_tokens":22,"request_throughput":1.0,"request_goodput":null,
"output_throughput":11.0,"total_token_throughput":111.0,"mean_ttft_ms":50.0,"median_ttft_ms":49.0,
"std_ttft_ms":2.0,"p99_ttft_ms":53.0,"p99.9_ttft_ms":54.0,"mean_tpot_ms":10.0,"mean_itl_ms":10.0)";

TEST(VllmServe, AggregateResultIsReadInSeconds) {
  const MeasuredRun run = import_one(kAggregate + "}");
  EXPECT_EQ(run.format, "vllm-bench-serve");
  EXPECT_EQ(run.origin, "r.json");
  EXPECT_EQ(run.setting.model, "org/model-x");
  EXPECT_EQ(run.setting.engine, "vllm");
  EXPECT_TRUE(std::isinf(run.setting.request_rate_per_s.value()));
  EXPECT_EQ(run.setting.max_concurrency, 8);
  EXPECT_EQ(run.setting.requests, 2);
  EXPECT_EQ(run.setting.mean_input_tokens, 100.0);
  EXPECT_EQ(run.setting.mean_output_tokens, 11.0);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), 0.05);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p50"), 0.049);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "p99.9"), 0.054);
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "std"), 0.002);
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.01);
  EXPECT_EQ(metric(run, "makespan_s"), 2);
  EXPECT_EQ(metric(run, "request_rate_per_s"), 1);
  EXPECT_EQ(metric(run, "output_tokens_per_s"), 11);
  EXPECT_FALSE(has_metric(run, "goodput_per_s"));
}

TEST(VllmServe, MissingEndToEndLatencyIsDerivedAndSaidSo) {
  const MeasuredRun run = import_one(kAggregate + "}");
  EXPECT_DOUBLE_EQ(metric(run, "derived_e2e_s", "mean"), 0.15);
  EXPECT_FALSE(has_metric(run, "e2e_s", "mean"));  // not measured
  EXPECT_THAT(run.warnings, ElementsAre(HasSubstr("has no E2E")));
  const MeasuredRun told = import_one(kAggregate + R"(,"mean_e2el_ms":151.0})");
  EXPECT_DOUBLE_EQ(metric(told, "e2e_s", "mean"), 0.151);
  EXPECT_THAT(told.warnings, IsEmpty());
}

TEST(VllmServe, MetadataIsTextAndGivesTheSetting) {
  const MeasuredRun run = import_one(
      kAggregate + R"(,"tp":"2","gpu":"h100","dtype":"fp8","vllm_version":"0.19.0","note":"a"})");
  EXPECT_EQ(run.setting.tensor, 2);
  EXPECT_EQ(run.setting.gpu, "h100");
  EXPECT_EQ(run.setting.quantization, "fp8");
  EXPECT_EQ(run.setting.engine_version, "0.19.0");
  EXPECT_EQ(run.setting.other.at("note"), "\"a\"");
  EXPECT_EQ(run.setting.other.at("burstiness"), "1.0");
}

TEST(VllmServe, MetaOfTheUserWins) {
  const MeasuredRun run = import_one(
      kAggregate + R"(,"tp":"2"})",
      {.format = "", .meta = {{"tp", "4"}, {"gpu", "h200"}, {"room", "7"}}, .since = ""});
  EXPECT_EQ(run.setting.tensor, 4);
  EXPECT_EQ(run.setting.gpu, "h200");
  EXPECT_EQ(run.setting.other.at("room"), "\"7\"");
  EXPECT_THAT(import_error(kAggregate + "}", {.format = "", .meta = {{"tp", "two"}}, .since = ""}),
              HasSubstr("`meta`: tp is 'two', expected a number"));
}

TEST(VllmServe, DetailedResultKeepsItsRequests) {
  // Sent 0 and 0.5 s after the first; a gap of 20 ms twice, and 30 ms once: E2E 90 and 50 ms,
  // TPOT 20 and 30 ms. The third failed.
  const MeasuredRun run = import_one(kAggregate + R"(,"input_lens":[100,60,9],"output_lens":[3,2,0],
"ttfts":[0.05,0.02,0.0],"itls":[[0.02,0.02],[0.03],[]],"start_times":[10.0,10.5,10.6],
"generated_texts":["a","b",""],"errors":["","","refused"]})");
  ASSERT_EQ(run.requests.size(), 3U);
  EXPECT_DOUBLE_EQ(run.requests[1].arrival_s, 0.5);
  EXPECT_DOUBLE_EQ(run.requests[1].first_token_s.value(), 0.52);
  EXPECT_DOUBLE_EQ(run.requests[1].finished_s.value(), 0.55);
  EXPECT_EQ(run.requests[0].input_tokens, 100);
  EXPECT_EQ(run.requests[0].output_tokens, 3);
  EXPECT_FALSE(run.requests[2].finished_s.has_value());
  EXPECT_NEAR(metric(run, "e2e_s", "mean"), 0.07, 1e-12);
  EXPECT_NEAR(metric(run, "e2e_s", "max"), 0.09, 1e-12);
  EXPECT_NEAR(metric(run, "tpot_s", "p50"), 0.025, 1e-12);
  // The file's own figures stay.
  EXPECT_DOUBLE_EQ(metric(run, "ttft_s", "mean"), 0.05);
}

TEST(VllmServe, PercentilesInterpolateAsNumpyDoes) {
  // p90 of 10, 20, 30, 40 ms: rank 0.9 x 3 = 2.7, so 30 + 0.7 x 10 = 37 ms.
  const MeasuredRun run = import_one(kAggregate + R"(,"input_lens":[1,1,1,1],
"output_lens":[2,2,2,2],"ttfts":[0,0,0,0],"itls":[[0.04],[0.01],[0.03],[0.02]]})");
  EXPECT_NEAR(metric(run, "tpot_s", "p90"), 0.037, 1e-12);
  EXPECT_NEAR(metric(run, "e2e_s", "p90"), 0.037, 1e-12);
}

TEST(VllmServe, AppendedResultsAreARunEach) {
  const auto runs = import_text(kAggregate + "}\n" + kAggregate + "}" + kAggregate + "}\n\n");
  ASSERT_EQ(runs.size(), 3U);
  // The text of a result has six lines.
  EXPECT_EQ(runs[0].origin, "r.json, line 1");
  EXPECT_EQ(runs[1].origin, "r.json, line 7");
  EXPECT_EQ(runs[2].origin, "r.json, line 12");
}

TEST(VllmServe, SummaryOfASweepIsAListOfRunsWithTheirOverrides) {
  const auto runs = import_text("[" + kAggregate + R"(,"run_number":0,"max_num_seqs":64,
"tensor_parallel_size":2},)" + kAggregate +
                                R"(,"run_number":1,"max_num_seqs":128}])");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].origin, "r.json, entry 2");
  EXPECT_EQ(runs[0].setting.tensor, 2);
  EXPECT_EQ(runs[0].setting.other.at("max_num_seqs"), "64");
  EXPECT_EQ(runs[1].setting.other.at("max_num_seqs"), "128");
}

TEST(VllmServe, NumbersThatJsonDoesNotHaveAreTaken) {
  const MeasuredRun run = import_one(
      R"({"request_rate": Infinity, "request_throughput": 1.0, "num_prompts": 1,
"total_output_tokens": 5, "mean_ttft_ms": NaN, "p99_ttft_ms": null, "mean_tpot_ms": 3})");
  EXPECT_TRUE(std::isinf(run.setting.request_rate_per_s.value()));
  EXPECT_FALSE(has_metric(run, "ttft_s", "mean"));
  EXPECT_FALSE(has_metric(run, "ttft_s", "p99"));
  EXPECT_DOUBLE_EQ(metric(run, "tpot_s", "mean"), 0.003);
}

TEST(VllmServe, ADtypeSaysWeightsOnlyWhereItIsNoActivations) {
  const auto quantization = [](const std::string& keys) {
    return import_one(kAggregate + keys + "}").setting.quantization;
  };
  EXPECT_EQ(quantization(R"(,"dtype":"fp8")"), "fp8");
  EXPECT_EQ(quantization(R"(,"dtype":"torch.bfloat16")"), "");
  EXPECT_EQ(quantization(R"(,"dtype":"float32")"), "");
  EXPECT_EQ(quantization(R"(,"dtype":"bfloat16","quantization":"fp8")"), "fp8");
  EXPECT_EQ(quantization(R"(,"quantization":"awq","dtype":"fp8")"), "awq");
}

TEST(VllmServe, AWordOfMetadataWhereANumberBelongsIsLeftAside) {
  const MeasuredRun run = import_one(kAggregate + R"(,"gpus":"2 nodes"})");
  EXPECT_FALSE(run.setting.gpus.has_value());
  EXPECT_EQ(run.setting.other.at("gpus"), "\"2 nodes\"");
  EXPECT_THAT(run.warnings, testing::Contains(testing::HasSubstr("gpus is")));
  EXPECT_THAT(
      import_error(kAggregate + "}", {.format = "", .meta = {{"gpus", "two"}}, .since = ""}),
      testing::HasSubstr("`meta`: gpus is 'two', expected a number"));
}

}  // namespace
}  // namespace roofcast::test
