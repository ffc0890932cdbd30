#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A scenario with the required keys and `extra`.
std::string with(const std::string& extra) {
  return R"({"model": "m", "gpu": "g", "workload": {"type": "synthetic"})" +
         (extra.empty() ? "" : ", " + extra) + "}";
}

std::string with_workload(const std::string& workload) {
  return R"({"model": "m", "gpu": "g", "workload": )" + workload + "}";
}

Scenario full_scenario() {
  Scenario scenario;
  scenario.name = "chat \"peak\"";
  scenario.deployment.model = "llama-3.1-70b";
  scenario.deployment.gpu = "h200";
  scenario.deployment.engine = "vllm-0.29";
  scenario.deployment.weight_format = "fp8";
  scenario.deployment.parallel = {
      .tensor = 2, .pipeline = 3, .data = 4, .context = 5, .expert_parallel = true};
  scenario.deployment.overrides = {.gpu_memory_utilization = 0.9,
                                   .max_model_len = 8192,
                                   .max_num_seqs = 256,
                                   .max_num_batched_tokens = 2048,
                                   .block_size = 32,
                                   .num_gpu_blocks_override = 1000,
                                   .kv_cache_memory = Bytes{8e9},
                                   .kv_cache_dtype = DType::fp8,
                                   .enable_chunked_prefill = false,
                                   .enable_prefix_caching = false,
                                   .enforce_eager = true,
                                   .async_scheduling = false,
                                   .reserve_full_sequence = true,
                                   .long_prefill_token_threshold = 0,
                                   .watermark = 0.01,
                                   .scheduling_policy = QueueOrder::priority,
                                   .max_prefill_tokens = 8192,
                                   .schedule_conservativeness = 0.3,
                                   .enable_mixed_chunk = true,
                                   .capacity_scheduler_policy = CapacityPolicy::max_utilization,
                                   .context_chunking_policy = ChunkingPolicy::equal_progress,
                                   .overhead = Bytes{3e9},
                                   .weight_bytes = Bytes{140e9}};
  EngineOverrides& features = scenario.deployment.overrides;
  features.num_speculative_tokens = 2;
  features.speculative_method = DraftMethod::eagle;
  features.acceptance_rate = 0.7;
  features.acceptance_by_position = {0.8, 0.5};
  features.acceptance_deviation = 0.1;
  features.draft_pass_time = Seconds{0.001};
  features.max_loras = 4;
  features.lora_step_time = Seconds{0.0005};
  features.lora_adapter_time = Seconds{0};
  features.kv_offloading_size = Bytes{64e9};
  features.kv_offloading_bandwidth = BytesPerSecond{25e9};
  features.kv_offloading_latency = Seconds{1e-5};
  scenario.workload = SyntheticWorkload{.num_prompts = 300,
                                        .request_rate = 0.1,
                                        .burstiness = std::numeric_limits<double>::infinity(),
                                        .normalised = false,
                                        .input = {LengthDistribution::Kind::lognormal, 512, 0.8},
                                        .output = {LengthDistribution::Kind::fixed, 128, 0}};
  scenario.max_concurrency = 64;
  scenario.slo = {
      .goodput = {{LatencyMetric::ttft, Seconds{0.5}}},
      .classes = {
          {.name = "chat", .share = 0.7, .targets = {{LatencyMetric::itl, 99.9, Seconds{0.08}}}},
          {.name = "batch", .share = 0.3}}};
  scenario.seed = std::numeric_limits<std::uint64_t>::max();
  return scenario;
}

TEST(Scenario, ReadsBackWhatItWrites) {
  const std::string text = to_json(full_scenario());
  const Scenario read = parse_scenario(text, "test");
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.name, "chat \"peak\"");
  EXPECT_EQ(read.deployment.parallel, full_scenario().deployment.parallel);
  EXPECT_EQ(read.deployment.overrides.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(read.deployment.overrides.scheduling_policy, QueueOrder::priority);
  EXPECT_EQ(read.deployment.overrides.weight_bytes, Bytes{140e9});
  const auto& workload = std::get<SyntheticWorkload>(read.workload);
  EXPECT_EQ(workload.request_rate, 0.1);
  EXPECT_TRUE(std::isinf(workload.burstiness));
  EXPECT_EQ(workload.input.kind, LengthDistribution::Kind::lognormal);
  EXPECT_EQ(read.slo.classes[0].targets[0].percentile, 99.9);
  EXPECT_EQ(read.slo.classes[1].share, 0.3);
  EXPECT_EQ(read.seed, std::numeric_limits<std::uint64_t>::max());
}

TEST(Scenario, ATraceReadsBackToo) {
  Scenario scenario{.deployment = {.model = "m", .gpu = "g"}};
  scenario.workload = TraceWorkload{
      .path = "a b.csv.gz", .max_requests = 10, .time_scale = 0.25, .skip_bad_rows = true};
  const std::string text = to_json(scenario);
  const Scenario read = parse_scenario(text, "test");
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(std::get<TraceWorkload>(read.workload).time_scale, 0.25);
}

TEST(Scenario, ANumberThatNoDoubleHoldsIsNotJson) {
  try {
    parse_scenario(R"({"seed": 1e999})", "s.json");
    ADD_FAILURE() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("s.json: is not JSON: "));
  }
}

TEST(Scenario, ValuesNestedTooDeepAreRefused) {
  // Deep enough to take the whole stack of whoever writes such a value by recursion.
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT([&] { parse_scenario("{\"name\": " + deep + "}", "s.json"); },
              ThrowsMessage<Error>(testing::StrEq("s.json: nested deeper than 64 levels")));
}

TEST(Scenario, AKeyGivenTwiceIsRefusedWhereverItStands) {
  EXPECT_THAT([] { parse_scenario(with(R"("seed": 1, "seed": 2)"), "s.json"); },
              ThrowsMessage<Error>(testing::StrEq("s.json: key 'seed' is given twice in one "
                                                  "object")));
  EXPECT_THAT([] { parse_scenario(with(R"("parallel": {"data": 1, "data": 2})"), "s.json"); },
              ThrowsMessage<Error>(HasSubstr("key 'data' is given twice")));
  // The same key in two objects is two keys.
  EXPECT_NO_THROW(parse_scenario(with(R"("slo": {"goodput": [{"metric": "ttft", "limit_s": 1},
                                  {"metric": "tpot", "limit_s": 1}]})"),
                                 "s.json"));
}

TEST(Scenario, AnUnknownKeyIsShownOnOneLine) {
  try {
    parse_scenario(R"({"mod\nel": 1})", "s.json");
    ADD_FAILURE() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("s.json: unknown key mod\\nel"));
  }
}

TEST(Scenario, HowATraceIsWrittenReadsBackToo) {
  Scenario scenario{.deployment = {.model = "m", .gpu = "g"}};
  scenario.workload = TraceWorkload{
      .path = "t",
      .format = TraceFormat::jsonl,
      .columns = parse_trace_columns("time=a,input=b,output=c,class=d,priority=e,session=f,"
                                     "delay=g,hash_ids=h"),
      .time_unit = TraceTimeUnit::microseconds,
      .block_size = 16,
      .rate_scale = 2.5,
      .request_rate = 7,
      .drop_failed = true};
  const auto read = std::get<TraceWorkload>(parse_scenario(to_json(scenario), "test").workload);
  EXPECT_EQ(read.format, TraceFormat::jsonl);
  EXPECT_EQ(read.columns, std::get<TraceWorkload>(scenario.workload).columns);
  EXPECT_EQ(read.time_unit, TraceTimeUnit::microseconds);
  EXPECT_EQ(read.block_size, 16);
  EXPECT_EQ(read.rate_scale, 2.5);
  EXPECT_EQ(read.request_rate, 7);
  EXPECT_TRUE(read.drop_failed);
}

TEST(Scenario, WhatIsLeftOutHasItsDefault) {
  const Scenario read = parse_scenario(with(""), "test");
  EXPECT_EQ(read.deployment.engine, "vllm-0.19");
  EXPECT_EQ(with_given({}, read.deployment.parallel), Parallelism{});
  EXPECT_FALSE(read.max_concurrency.has_value());
  EXPECT_EQ(std::get<SyntheticWorkload>(read.workload).num_prompts, 1000);
}

TEST(Scenario, AnUnknownKeyIsAnErrorWithTheNearestKnownOne) {
  EXPECT_THAT(
      [] { parse_scenario(with(R"("sede": 1)"), "s.json"); },
      ThrowsMessage<Error>(AllOf(HasSubstr("s.json: unknown key sede"), HasSubstr("'seed'"))));
  EXPECT_THAT([] { parse_scenario(with(R"("engine_options": {"max_num_seq": 1})"), "s.json"); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("engine_options.max_num_seq"), HasSubstr("'max_num_seqs'"))));
  EXPECT_THAT(
      [] { parse_scenario(with_workload(R"({"type": "trace", "path": "t", "rate": 1})"), "s"); },
      ThrowsMessage<Error>(HasSubstr("unknown key workload.rate")));
}

TEST(Scenario, ABadValueIsNamedWithItsKeyAndWhatWasExpected) {
  struct Case {
    const char* extra;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"("schema_version": 2)", "schema_version is 2, expected 1"},
           {R"("seed": -1)", "seed is -1, expected a whole number from 0"},
           {R"("seed": 1.5)", "seed is 1.5"},
           {R"("name": 7)", "name is 7, expected a string"},
           {R"("max_concurrency": 0)", "max_concurrency is 0, expected a whole number from 1"},
           {R"("max_concurrency": 18446744073709551615)",
            "max_concurrency is 18446744073709551615"},
           {R"("parallel": 2)", "parallel is 2, expected an object"},
           {R"("parallel": {"tensor": 0})", "parallel.tensor is 0"},
           {R"("parallel": {"tensor": 1e9})", "parallel.tensor is 1000000000.0"},
           {R"("parallel": {"expert": "yes"})",
            "parallel.expert is \"yes\", expected true or false"},
           {R"("engine_options": {"gpu_memory_utilization": 1.5})", "a number above 0, up to 1"},
           {R"("engine_options": {"watermark": -0.1})", "a number from 0 to below 1"},
           {R"("engine_options": {"kv_cache_dtype": "blue"})", "a number format such as"},
           {R"("engine_options": {"scheduling_policy": "lifo"})",
            "expected fcfs, priority, lpm or lof"},
           {R"("engine_options": {"overhead_bytes": -1})", "a number of at least 0"},
           {R"("engine_options": {"schedule_conservativeness": 0})", "a number above 0"},
           {R"("engine_options": {"lora_step_time_s": 3601})", "a number from 0 to 3600"},
           {R"("slo": {"goodput": [{"metric": "speed", "limit_s": 1}]})",
            "slo.goodput[0].metric is \"speed\", expected ttft"},
           {R"("slo": {"goodput": [{"metric": "ttft"}]})", "slo.goodput[0].limit_s is missing"},
           {R"("slo": {"goodput": {}})", "slo.goodput is {}, expected a list"},
           {R"("slo": {"classes": [{"name": "a", "share": 0.5}]})",
            "shares that sum to 1, not 0.5"},
           {R"("slo": {"classes": [{"name": "a"}, {"name": "a"}]})",
            "a name that no other class has"},
           {R"("slo": {"classes": [{"name": "a\nb"}]})", "a name without control characters"},
           {R"("slo": {"classes": [{"name": "a",
               "targets": [{"metric": "ttft", "limit_s": 1, "percentile": 100}]}]})",
            "slo.classes[0].targets[0].percentile is 100"}}) {
    EXPECT_THAT([&] { parse_scenario(with(c.extra), "s.json"); },
                ThrowsMessage<Error>(AllOf(HasSubstr("s.json: "), HasSubstr(c.message))))
        << c.extra;
  }
}

TEST(Scenario, ABadWorkloadIsNamed) {
  struct Case {
    const char* workload;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"3", "workload is 3, expected an object with type"},
           {"{}", "expected an object with type synthetic or trace"},
           {R"({"type": "sessions"})", "expected type synthetic or trace"},
           {R"({"type": "trace"})", "workload.path is missing"},
           {R"({"type": "trace", "path": "t", "time_scale": 0})", "workload.time_scale is 0"},
           {R"({"type": "synthetic", "request_rate": "fast"})", "a positive number or \"inf\""},
           {R"({"type": "synthetic", "request_rate": -1})", "workload.request_rate is -1"},
           {R"({"type": "synthetic", "num_prompts": 1.5})", "workload.num_prompts is 1.5"},
           {R"({"type": "synthetic", "input_len": 0})", "workload.input_len is 0"},
           {R"({"type": "synthetic", "input_len": "zipf:1"})", "workload.input_len is \"zipf:1\""},
           {R"({"type": "synthetic", "input_len": [1]})", "workload.input_len is [1]"}}) {
    EXPECT_THAT([&] { parse_scenario(with_workload(c.workload), "s"); },
                ThrowsMessage<Error>(HasSubstr(c.message)))
        << c.workload;
  }
  EXPECT_THAT([] { parse_scenario(R"({"model": "m", "gpu": "g"})", "s"); },
              ThrowsMessage<Error>(HasSubstr("workload is missing")));
  EXPECT_THAT([] { parse_scenario(R"({"gpu": "g"})", "s"); },
              ThrowsMessage<Error>(HasSubstr("model is missing")));
}

TEST(Scenario, BrokenJsonIsOneLineThatSaysWhere) {
  for (const char* text :
       {"", "{", "[]", "null", "{\"model\": }", "\xff\xfe", "{\"model\": \"\xff\"}"}) {
    try {
      parse_scenario(text, "s.json");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("s.json: "));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_THAT([] { parse_scenario("{\n\"model\": }", "s.json"); },
              ThrowsMessage<Error>(HasSubstr("line 2")));
}

TEST(Scenario, EveryExampleIsRead) {
  int examples = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(ROOFCAST_SOURCE_DIR "/simulator/scenarios")) {
    SCOPED_TRACE(entry.path());
    EXPECT_NO_THROW(read_scenario(entry.path().string()));
    ++examples;
  }
  EXPECT_GT(examples, 0);
}

TEST(Scenario, ATracePathIsRelativeToTheScenarioFile) {
  const std::filesystem::path folder = testing::TempDir();
  const std::filesystem::path file = folder / "roofcast_scenario_test.json";
  std::ofstream(file) << with_workload(R"({"type": "trace", "path": "traces/a.csv"})");
  const Scenario scenario = read_scenario(file.string());
  EXPECT_EQ(std::get<TraceWorkload>(scenario.workload).path, (folder / "traces/a.csv").string());
  std::filesystem::remove(file);
}

TEST(Scenario, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT([] { read_scenario("/nonexistent/s.json"); },
              ThrowsMessage<Error>(HasSubstr("/nonexistent/s.json: cannot be read")));
}

TEST(Scenario, ItsWorkloadIsDrawnWithItsSeedAndClasses) {
  const Workload workload = load_workload(full_scenario());
  EXPECT_EQ(workload.requests.size(), 300u);
  EXPECT_EQ(workload.class_names, (std::vector<std::string>{"chat", "batch"}));
}

TEST(Scenario, MaxTokensAreACountOrNone) {
  EXPECT_EQ(parse_scenario(with(R"("max_tokens": 4096)"), "s").max_tokens, 4096);
  const Scenario none = parse_scenario(with(R"("max_tokens": "none")"), "s");
  EXPECT_EQ(none.max_tokens, kNoMaxTokens);
  EXPECT_THAT(to_json(none), HasSubstr(R"("max_tokens": "none")"));
  EXPECT_THAT([] { parse_scenario(with(R"("max_tokens": "many")"), "s"); },
              ThrowsMessage<Error>(HasSubstr("expected a number of tokens, or \"none\"")));
}

}  // namespace
}  // namespace roofcast::test
