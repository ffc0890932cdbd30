// The effect of --vary on a scenario, and the answer of whatif.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "planner/vary/vary_scenario.hpp"
#include "reports/store.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kBase =
    "whatif --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 60 --input-len 500 "
    "--output-len 30 --no-store ";

CommandResult what_if(const std::string& rest) { return run_command(kBase + rest); }

json answer(const std::string& rest) {
  const CommandResult result = what_if(rest + " -o json");
  EXPECT_EQ(result.exit_code, 0) << rest << ": " << result.err;
  return json::parse(result.out, nullptr, false);
}

Scenario baseline() {
  Scenario scenario;
  scenario.deployment.model = "llama-3.1-8b";
  scenario.deployment.gpu = "h100";
  SyntheticWorkload load;
  load.request_rate = 4;
  load.input = parse_length_distribution("lognormal:800:0.9");
  scenario.workload = load;
  return scenario;
}

Scenario varied(const std::string& key, const std::string& value) {
  return with_settings(baseline(), {{key, value}});
}

const SyntheticWorkload& load_of(const Scenario& scenario) {
  return std::get<SyntheticWorkload>(scenario.workload);
}

std::string refusal_of(const std::string& key, const std::string& value) {
  try {
    varied(key, value);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(VaryScenario, KeysAreFlagsWithTheirSpellingsAndUnits) {
  EXPECT_EQ(varied("tp", "2").deployment.parallel.tensor, 2);
  EXPECT_EQ(varied("tensor_parallel_size", "2").deployment.parallel.tensor, 2);
  EXPECT_EQ(varied("max_num_seqs", "1k").deployment.overrides.max_num_seqs, 1000);
  EXPECT_EQ(varied("gpu_memory_utilization", "80%").deployment.overrides.gpu_memory_utilization,
            0.8);
  EXPECT_EQ(varied("kv_cache_dtype", "fp8").deployment.overrides.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(varied("enable_prefix_caching", "off").deployment.overrides.enable_prefix_caching,
            false);
  EXPECT_EQ(varied("gpu", "l40s").deployment.gpu, "l40s");
  EXPECT_EQ(varied("engine", "sglang").deployment.engine, "sglang");
  EXPECT_EQ(varied("isl", "2k").workload.index(), 0U);
  EXPECT_EQ(load_of(varied("isl", "2k")).input.a, 2000);
  EXPECT_EQ(load_of(varied("request_rate", "600/min")).request_rate, 10);
  EXPECT_EQ(varied("slo", "p95:ttft:500ms").slo.targets.size(), 1U);
}

TEST(VaryScenario, KeysAreAlsoPlacesInAScenario) {
  EXPECT_EQ(load_of(varied("workload.request_rate", "9")).request_rate, 9);
  EXPECT_EQ(load_of(varied("workload.request_rate", "*2")).request_rate, 8);
  EXPECT_EQ(varied("engine_options.max_num_seqs", "64").deployment.overrides.max_num_seqs, 64);
}

TEST(VaryScenario, RelativeValuesGoFromTheBaseline) {
  EXPECT_EQ(load_of(varied("request_rate", "*2")).request_rate, 8);
  EXPECT_EQ(load_of(varied("request_rate", "+20%")).request_rate, 4.8);
  EXPECT_EQ(load_of(varied("num_prompts", "-1")).num_prompts, 999);
  EXPECT_EQ(varied("replicas", "+2").cluster->pools[0].replicas, 3);
  EXPECT_EQ(load_of(varied("input_len", "*1.5")).input,
            parse_length_distribution("lognormal:1200:0.9"));
  // Not set in the baseline: from what the engine starts with.
  const auto once = varied("max_num_seqs", "+0").deployment.overrides.max_num_seqs;
  ASSERT_TRUE(once);
  EXPECT_EQ(varied("max_num_seqs", "*2").deployment.overrides.max_num_seqs, 2 * *once);
}

// With 2,001 tokens of cache, not with the model's 131,072; half of them rounded down.
TEST(VaryScenario, SglangsContextIsThatWithWhichItStarts) {
  Scenario scenario = baseline();
  scenario.deployment.engine = "sglang";
  scenario.deployment.overrides.num_gpu_blocks_override = 2001;
  EXPECT_EQ(with_settings(scenario, {{"max_model_len", "*0.5"}}).deployment.overrides.max_model_len,
            1000);
}

TEST(VaryScenario, ReplicasGoFromThoseOfTheScenario) {
  Scenario scenario = baseline();
  scenario.cluster.emplace();
  scenario.cluster->pools = {{.name = "all", .replicas = 3}};
  EXPECT_EQ(with_settings(scenario, {{"replicas", "-1"}}).cluster->pools[0].replicas, 2);
  EXPECT_THROW(with_settings(scenario, {{"replicas", "-3"}}), UsageError);
}

TEST(VaryScenario, ATraceIsReplayedFaster) {
  Scenario scenario = baseline();
  TraceWorkload trace;
  trace.path = "t.csv";
  trace.time_scale = 0.5;  // twice the rate
  scenario.workload = trace;
  const auto traced = [](const Scenario& s) { return std::get<TraceWorkload>(s.workload); };
  const TraceWorkload faster = traced(with_settings(scenario, {{"request_rate", "*3"}}));
  EXPECT_EQ(faster.rate_scale, 6);
  EXPECT_EQ(faster.time_scale, 1);
  EXPECT_EQ(traced(with_settings(scenario, {{"request_rate", "7"}})).request_rate, 7);
}

std::vector<std::pair<PoolRole, std::int32_t>> pools_in(const Scenario& scenario) {
  std::vector<std::pair<PoolRole, std::int32_t>> pools;
  for (const PoolScenario& pool : scenario.cluster->pools) {
    pools.emplace_back(pool.role, pool.replicas);
  }
  return pools;
}

TEST(VaryScenario, PrefillAndDecodeApartAreOneKnob) {
  using Pools = std::vector<std::pair<PoolRole, std::int32_t>>;
  for (const char* key : {"pools", "pd"}) {
    EXPECT_EQ(pools_in(varied(key, "1:3")), (Pools{{PoolRole::prefill, 1}, {PoolRole::decode, 3}}));
  }
  // Together they are as many as before, and the other way round.
  const Scenario apart = varied("pools", "1:3");
  EXPECT_EQ(pools_in(with_settings(apart, {{"pools", "together"}})), (Pools{{PoolRole::both, 4}}));
  EXPECT_EQ(pools_in(with_settings(apart, {{"pools", "2:2"}})),
            (Pools{{PoolRole::prefill, 2}, {PoolRole::decode, 2}}));
  EXPECT_EQ(pools_in(with_settings(baseline(), {{"replicas", "4"}, {"pools", "together"}})),
            (Pools{{PoolRole::both, 4}}));
  EXPECT_THAT(refusal_of("pools", "3"), HasSubstr("PREFILL:DECODE such as 1:3"));
  EXPECT_THAT(refusal_of("pools", "0:3"), HasSubstr("prefill-replicas"));
  EXPECT_THAT(refusal_of("gpus", "3"), HasSubstr("tensor_parallel_size times replicas"));
}

TEST(VaryScenario, SpeculationIsOneKnob) {
  const EngineOverrides eagle = varied("speculative", "eagle:3:0.7").deployment.overrides;
  EXPECT_EQ(eagle.speculative_method, DraftMethod::eagle);
  EXPECT_EQ(eagle.num_speculative_tokens, 3);
  EXPECT_EQ(eagle.acceptance_rate, 0.7);
  const Scenario with = with_settings(baseline(), {{"speculative", "eagle:3:0.7"}});
  const EngineOverrides off = with_settings(with, {{"speculative", "off"}}).deployment.overrides;
  EXPECT_FALSE(off.speculative_method || off.num_speculative_tokens || off.acceptance_rate);
  // The baseline knows the acceptance.
  EXPECT_EQ(with_settings(with, {{"speculative", "ngram:5"}}).deployment.overrides.acceptance_rate,
            0.7);
  EXPECT_THAT(refusal_of("speculative", "ngram:5"), HasSubstr("acceptance is unknown"));
  EXPECT_THAT(refusal_of("speculative", "eagle"), HasSubstr("METHOD:DRAFTS:RATE"));
  EXPECT_THAT(refusal_of("speculative", "egle:3:0.7"), HasSubstr("'egle'"));
  EXPECT_THAT(refusal_of("speculativ", "off"), HasSubstr("'speculative'"));
}

// Commas separate values, and within brackets the numbers of a list.
TEST(VaryScenario, AListIsAValueInBrackets) {
  using Counts = std::vector<std::int64_t>;
  const Knob knob = parse_knob("max_attention_window=[128,131072],[131072]", "--vary");
  std::vector<Counts> lists;
  for (const std::string& value : knob.values) {
    lists.push_back(varied(knob.key, value).deployment.overrides.max_attention_window.value());
  }
  EXPECT_EQ(lists, (std::vector<Counts>{{128, 131072}, {131072}}));
  EXPECT_THAT(refusal_of("max_attention_window", "[128"),
              HasSubstr("'[128' has a bracket that is not closed"));
}

TEST(VaryScenario, WhatIsNoKeyOrNoValueIsNamed) {
  EXPECT_THAT(refusal_of("max_num_seq", "8"), HasSubstr("'max_num_seqs'"));
  EXPECT_THAT(refusal_of("workload.request_rat", "8"), HasSubstr("'request_rate'"));
  EXPECT_THAT(refusal_of("tp", "two"), HasSubstr("`vary` tp=two"));
  EXPECT_THAT(refusal_of("seed", "1"), HasSubstr("`seeds`"));
  EXPECT_THAT(refusal_of("gpu", "*2"), HasSubstr("no number"));
  EXPECT_THAT(refusal_of("store", "x"), HasSubstr("unknown key"));
  EXPECT_THAT(refusal_of("no_such_thing_at_all", "x"), HasSubstr("unknown key"));
  for (const char* key : {"-", "x y", "\x01", "help", "output", "vary"}) {
    EXPECT_NE(refusal_of(key, "1"), "") << key;
  }
}

TEST(WhatIf, SaysWhatAChangeDoesAndWhetherItIsMoreThanChance) {
  const json result = answer("--vary request_rate=*4 --seeds 3 --metric ttft:p95 e2e:mean");
  ASSERT_EQ(result["variants"].size(), 2U);
  const json& variant = result["variants"][1];
  EXPECT_EQ(variant["settings"]["request_rate"], "*4");
  EXPECT_EQ(variant["runs"], 3);
  const json& e2e = variant["metrics"][1];
  EXPECT_EQ(e2e["name"], "e2e_s");
  EXPECT_GT(e2e["difference"].get<double>(), 0);
  EXPECT_EQ(e2e["significant"], e2e["difference_low"].get<double>() > 0);
  const double before = result["variants"][0]["metrics"][1]["value"];
  EXPECT_NEAR(e2e["value"].get<double>() - before, e2e["difference"].get<double>(), 1e-9);
}

TEST(WhatIf, TheBaselineIsWhatSimulateAnswers) {
  // The mean over one seed is the run itself.
  const json result = answer("--vary gpu=h200 --seeds 1 --metric ttft:p95 --seed 3");
  const CommandResult run = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 60 --input-len 500 "
      "--output-len 30 --no-store --seed 3 -o json");
  EXPECT_EQ(result["variants"][0]["metrics"][0]["value"], json::parse(run.out)["ttft_s"]["p95"]);
  EXPECT_TRUE(result["variants"][1]["metrics"][0]["significant"].is_null());
}

// 60 requests are too few for a percentile of the load that they are drawn from.
TEST(WhatIf, SaysWhyRunsAreUndecided) {
  const std::string asked = "--slo p95:ttft:500ms --vary max_num_seqs=64 --seeds 2";
  const json found = answer(asked);
  const json& baseline = found["variants"][0];
  ASSERT_EQ(baseline["runs_undecided"], 2);
  const std::string why = baseline["finding"];
  EXPECT_THAT(why, testing::StartsWith("undecided: "));
  const std::string out = what_if(asked).out;
  EXPECT_THAT(out, HasSubstr("baseline, 2 of 2 runs undecided; the first: " +
                             why.substr(std::string("undecided: ").size())));
  EXPECT_THAT(out, HasSubstr("  met, undecided  "));
  EXPECT_THAT(out, HasSubstr("more requests (--num-prompts) may give another verdict"));
}

// 200 requests/s of 1,000 tokens need 2 x 8e9 x 200,000 = 3,200 TFLOP/s: more than one L40S or H100
// computes. TPOT has no time in a queue: it is that of a full batch, however long the load is.
TEST(WhatIf, SaysOfASaturatedVariantWhatGrows) {
  const CommandResult result = run_command(
      "whatif --model llama-3.1-8b --gpu h100 --vary gpu=l40s --request-rate 200 "
      "--num-prompts 2000 --input-len 1000 --output-len 20 --seeds 1 --metric ttft:p95 "
      "--metric tpot:p95 --no-store -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = json::parse(result.out);
  EXPECT_EQ(found["verdict_title"], "Load");
  ASSERT_EQ(found["variants"].size(), 2U);
  for (const json& variant : found["variants"]) {
    EXPECT_EQ(variant["verdict"], "saturated");
    EXPECT_EQ(variant["metrics"][0]["title"], "TTFT p95");
    EXPECT_EQ(variant["metrics"][0]["grows"], true);
    EXPECT_EQ(variant["metrics"][0]["text"], "grows without bound");
    EXPECT_EQ(variant["metrics"][1]["grows"], false);
  }
}

TEST(WhatIf, TheAnswerIsTheSameOnAnyNumberOfThreads) {
  const std::string question = "--vary gpu=h200,l40s max_num_seqs=8,16 --seeds 2 ";
  const CommandResult one = what_if(question + "--threads 1 -o json");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(what_if(question + "--threads 3 -o json").out, one.out);
}

TEST(WhatIf, ALostReplicaTheOtherWayRoundIsAGain) {
  const json result = answer("--replicas 2 --vary replicas=-1 --seeds 2 --metric cost_usd_per_h");
  const json& cost = result["variants"][1]["metrics"][0];
  EXPECT_LT(cost["difference"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(cost["value"].get<double>() * 2,
                   result["variants"][0]["metrics"][0]["value"].get<double>());
}

TEST(WhatIf, AVariantThatDoesNotFitIsARowWithItsReason) {
  const json result = answer("--vary model=llama-3.1-70b,qwen2.5-7b --seeds 1 --metric ttft:p95");
  EXPECT_THAT(result["variants"][1]["reason"].get<std::string>(), HasSubstr("does not fit"));
  EXPECT_TRUE(result["variants"][1]["metrics"][0]["value"].is_null());
  EXPECT_EQ(result["variants"][2]["reason"], "");
  const CommandResult table = what_if("--vary tp=3,2 --seeds 1");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("tp=3: "));
}

TEST(WhatIf, NothingThatFitsIsANo) {
  const CommandResult result = run_command(
      "whatif --model llama-3.1-70b --gpu l40s --num-prompts 5 --vary max_num_seqs=8 --no-store");
  EXPECT_EQ(result.exit_code, 3) << result.out;
}

TEST(WhatIf, WhatChangesNothingIsRefused) {
  EXPECT_EQ(what_if("--vary gpu=h100").exit_code, 2);
  EXPECT_THAT(what_if("--vary request_rate=*1").err, HasSubstr("no change"));
  EXPECT_EQ(what_if("--vary gpu=h100,h200 --seeds 1").exit_code, 0);  // a list may name it
  EXPECT_THAT(what_if("--vary gpu=h200 --one-at-a-time").err, HasSubstr("--one-at-a-time"));
  EXPECT_THAT(what_if("").err, HasSubstr("--vary is missing"));
  EXPECT_THAT(what_if("--vary gpu=h200 --metric ttft").err, HasSubstr("statistic"));
  EXPECT_THAT(what_if("--vary gpu=h200 --metric tftt:p95").err, HasSubstr("not a metric"));
  EXPECT_EQ(what_if("--vary gpu=h200 --metric ttft:p95 ttft_s:p95").exit_code, 2);
}

TEST(WhatIf, ExplainsWhichLimitBindsEachVariant) {
  // 8 requests a second, each there for tens of steps: one at a time cannot keep up.
  const json result = answer("--vary max_num_seqs=1,256 --seeds 2 --slo p95:ttft:200ms --explain");
  const json& variants = result["variants"];
  ASSERT_EQ(variants.size(), 3U);
  // Nearly all of its TTFT is waiting, and this limit is why.
  EXPECT_EQ(variants[1]["limits"]["binding"], "max_num_seqs");
  EXPECT_NE(variants[2]["limits"]["binding"], "max_num_seqs");
  EXPECT_EQ(variants[0]["limits"]["yardstick"], "p95 TTFT");
  EXPECT_FALSE(answer("--vary max_num_seqs=1 --seeds 2")["variants"][0].contains("limits"));
  EXPECT_THAT(what_if("--vary max_num_seqs=1 --seeds 2 --explain").out,
              HasSubstr("Which limit binds"));
}

TEST(WhatIf, ATraceHasBlocksInsteadOfSeeds) {
  const TemporaryFolder folder;
  std::ofstream trace("t.csv");
  trace << "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 400; ++i) trace << i * 0.1 << ',' << 200 + i % 7 * 50 << ",5\n";
  trace.close();
  const std::string line =
      "whatif --model llama-3.1-8b --gpu h100 --trace t.csv --no-store --metric ttft:p95 ";
  const CommandResult result = run_command(line + "--vary gpu=l40s -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answered = json::parse(result.out);
  EXPECT_EQ(answered["interval"], "blocks of requests");
  EXPECT_TRUE(answered["variants"][1]["metrics"][0]["significant"]);  // a slower GPU
  EXPECT_GT(answered["variants"][1]["metrics"][0]["difference_low"].get<double>(), 0);
  EXPECT_THAT(run_command(line + "--vary gpu=l40s --seeds 3").err, HasSubstr("--seeds"));
  EXPECT_THAT(run_command(line + "--vary input_len=9").err, HasSubstr("is a trace"));
}

TEST(WhatIf, KeepsARunAVariantAndDrawsThem) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(
      "whatif --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 20 --output-len 5 "
      "--vary request_rate=4-12*3 --seeds 2 --store w.db --plot w.svg");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("3 runs stored in w.db"));
  const Store store("w.db", Store::Mode::read);
  EXPECT_EQ(store.runs().size(), 3U);
  const auto run = store.run(2);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->row.kind, "whatif");
  const auto has = [&](const std::string& statistic) {
    return std::any_of(run->metrics.begin(), run->metrics.end(), [&](const MetricRow& row) {
      return row.name == "ttft_s" && row.statistic == statistic;
    });
  };
  EXPECT_TRUE(has("p95"));
  EXPECT_TRUE(has("p95_difference"));
  EXPECT_TRUE(has("p95_difference_low"));
  EXPECT_THAT(text_in("w.svg"), HasSubstr("TTFT p95 (s)"));
}

}  // namespace
}  // namespace roofcast::test
