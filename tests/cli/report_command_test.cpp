#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/figures/chart_renderer.hpp"
#include "reports/store.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/stored_runs.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kSimulate =
    "simulate --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts 30 --input-len 200 "
    "--output-len 20 --slo p95:ttft:1s --store r.db";

class Report : public testing::Test {
 protected:
  /// The only section of a report with this heading.
  static json section_headed(const json& report, const std::string& heading) {
    json found;
    for (const json& section : report["sections"]) {
      if (section["heading"] != heading) continue;
      EXPECT_TRUE(found.is_null()) << "two sections are headed " << heading;
      found = section;
    }
    return found;
  }
  /// The JSON of the only run of the store.
  static json machine() {
    const CommandResult result = run_command("report 1 --store r.db -o json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }
  TemporaryFolder folder_;
};

TEST_F(Report, OfAnUndecidedSimulationSaysSoAndReproducesIt) {
  Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}, .seed = 1};
  scenario.workload =
      SyntheticWorkload{.request_rate = 8, .input = fixed_length(200), .output = fixed_length(20)};
  scenario.slo.targets = {{LatencyMetric::ttft, 95, Seconds{1}}};
  // 60 requests meet the target by far, and prove nothing of a longer load.
  const SimulationOutcome outcome =
      simulate_in_steps({.scenario = scenario, .free_length = true, .max_requests = 60});
  ASSERT_EQ(outcome.answer.slo.met, false);
  {
    Store store("r.db", Store::Mode::write);
    store_simulation(store, outcome.run, "roofcast simulate", false);
  }
  const json report = machine();
  EXPECT_EQ(report["verdict"], nullptr);
  EXPECT_THAT(report["answer"].get<std::string>(),
              AllOf(StartsWith("Whether "), HasSubstr("undecided")));
  EXPECT_THAT(report.dump(), HasSubstr("all stored figures were reproduced"));
  EXPECT_THAT(run_command("runs --store r.db").out, HasSubstr("SLO undecided"));
}

TEST_F(Report, OfASimulationHasEverySectionWithItsFiguresAndInput) {
  ASSERT_EQ(run_command(kSimulate).exit_code, 0);
  const json report = machine();
  // 30 requests cannot show that 5 % of a longer load are not late: no verdict, no colour.
  EXPECT_EQ(report["verdict"], nullptr);
  EXPECT_THAT(report["answer"].get<std::string>(),
              AllOf(HasSubstr("meets the SLO"), HasSubstr("too few to be sure: p95 TTFT is"),
                    HasSubstr(" of 1.00 s")));
  std::vector<std::string> keys;
  for (const json& section : report["sections"]) {
    for (const json& figure : section["figures"]) {
      keys.push_back(figure["key"]);
      EXPECT_THAT(figure["x_title"].get<std::string>(), Not(testing::IsEmpty()));
      EXPECT_FALSE(figure["series"].empty()) << figure["key"];
      for (const json& series : figure["series"]) EXPECT_FALSE(series["points"].empty());
    }
  }
  EXPECT_THAT(keys, testing::ElementsAre("latency_ttft", "latency_tpot", "latency_e2e",
                                         "requests_over_time", "kv_cache_over_time", "load_ttft",
                                         "load_tpot", "memory", "roofline", "staircase_token",
                                         "staircase_total"));
  // The SLO of 1 s is far beyond the latencies, which fill the axis: it is marked at its edge.
  const json& slo = report["sections"][0]["figures"][0]["marked"][0];
  EXPECT_GT(slo["value"], 0.0);
  EXPECT_LT(slo["value"], 1000.0);
  const json& input = report["sections"].back();
  EXPECT_EQ(input["commands"][0].get<std::string>(), "roofcast " + std::string(kSimulate));
  EXPECT_THAT(input["lines"].back().get<std::string>(), HasSubstr("were reproduced"));
}

TEST_F(Report, OfARunThatNoLongerComesOutSaysSoAndShowsWhatIsStored) {
  ASSERT_EQ(run_command(kSimulate).exit_code, 0);
  roofcast::Run run = *Store("r.db", Store::Mode::read).run(1);
  for (MetricRow& metric : run.metrics) {
    if (metric.name == "ttft_s" && metric.statistic == "p95") metric.value *= 1.01;
  }
  run.row.kind = "simulate";
  Store("r.db", Store::Mode::write).add(run);
  const CommandResult changed = run_command("report 2 --store r.db");
  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_THAT(changed.out, HasSubstr("differs in"));
  EXPECT_THAT(changed.out, HasSubstr("The stored percentiles"));
  // Its 30 requests are as few as before.
  const CommandResult as_json = run_command("report 2 --store r.db -o json");
  EXPECT_EQ(json::parse(as_json.out)["verdict"], nullptr);
}

TEST_F(Report, OfARunWhoseTraceIsGoneSaysSo) {
  std::ofstream("t.csv") << "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-16 18:15:46.0000000,100,10\n"
                            "2023-11-16 18:15:47.0000000,100,10\n";
  ASSERT_EQ(
      run_command("simulate --model llama-3.1-8b --gpu h100 --trace t.csv --store r.db").exit_code,
      0);
  std::filesystem::remove("t.csv");
  const CommandResult gone = run_command("report 1 --store r.db");
  EXPECT_EQ(gone.exit_code, 0) << gone.err;
  EXPECT_THAT(gone.out, HasSubstr("cannot be simulated again"));
  EXPECT_THAT(gone.out, HasSubstr("t.csv"));
}

TEST_F(Report, GoesToEveryFormAtOnce) {
  if (!has_charts()) GTEST_SKIP() << "built without charts";
  const CommandResult result =
      run_command("report h200 --html p.html --md p.md --csv - --svg pictures");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(text_in("p.html"), StartsWith("<!doctype html>"));
  EXPECT_THAT(text_in("p.html"), HasSubstr("NVIDIA H200 SXM"));
  EXPECT_THAT(text_in("p.md"), HasSubstr("Ridge (FLOP/byte)"));
  EXPECT_THAT(result.out, HasSubstr("Ridge (FLOP/byte)"));
  const std::string picture = text_in("pictures/roofline.svg");
  EXPECT_THAT(picture, StartsWith("<svg"));
  EXPECT_THAT(picture, HasSubstr("arithmetic intensity (FLOP/byte)"));
  EXPECT_THAT(picture, HasSubstr("rate (TFLOP/s)"));
}

const json& figure_of(const json& report, const std::string& key) {
  static const json kNone;
  for (const json& section : report["sections"]) {
    for (const json& figure : section["figures"]) {
      if (figure["key"] == key) return figure;
    }
  }
  return kNone;
}

TEST_F(Report, ShowsTheKvCacheFillAsTokensAreMade) {
  ASSERT_EQ(run_command("simulate --model llama-3.1-8b --gpu h100 --num-prompts 2 --input-len 500 "
                        "--output-len 2000 --store r.db")
                .exit_code,
            0);
  const json report = machine();
  const json points = figure_of(report, "kv_cache_over_time")["series"][0]["points"];
  ASSERT_GT(points.size(), 10U);
  // Requests of 500 tokens grow to 2,500: five times as many blocks; half way three times.
  const auto at = [&](std::size_t i) { return points[i]["y"].get<double>(); };
  const double last = at(points.size() - 2);
  EXPECT_NEAR(at(1) / last, 0.2, 0.03);
  EXPECT_NEAR(at(points.size() / 2) / last, 0.6, 0.03);
}

TEST_F(Report, NamesMetricsOfTheSloAsTablesDo) {
  ASSERT_EQ(run_command("simulate --model llama-3.1-8b --gpu h100 --request-rate 8 --num-prompts "
                        "30 --input-len 200 --output-len 20 --slo p99:e2e:20s --store r.db")
                .exit_code,
            0);
  EXPECT_THAT(machine()["answer"].get<std::string>(), HasSubstr("p99 E2E is "));
}

TEST_F(Report, TellsAClosedLoopByItsRequestsInFlight) {
  ASSERT_EQ(run_command("simulate --model llama-3.1-8b --gpu h100 --max-concurrency 8 "
                        "--num-prompts 30 --input-len 200 --output-len 20 --store r.db")
                .exit_code,
            0);
  const json report = machine();
  EXPECT_THAT(report["answer"].get<std::string>(), HasSubstr("with 8 requests in flight"));
  // A step prefills one prompt, not as many as decode at once.
  bool found = false;
  for (const json& series : figure_of(report, "roofline")["series"]) {
    found = found || series["name"] == "prefill, 1 x 200 tokens";
  }
  EXPECT_TRUE(found) << figure_of(report, "roofline")["series"];
}

TEST_F(Report, SaysOnHowManyReplicas) {
  ASSERT_EQ(run_command("simulate --model llama-3.1-8b --gpu h100 --replicas 3 --request-rate 8 "
                        "--num-prompts 30 --input-len 200 --output-len 20 --store r.db")
                .exit_code,
            0);
  const json report = machine();
  EXPECT_THAT(report["answer"].get<std::string>(),
              StartsWith("llama-3.1-8b on 3 replicas of NVIDIA H100 SXM, vllm-0.19"));
  EXPECT_EQ(report["facts"]["Runs on"], "3 replicas of NVIDIA H100 SXM, vllm-0.19");
}

TEST_F(Report, OfARunInWhichNothingFinishedDrawsNoLoadAndNoSteps) {
  run_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 4 --input-len 1024 "
      "--output-len 8 --max-model-len 512 --store r.db");
  const json report = machine();
  EXPECT_EQ(report["verdict"], false);
  for (const char* key : {"kv_cache_over_time", "load_ttft", "roofline", "staircase_token"}) {
    EXPECT_TRUE(figure_of(report, key).is_null()) << key;
  }
}

TEST_F(Report, SaysWhatTheTextbookDividesMemoryBy) {
  ASSERT_EQ(run_command("simulate --model llama-3.1-8b --gpu h100 --engine textbook --num-prompts "
                        "4 --input-len 100 --output-len 8 --store r.db")
                .exit_code,
            0);
  const CommandResult result = run_command("report 1 --store r.db");
  EXPECT_THAT(result.out, AllOf(HasSubstr("the datasheet's memory"), Not(HasSubstr("driver")),
                                Not(HasSubstr("start-up logs"))));
}

TEST_F(Report, OfASimulationBeginsWithTilesAndSaysWhatToDo) {
  // A decode step reads 16 GB of weights at 864 GB/s: over 18 ms, so that 1 ms is missed.
  ASSERT_EQ(
      run_command("simulate --model llama-3.1-8b --gpu l40s --max-model-len 4k --request-rate "
                  "2 --num-prompts 40 --slo p95:tpot:1ms --no-intervals --store r.db")
          .exit_code,
      3);
  ASSERT_EQ(run_command("report 1 --store r.db --html p.html").exit_code, 0);
  EXPECT_THAT(text_in("p.html"),
              AllOf(HasSubstr("<ul class=\"tiles\">"), HasSubstr("<b>missed</b>"),
                    HasSubstr("What to do"), HasSubstr("Tokens come too slowly")));
}

TEST_F(Report, OfAPlanHasItsFinalistsAndHowToRunTheFirst) {
  ASSERT_EQ(run_command("plan --model llama-3.1-8b --gpu h100 --request-rate 2 --num-prompts 40 "
                        "--input-len 200 --output-len 20 --slo p95:ttft:1s --store r.db")
                .exit_code,
            0);
  const json report = machine();
  EXPECT_EQ(report["verdict"], true);
  const json& chosen = report["sections"][0]["figures"][0]["series"][0];
  EXPECT_EQ(chosen["name"], "1 replica of 1x NVIDIA H100 SXM (chosen)");
  EXPECT_THAT(chosen["points"][0]["label"].get<std::string>(),
              StartsWith("1 replica of 1x NVIDIA H100 SXM: "));
  const json launch = section_headed(report, "How to start the first");
  EXPECT_THAT(launch["commands"][0].get<std::string>(),
              AllOf(StartsWith("# 1 server"), HasSubstr("\nvllm serve ")));
  EXPECT_EQ(report["facts"]["GPUs searched"], "NVIDIA H100 SXM");
  EXPECT_THAT(report["facts"]["Load"].get<std::string>(), HasSubstr("40 requests at 2 requests/s"));
}

// 200 requests/s of 1,000 tokens need 2 x 8e9 x 200,000 = 3,200 TFLOP/s: more than one L40S or H100
// computes.
TEST_F(Report, OfAWhatIfHasNoLatencyOfASaturatedVariant) {
  ASSERT_EQ(run_command("whatif --model llama-3.1-8b --gpu h100 --vary gpu=l40s --request-rate 200 "
                        "--num-prompts 2000 --input-len 1000 --output-len 20 --seeds 1 "
                        "--metric ttft:p95 --store r.db")
                .exit_code,
            0);
  const json report = machine();
  EXPECT_THAT(report["answer"].get<std::string>(),
              StartsWith("The baseline does not keep up, nor does any of "));
  const json table = report["sections"][0]["tables"][0];
  EXPECT_EQ(table["rows"][1][1], "grows without bound");
  EXPECT_EQ(table["rows"][1][2], "saturated");
}

TEST_F(Report, OfAPlanThatFindsNothingSaysWhy) {
  // 40 requests/s of 1,000 tokens need more L40S than the stock holds.
  run_command(
      "plan --model llama-3.1-8b --gpu l40s --available l40s=2 --request-rate 40 "
      "--num-prompts 100 --input-len 1000 --output-len 200 --slo p95:ttft:300ms "
      "--store r.db");
  const json report = machine();
  EXPECT_EQ(report["verdict"], false);
  std::string lines;
  for (const json& line : report["sections"][0]["lines"]) lines += line.get<std::string>() + "\n";
  EXPECT_THAT(lines, HasSubstr("The limits rule out "));
  EXPECT_THAT(lines, HasSubstr("NVIDIA L40S"));
  for (const json& section : report["sections"]) {
    for (const json& table : section["tables"]) {
      EXPECT_THAT(table.dump(), Not(HasSubstr("beyond_limits")));
    }
  }
}

TEST_F(Report, OfValidationsSumsUpTheLedger) {
  std::ofstream("m.json") << R"({"schema_version": 1, "cases": [{"name": "a",
    "ask": "memory", "scenario": {"schema_version": 1, "model": "llama-3.1-8b", "gpu": "h100",
    "workload": {"type": "synthetic", "num_prompts": 1, "request_rate": "inf", "input_len": 1,
    "output_len": 1}}, "measured": {"kv_blocks": 20000}}]})";
  ASSERT_EQ(run_command("validate m.json --store r.db").exit_code, 0);
  const CommandResult ledger = run_command("report ledger --store r.db");
  EXPECT_EQ(ledger.exit_code, 0) << ledger.err;
  EXPECT_THAT(ledger.out, HasSubstr("1 figure of 1 case"));
  ASSERT_EQ(run_command("report 2 --store r.db --html p.html").exit_code, 0);
  EXPECT_THAT(text_in("p.html"), AllOf(HasSubstr("<span>Within the 80 % interval</span>"),
                                       HasSubstr("<span>Largest error</span>")));
  const CommandResult one = run_command("report 2 --store r.db");
  EXPECT_THAT(one.out, HasSubstr("KV blocks"));
  EXPECT_THAT(one.out, HasSubstr("20,000"));
  // The same case validated again is not another one.
  ASSERT_EQ(run_command("validate m.json --store r.db").exit_code, 0);
  EXPECT_THAT(run_command("report ledger --store r.db").out,
              AllOf(HasSubstr("1 figure of 1 case"), HasSubstr("1 older validation")));
}

TEST_F(Report, OfACapacityAnswersWhatWasAsked) {
  ASSERT_EQ(run_command("capacity --model llama-3.1-8b --gpu h100 --request-rate 4 --num-prompts "
                        "20 --input-len 200 --output-len 20 --slo p95:ttft:1s --store r.db")
                .exit_code,
            0);
  EXPECT_THAT(machine()["answer"].get<std::string>(),
              AllOf(StartsWith("llama-3.1-8b on NVIDIA H100 SXM"), HasSubstr("p95 TTFT ≤ 1.00 s"),
                    HasSubstr("the SLO is met")));
}

TEST_F(Report, OfACapacityBeginsWithTiles) {
  ASSERT_EQ(run_command("capacity --model llama-3.1-8b --gpu h100 --request-rate 4 --num-prompts "
                        "20 --input-len 200 --output-len 20 --slo p95:ttft:1s --store r.db")
                .exit_code,
            0);
  ASSERT_EQ(run_command("report 1 --store r.db --html p.html").exit_code, 0);
  // 20 requests meet the SLO and prove little; $4.50 is an H100's price.
  EXPECT_THAT(text_in("p.html"),
              AllOf(HasSubstr("<span>At the requested load</span><b>met by these</b>"),
                    HasSubstr("<span>Capacity</span>"), HasSubstr("<b>$4.50 per hour</b>"),
                    HasSubstr("<p class=\"answer\">")));
}

TEST_F(Report, OfACapacityDrawsTheCurveThatWasAnswered) {
  const CommandResult found = run_command(
      "capacity --model llama-3.1-8b --gpu h100 --input-len 1024 --output-len 256 --num-prompts "
      "200 "
      "--slo p95:ttft:300ms --store r.db -o json");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json capacity = json::parse(found.out);
  EXPECT_EQ(capacity["inputs"]["scenario"]["workload"]["request_rate"], "inf");
  const json report = machine();
  EXPECT_THAT(report["answer"].get<std::string>(),
              AllOf(HasSubstr("the capacity is "), Not(HasSubstr("requested"))));
  EXPECT_EQ(figure_of(report, "load_ttft")["series"][0]["points"].size(), capacity["curve"].size());
}

TEST_F(Report, OfACapacityWithARequiredShareIsWhatWasAnswered) {
  const CommandResult found = run_command(
      "capacity --model llama-3.1-8b --gpu h100 --input-len 1024 --output-len 256 --num-prompts "
      "200 "
      "--goodput ttft:300ms --min-goodput 0.9 --store r.db -o json");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json report = machine();
  EXPECT_EQ(figure_of(report, "load_ttft")["series"][0]["points"].size(),
            json::parse(found.out)["curve"].size());
}

TEST_F(Report, OfACapacityOfSchema5ShowsWhatIsStored) {
  ASSERT_EQ(run_command(kSimulate).exit_code, 0);
  roofcast::Run run = *Store("r.db", Store::Mode::read).run(1);
  run.row.kind = "capacity";
  run.metrics = {{"capacity_rate_per_s", "value", 7.25}};
  Store("r.db", Store::Mode::write).add(run);
  EXPECT_THAT(run_command("report 2 --store r.db").out,
              AllOf(HasSubstr("7.25"), HasSubstr("its curve was not stored")));
}

TEST_F(Report, OfAWhatIfCountsUndecidedVariantsAsNeitherMetNorMissed) {
  // 20 requests say nothing of the 95th percentile of the load that they are drawn from.
  ASSERT_EQ(run_command("whatif --model llama-3.1-8b --gpu h100 --request-rate 4 --num-prompts 20 "
                        "--input-len 200 --output-len 20 --vary gpu=a100 tp=3 --one-at-a-time "
                        "--seeds 2 --slo p95:ttft:1s --store r.db")
                .exit_code,
            0);
  // 32 heads in three parts: a variant without figures.
  EXPECT_THAT(run_command("report 2 --store r.db").out,
              HasSubstr("0 of 2 variants meet the SLO, 2 are undecided."));
  ASSERT_EQ(run_command("report 2 --store r.db --html p.html").exit_code, 0);
  EXPECT_THAT(text_in("p.html"),
              AllOf(HasSubstr("<b>0 of 2</b>"),
                    HasSubstr("<small>variants, the baseline included; 2 undecided</small>"),
                    Not(HasSubstr("Cheapest that meets it"))));
}

TEST_F(Report, OfAWhatIfComparesItsVariantsInWords) {
  ASSERT_EQ(run_command("whatif --model llama-3.1-8b --gpu h100 --request-rate 4 --num-prompts 400 "
                        "--input-len 200 --output-len 20 --vary gpu=a100,h200 --seeds 2 "
                        "--slo p95:ttft:1s --store r.db")
                .exit_code,
            0);
  const CommandResult result = run_command("report 2 --store r.db -o json");
  const json report = json::parse(result.out);
  EXPECT_EQ(report["title"], "What if: llama-3.1-8b on NVIDIA H100 SXM");
  // More bandwidth, the same peak: an H200 is never slower than an H100.
  EXPECT_THAT(report["answer"].get<std::string>(),
              AllOf(StartsWith("Of 2 changes"), HasSubstr("gpu=h200 improves TTFT p95 most"),
                    HasSubstr("3 of 3 variants meet the SLO")));
  const json& figure = figure_of(report, "what_if_ttft_s_p95");
  EXPECT_EQ(figure["y_title"], "TTFT p95 (ms)");
  EXPECT_EQ(figure["series"][0]["points"].size(), 3U);
  // All three meet it, and an A100 costs less than the H100 and the H200.
  ASSERT_EQ(run_command("report 2 --store r.db --html p.html").exit_code, 0);
  EXPECT_THAT(text_in("p.html"),
              AllOf(HasSubstr("<b>3 of 3</b>"), HasSubstr("Cheapest that meets it"),
                    HasSubstr("<small>gpu=a100</small>"), HasSubstr("Best TTFT p95")));
}

TEST_F(Report, OfSeedsThatDisagreeDoesNotCallTheSloHeld) {
  ASSERT_EQ(run_command("whatif --model llama-3.1-8b --gpu h100 --request-rate 4 --num-prompts 20 "
                        "--input-len 200 --output-len 20 --vary tp=2,3 --seeds 2 "
                        "--slo p95:ttft:1s --store r.db")
                .exit_code,
            0);
  Store store("r.db", Store::Mode::write);
  const std::vector<roofcast::Run> runs = {*store.run(1), *store.run(2)};
  json answer = json::parse(store.answer_of(1)->json);
  answer["variants"][1]["runs_holding"] = 1;
  store.add_answer(runs, answer.dump());
  const CommandResult result = run_command("report 3 --store r.db");
  EXPECT_THAT(result.out, HasSubstr("tp=3: "));  // 32 heads in three parts: said with its reason
  EXPECT_THAT(result.out, HasSubstr("met in 1 of 2"));
}

TEST_F(Report, RefusesWhatItCannotDoInALine) {
  ASSERT_EQ(run_command(kSimulate).exit_code, 0);
  struct Misuse {
    const char* line;
    int code;
    const char* says;
  };
  const Misuse misuses[] = {
      {"report", 2, "missing argument"},
      {"report 7 --store r.db", 1, "no run 7"},
      {"report 1 --store no.db", 1, "no such store"},
      {"report ledger --store r.db", 1, "holds no validations"},
      {"report no-such-gpu", 2, "unknown GPU"},
      {"report 1 --store r.db --html r.db", 2, "would overwrite"},
      {"report 1 --store r.db --html a --md a", 2, "would overwrite"},
      {"report 1 --store r.db --html /no/such/folder/p.html", 1, "cannot be written"},
      {"report 1 --store r.db --md - --csv -", 2, "only one format"},
      {"report 1 --store r.db --html -", 2, "expected a file"},
      {"report 1 --store r.db --html a -o json", 2, "--output"},
      {"report h100 --store r.db", 2, "--store"},
  };
  for (const Misuse& misuse : misuses) {
    const CommandResult result = run_command(misuse.line);
    EXPECT_EQ(result.exit_code, misuse.code) << misuse.line << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(misuse.says)) << misuse.line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists("a"));
  EXPECT_EQ(Store("r.db", Store::Mode::read).runs().size(), 1U);
}

TEST_F(Report, DoesNotWriteOverTheTraceOfItsRun) {
  std::ofstream("t.csv") << "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                            "2023-11-16 18:15:46.0000000,100,10\n";
  ASSERT_EQ(
      run_command("simulate --model llama-3.1-8b --gpu h100 --trace t.csv --store r.db").exit_code,
      0);
  const CommandResult result = run_command("report 1 --store r.db --csv t.csv");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(text_in("t.csv"), StartsWith("TIMESTAMP"));
}

}  // namespace
}  // namespace roofcast::test
