// The page gets the commands' own answers, one line where there is none, and no paths.
#include "serve/api.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "reports/store.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSimulation =
    R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 20, "num_prompts": 50,
        "slo": ["p95:ttft:500ms"]})";

/// Limits that a slow machine or a sanitised program does not meet; for tests of other things.
ApiLimits unhurried(ApiLimits limits = {}) {
  limits.longest_run = limits.longest_search = limits.patience = std::chrono::minutes(10);
  return limits;
}

std::string line_of(const ApiAnswer& answer) { return answer.body.value("error", ""); }

TEST(Api, AnswersAreThoseOfTheCommandLineToTheLetter) {
  Api api(unhurried(), "none.db");
  const ApiAnswer answer = api.command("simulate", kSimulation);
  ASSERT_EQ(answer.status, 200) << answer.body.dump();
  const CommandResult typed = run_command(
      "simulate --model llama-3.1-8b --gpu h100 --request-rate 20 --num-prompts 50 "
      "--slo p95:ttft:500ms --no-store --no-intervals -o json");
  EXPECT_EQ(answer.body["document"].dump(2) + "\n", typed.out);
  EXPECT_EQ(answer.body["code"], typed.exit_code);
}

TEST(Api, ANoIsAnAnswerAndSaysSo) {
  Api api(unhurried(), "none.db");
  const ApiAnswer answer = api.command("memory", R"({"model": "llama-3.1-405b", "gpu": "h100"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body["code"], kExitNo);
  EXPECT_EQ(answer.body["document"]["fits"], false);
}

TEST(Api, ErrorsAreTheCommandsOwnLine) {
  Api api(unhurried(), "none.db");
  const ApiAnswer misuse = api.command("memory", R"({"model": "llama-3.1-8b", "gpu": "h10O"})");
  EXPECT_GE(misuse.status, 400);
  EXPECT_THAT(line_of(misuse), HasSubstr("h10O"));
  EXPECT_THAT(line_of(misuse), Not(HasSubstr("roofcast:")));
  EXPECT_THAT(line_of(misuse), Not(HasSubstr("\n")));
  EXPECT_EQ(api.command("memory", R"({"model": "llama-3.1-8b"})").status, 400);
}

TEST(Api, OnlyItsOwnQuestionsAreAnswered) {
  Api api(unhurried(), "none.db");
  for (const char* name : {"calibrate", "import", "serve", "validate", "", "memory/x"}) {
    EXPECT_EQ(api.command(name, "{}").status, 404) << name;
  }
  for (const char* what : {"", "runs/", "runs/x", "runs/-1", "runs/1", "runs/99999999999999999999",
                           "runs/../x", "secrets"}) {
    EXPECT_EQ(api.get(what).status, 404) << what;
  }
}

// Each sequence of an estimate takes time and memory: 1e9 of them would take all that there is.
TEST(Api, AnEstimateOfMoreSequencesThanFitAnywhereIsRefused) {
  Api api(unhurried(), "none.db");
  const ApiAnswer answer =
      api.command("estimate", R"({"model": "llama-3.1-8b", "gpu": "h100", "batch": 1000000000})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(line_of(answer), HasSubstr("batch: "));
}

TEST(Api, WhatIsNoQuestionIsRefusedInALine) {
  Api api(unhurried(), "none.db");
  const std::string deep(100, '[');
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("1"),
        std::string("\xff\xfe"), deep, R"({"model": "a", "model": "b"})" + std::string(),
        std::string(R"({"":1})")}) {
    const ApiAnswer answer = api.command("memory", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_NE(line_of(answer), "") << body;
  }
}

TEST(Api, RunsAreKeptListedAndCompared) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "kept.db").string();
  Api api(unhurried(), store);
  EXPECT_EQ(api.get("runs").body["runs_total"], 0);
  EXPECT_FALSE(std::filesystem::exists(store));
  EXPECT_EQ(api.save(kSimulation).body["run"], 1);
  EXPECT_EQ(api.save(kSimulation).body["run"], 2);
  EXPECT_EQ(api.get("runs").body["runs"].size(), 2U);
  EXPECT_EQ(api.get("runs/2").body["document"]["id"], 2);
  EXPECT_EQ(api.command("compare", R"({"runs": [1, 2]})").status, 200);
}

TEST(Api, RunsAreNamedComparedInFiguresAndDeleted) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "named.db").string();
  Api api(unhurried(), store);
  EXPECT_EQ(api.name_run(R"({"id": 1, "name": "x"})").status, 404);  // there is no store yet
  api.save(kSimulation);
  api.save(R"({"model": "llama-3.1-8b", "gpu": "l40s", "request_rate": 20, "num_prompts": 50})");
  EXPECT_EQ(api.name_run(R"({"id": 2, "name": "one L40S"})").status, 200);
  EXPECT_EQ(api.get("runs").body["runs"][0]["name"], "one L40S");
  EXPECT_EQ(api.name_run(R"({"id": 1, "name": "/h100/l40s"})").status, 200);
  EXPECT_EQ(api.get("runs").body["runs"][1]["name"], "/h100/l40s");  // no path of this machine
  EXPECT_EQ(api.name_run(R"({"id": 9, "name": "x"})").status, 404);
  for (const char* body :
       {R"({"id": 1})", R"({"id": 1, "name": 5})", R"({"id": -1, "name": "x"})",
        R"({"id": 1, "name": "two\nlines"})", R"({"id": 1, "name": "\u009b2J"})", R"([])"}) {
    EXPECT_EQ(api.name_run(body).status, 400) << body;
  }
  const ApiAnswer compared = api.figures("compare", R"({"runs": [1, 2]})");
  ASSERT_EQ(compared.status, 200) << compared.body.dump();
  std::vector<std::string> keys;
  for (const Json& figure : compared.body["figures"]) keys.push_back(figure["key"]);
  EXPECT_THAT(keys, testing::ElementsAre("compared_changes", "compared_latencies"));
  EXPECT_EQ(compared.body["document"],
            api.command("compare", R"({"runs": [1, 2]})").body["document"]);
  EXPECT_EQ(api.delete_run("{}").status, 400);
  EXPECT_EQ(api.delete_run(R"({"id": 1})").status, 200);
  EXPECT_EQ(api.delete_run(R"({"id": 1})").status, 404);
  EXPECT_EQ(api.get("runs").body["runs_total"], 1);
  ApiLimits limits = unhurried();
  limits.saves = false;
  EXPECT_EQ(Api(limits, store).delete_run(R"({"id": 2})").status, 403);
}

/// `count` requests a second apart.
std::string trace_of(int count) {
  std::string text = "time,input,output\n";
  for (int i = 0; i < count; ++i) text += std::to_string(i) + ",100,10\n";
  return text;
}

TEST(Api, ATraceIsKeptAndNamedByQuestions) {
  const TemporaryFolder folder;
  Api api(unhurried(), (folder.path() / "traces.db").string());
  const ApiAnswer added = api.add_trace("C:\\logs/two replicas.csv", trace_of(20));
  ASSERT_EQ(added.status, 200) << added.body.dump();
  EXPECT_EQ(added.body["name"], "two_replicas.csv");
  EXPECT_EQ(added.body["requests"], 20);
  EXPECT_EQ(added.body["duration_s"], 19.0);  // the first arrives at 0, the last at 19 s
  EXPECT_EQ(api.get("traces").body["traces"].size(), 1U);
  const std::string asked =
      R"({"model": "llama-3.1-8b", "gpu": "h100", "trace": "two_replicas.csv")";
  for (const std::string command : {"simulate", "whatif"}) {
    const std::string more = command == "whatif" ? R"(, "vary": ["rate_scale=2", "tp=1,2"]})" : "}";
    const ApiAnswer answer = api.command(command, asked + more);
    ASSERT_EQ(answer.status, 200) << answer.body.dump();
  }
  EXPECT_EQ(api.command("simulate", asked + "}").body["document"]["workload"]["requests"], 20);
  const ApiAnswer saved = api.save(asked + "}");
  ASSERT_EQ(saved.status, 200) << saved.body.dump();
  std::string page;
  EXPECT_EQ(api.report("1", page).status, 200);
  EXPECT_THAT(page, HasSubstr("all stored figures were reproduced"));
  ASSERT_EQ(api.add_trace("two_replicas.csv", trace_of(31), true).status, 200);
  ApiLimits limits = unhurried();
  limits.max_requests = 30;
  EXPECT_EQ(Api(limits, (folder.path() / "traces.db").string()).report("1", page).status, 200);
  EXPECT_THAT(page, HasSubstr("more than the 30 requests that are simulated again"));
  EXPECT_EQ(api.delete_trace(R"({"name": "two_replicas.csv"})").status, 200);
  EXPECT_EQ(api.delete_trace(R"({"name": "two_replicas.csv"})").status, 404);
  EXPECT_EQ(api.command("simulate", asked + "}").status, 400);
}

TEST(Api, NoQuestionOpensATraceFile) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "secret.csv";
  std::ofstream(file) << trace_of(5);
  ASSERT_TRUE(std::filesystem::equivalent(std::filesystem::current_path(), folder.path()));
  Api api(unhurried(), "traces.db");
  const std::string asked = R"({"model": "llama-3.1-8b", "gpu": "h100", )";
  EXPECT_THAT(line_of(api.command("simulate", asked + R"("trace": "secret.csv"})")),
              HasSubstr("no trace"));
  EXPECT_EQ(api.command("whatif", asked + R"("vary": ["trace=secret.csv"]})").status, 400);
  EXPECT_EQ(api.command("whatif", asked + R"("vary": ["workload.path=secret.csv"]})").status, 400);
}

TEST(Api, ATraceThatIsTooLargeOrBrokenIsRefusedInALine) {
  const TemporaryFolder folder;
  ApiLimits limits = unhurried();
  limits.traces = {.largest_unpacked = 1000, .max_requests = 10};
  limits.max_requests = 8;
  limits.max_traces = 1;
  Api api(limits, (folder.path() / "traces.db").string());
  EXPECT_THAT(line_of(api.add_trace("a.csv", trace_of(11))), HasSubstr("more than 10 requests"));
  EXPECT_THAT(line_of(api.add_trace("a.csv", trace_of(200))), HasSubstr("unpacked"));
  EXPECT_THAT(line_of(api.add_trace("a.csv", "time,input,output\n0,many,1\n")),
              HasSubstr("a.csv:2"));
  EXPECT_NE(line_of(api.add_trace("a.csv", std::string("\x1f\x8b\0\0", 4))), "");
  EXPECT_NE(line_of(api.add_trace("a.csv", "")), "");
  EXPECT_NE(line_of(api.add_trace("../..", trace_of(2))), "");
  EXPECT_TRUE(api.get("traces").body["traces"].empty());
  EXPECT_EQ(api.add_trace("a.csv", trace_of(9)).status, 200);
  EXPECT_EQ(api.add_trace("a.csv", trace_of(10)).status, 409);
  EXPECT_EQ(api.get("traces").body["traces"][0]["requests"], 9);
  EXPECT_EQ(api.add_trace("a.csv", trace_of(10), true).status, 200);  // at the limit of one, too
  EXPECT_THAT(line_of(api.add_trace("b.csv", trace_of(2))), HasSubstr("delete one first"));
  const std::string asked = R"({"model": "llama-3.1-8b", "gpu": "h100", "trace": "a.csv")";
  EXPECT_THAT(line_of(api.command("simulate", asked + "}")), HasSubstr("this server allows 8"));
  EXPECT_EQ(api.command("simulate", asked + R"(, "max_requests": 8})").status, 200);
}

TEST(Api, SessionsAreBoundedByTheirTurns) {
  ApiLimits limits = unhurried();
  limits.max_requests = 100;
  Api api(limits, "none.db");
  const std::string asked =
      R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 1, "input_len": 50, )"
      R"("output_len": 5, "think_time": "exponential:1", )";
  EXPECT_EQ(api.command("simulate", asked + R"("turns": 4, "num_prompts": 25})").status, 200);
  EXPECT_THAT(line_of(api.command("simulate", asked + R"("turns": 4, "num_prompts": 26})")),
              HasSubstr("104 requested, this server allows 100"));
  const ApiAnswer drawn = api.command("simulate", asked + R"("turns": "uniform:1:5"})");
  EXPECT_EQ(drawn.status, 400);
  EXPECT_THAT(line_of(drawn), HasSubstr("turns: expected a number here, not a distribution"));
}

/// A what-if of `load` with `vary` is refused, in a line that says `line`.
void expect_refused(Api& api, const std::string& load, const std::string& vary,
                    const std::string& line) {
  const ApiAnswer answer = api.command("whatif", R"({"model": "llama-3.1-8b", "gpu": "h100", )" +
                                                     load + R"(, "vary": [")" + vary + "\"]}");
  EXPECT_EQ(answer.status, 400) << vary;
  EXPECT_THAT(line_of(answer), HasSubstr(line)) << vary;
}

TEST(Api, VariantsAreBoundedAsTheLoadItselfIs) {
  const TemporaryFolder folder;
  ApiLimits limits = unhurried();
  limits.max_requests = 100;
  limits.max_turns = 10;
  Api api(limits, (folder.path() / "traces.db").string());
  const std::string drawn =
      R"("request_rate": 1, "input_len": 50, "output_len": 5, "num_prompts": 20, )"
      R"("turns": 4, "think_time": "exponential:1", "prefix_len": 10)";
  expect_refused(api, drawn, "turns=11", "turns: 11 requested, this server allows 10 turns");
  expect_refused(api, drawn, "turns=6", "120 requested, this server allows 100");         // 20 x 6
  expect_refused(api, drawn, "num_prompts=26", "104 requested, this server allows 100");  // 26 x 4
  expect_refused(api, drawn, "turns=uniform:1:5", "turns: expected a number");
  expect_refused(api, drawn, "prefix_len=20000", "20000 requested, this server allows 16384");
  ASSERT_EQ(api.add_trace("a.csv", trace_of(150)).status, 200);
  const std::string trace = R"("trace": "a.csv", "max_requests": 100)";
  expect_refused(api, trace, "max_requests=101", "has 150 requests, this server allows 100");
  const ApiAnswer fewer = api.command(
      "whatif",
      R"({"model": "llama-3.1-8b", "gpu": "h100", "vary": ["max_requests=50"], )" + trace + "}");
  EXPECT_EQ(fewer.status, 200) << line_of(fewer);
}

TEST(Api, VariesWhatItOffersAndSuggestsNothingElse) {
  Api api(unhurried(), "none.db");
  const std::string load = R"("request_rate": 1, "num_prompts": 20)";
  expect_refused(api, load, "trace=x", "'trace' cannot be varied here");
  const std::string asked =
      R"({"model": "llama-3.1-8b", "gpu": "h100", )" + load + R"(, "seeds": 1, "vary": [")";
  // `speculative_config` is a file's, which this server does not read.
  EXPECT_THAT(line_of(api.command("whatif", asked + R"(speculative_conf=x"]})")),
              AllOf(HasSubstr("did you mean 'speculative'"), Not(HasSubstr("speculative_config"))));
  const ApiAnswer apart = api.command("whatif", asked + R"(pools=1:3"]})");
  ASSERT_EQ(apart.status, 200) << line_of(apart);
  EXPECT_EQ(apart.body["document"]["variants"][1]["reason"], "");
}

TEST(Api, FiguresHaveOptionsWordsAndTables) {
  Api api(unhurried(), "none.db");
  const ApiAnswer answer = api.figures("simulate", kSimulation);
  ASSERT_EQ(answer.status, 200) << answer.body.dump();
  std::vector<std::string> keys;
  for (const Json& figure : answer.body["figures"]) {
    keys.push_back(figure["key"]);
    EXPECT_TRUE(figure["option"].contains("series")) << figure["key"];
    EXPECT_NE(figure["caption"], "");
    EXPECT_FALSE(figure["table"]["rows"].empty()) << figure["key"];
  }
  EXPECT_THAT(keys, testing::Contains("latency_ttft"));
  EXPECT_THAT(keys, testing::Contains("memory"));
  EXPECT_THAT(keys, testing::Contains("roofline"));
  EXPECT_EQ(api.figures("memory", "{}").status, 404);
  EXPECT_GE(api.figures("simulate", R"({"model": "llama-3.1-8b"})").status, 400);
  EXPECT_EQ(api.figures("staircase", R"({"prompt": -5})").status, 400);
}

TEST(Api, ALessonComesWithItsFiguresAndIsTheCommandLines) {
  Api api(unhurried(), "none.db");
  const ApiAnswer lesson =
      api.figures("learn", R"({"model": "gpt2", "gpu": "h100", "prompt": 20, "generate": 10})");
  ASSERT_EQ(lesson.status, 200) << lesson.body.dump();
  const CommandResult typed =
      run_command("learn --model gpt2 --gpu h100 --prompt 20 --generate 10 -o json");
  EXPECT_EQ(lesson.body["document"].dump(2) + "\n", typed.out);
  std::vector<std::string> drawn;
  for (const Json& figure : lesson.body["figures"]) drawn.push_back(figure["key"]);
  for (const Json& step : lesson.body["document"]["steps"]) {
    for (const Json& key : step["figures"]) {
      EXPECT_THAT(drawn, testing::Contains(key.get<std::string>())) << step["key"];
    }
  }
}

TEST(Api, SamplingIsDrawnAndTheGlossaryIsListed) {
  Api api(unhurried(), "none.db");
  const ApiAnswer drawn = api.figures("sampling", R"({"temperature": 0.5, "top_k": 2})");
  ASSERT_EQ(drawn.status, 200) << drawn.body.dump();
  EXPECT_EQ(drawn.body["document"]["kept"], 2);
  EXPECT_EQ(drawn.body["figures"].size(), 1U);
  EXPECT_GT(api.get("glossary").body["terms"].size(), 50U);
}

TEST(Api, AnOfferedProfileIsListedUsedAndKeepsItsFolder) {
  ApiLimits limits = unhurried();
  limits.profiles = {{.name = "imaginary-cpu",
                      .path = ROOFCAST_SOURCE_DIR "/tests/golden/profiles/imaginary-cpu.json"}};
  Api api(limits, "none.db");
  EXPECT_EQ(api.get("gpus").body["gpus"].back()["name"], "imaginary-cpu");
  const char* question =
      R"({"model": "gpt2", "gpu": "imaginary-cpu", "engine": "roofcast", "num_prompts": 5,
          "input_len": 20, "output_len": 5})";
  for (const char* command : {"simulate", "capacity"}) {
    const ApiAnswer answer = api.command(command, question);
    ASSERT_EQ(answer.status, 200) << answer.body.dump();
    EXPECT_THAT(answer.body.dump(), Not(HasSubstr(ROOFCAST_SOURCE_DIR)));
  }
}

TEST(Api, ACapacityIsSearchedOnceForItsCurveAndItsWords) {
  Api api(unhurried(), "none.db");
  const char* question =
      R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 10, "slo": ["p95:ttft:500ms"]})";
  const ApiAnswer curve = api.figures("capacity", question);
  ASSERT_EQ(curve.status, 200) << curve.body.dump();
  const Json& drawn = curve.body;
  std::vector<std::string> keys;
  for (const Json& figure : drawn["figures"]) keys.push_back(figure["key"]);
  EXPECT_THAT(keys, testing::ElementsAre("load_ttft", "load_tpot"));
  const Json said = api.command("capacity", question).body;
  EXPECT_EQ(drawn["document"], said["document"]);
  EXPECT_EQ(drawn["code"], said["code"]);
}

TEST(Api, ACapacityOfSeveralGpusIsATable) {
  ApiLimits limits = unhurried();
  Api api(limits, "none.db");
  const char* question =
      R"({"model": "llama-3.1-8b", "gpu": "h100,l40s", "tp": "1,2", "slo": ["p95:ttft:500ms"],
          "num_prompts": 100})";
  const ApiAnswer answer = api.command("capacity", question);
  ASSERT_EQ(answer.status, 200) << answer.body.dump();
  const Json& rows = answer.body["document"]["rows"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_LE(rows[0]["cost_usd_per_million_tokens"], rows[1]["cost_usd_per_million_tokens"]);
  limits.max_variants = 3;
  EXPECT_EQ(Api(limits, "none.db").command("capacity", question).status, 400);
}

TEST(Api, WhatDoesNotFitHasNoCurve) {
  Api api(unhurried(), "none.db");
  const ApiAnswer answer = api.figures(
      "capacity",
      R"({"model": "llama-3.1-405b", "gpu": "h100", "request_rate": 1, "slo": ["p95:ttft:1s"]})");
  ASSERT_EQ(answer.status, 200) << answer.body.dump();
  EXPECT_EQ(answer.body["code"], 3);
  EXPECT_EQ(answer.body["document"]["fits"], false) << answer.body.dump();
  EXPECT_FALSE(answer.body.contains("figures"));
}

TEST(Api, ReportsAreThoseOfRunsThatAreThere) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "kept.db").string();
  Api api(unhurried(), store);
  std::string page;
  EXPECT_EQ(api.report("1", page).status, 404);
  ASSERT_EQ(api.save(kSimulation).body["run"], 1);
  ASSERT_EQ(api.report("1", page).status, 200);
  EXPECT_THAT(page, HasSubstr("llama-3.1-8b"));
  EXPECT_THAT(page, Not(HasSubstr(folder.path().string())));
  EXPECT_THAT(page, HasSubstr("requests/s served"));  // a unit, no path
  for (const char* id : {"2", "-1", "x", "1;", ""})
    EXPECT_EQ(api.report(id, page).status, 404) << id;
}

TEST(Api, SaysNothingOfTheFoldersOfTheMachine) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "my secret dir");
  const std::string secret = folder.path().string();
  const std::string store = secret + "/my secret dir/kept.db";
  Api api(unhurried(), store);
  std::string all = api.save(kSimulation).body.dump();
  for (const char* what : {"runs", "runs/1", "runs/7", "models", "gpus", "engines", "limits"}) {
    all += api.get(what).body.dump();
  }
  all += api.command("compare", R"({"runs": [1, 7]})").body.dump();
  EXPECT_EQ(line_of(api.get("runs/7")),
            "kept.db: no run 7 (roofcast runs --store kept.db lists them)");
  std::ofstream(store) << "no store";
  all += api.get("runs").body.dump() + api.save(kSimulation).body.dump();
  EXPECT_THAT(all, Not(HasSubstr(secret)));
  EXPECT_THAT(all, Not(HasSubstr("secret dir")));
  EXPECT_THAT(all, HasSubstr("kept.db"));  // the file that is meant is named all the same
}

TEST(Api, ARelativeStoreIsNamedWithoutItsFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory("inner");
  Api api(unhurried(), "inner/kept.db");
  ASSERT_EQ(api.save(kSimulation).status, 200);
  EXPECT_EQ(line_of(api.get("runs/7")),
            "kept.db: no run 7 (roofcast runs --store kept.db lists them)");
  std::ofstream("inner/kept.db") << "no store";
  EXPECT_EQ(line_of(api.get("runs")), "kept.db: not a SQLite database");
}

TEST(Api, ASimulationEndsAtItsTimeAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "kept.db").string();
  Api api({.longest_run = std::chrono::milliseconds(0)}, store);
  const ApiAnswer answer = api.save(
      R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 20, "num_prompts": 20000})");
  EXPECT_EQ(answer.status, 504) << answer.body.dump();
  EXPECT_EQ(api.get("runs").body["runs_total"], 0);
}

TEST(Api, AReportOpensNoFileThatARunNames) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "kept.db").string();
  const std::string trace = (folder.path() / "secret trace.jsonl").string();
  roofcast::Run run;
  run.row.kind = "simulate";
  run.row.scenario_json = R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": )" +
                          Json{{"type", "trace"}, {"path", trace}}.dump() + "}";
  run.metrics = {{"ttft_s", "p95", 0.5}};
  Store(store, Store::Mode::write).add(run);
  Api api(unhurried(), store);
  std::string page;
  ASSERT_EQ(api.report("1", page).status, 200);
  EXPECT_THAT(page, HasSubstr("names files, which are not opened here"));
}

TEST(Api, AReportSimulatesNothingAgainThatIsLargerThanAQuestionMayBe) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "kept.db").string();
  Api api(unhurried(), store);
  ASSERT_EQ(api.save(kSimulation).status, 200);
  std::string page;
  Api small(unhurried({.max_requests = 10}), store);
  ASSERT_EQ(small.report("1", page).status, 200);
  EXPECT_THAT(page, HasSubstr("more than the 10 requests that are simulated again here"));
}

TEST(Api, AReportPastItsTimeEndsInAnAnswer) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "kept.db").string();
  ASSERT_EQ(Api(unhurried(), store).save(kSimulation).status, 200);
  std::string page;
  const ApiAnswer answer =
      Api({.longest_run = std::chrono::milliseconds(0)}, store).report("1", page);
  EXPECT_EQ(answer.status, 504);
  EXPECT_THAT(line_of(answer), HasSubstr("exceeded the server's limit"));
  EXPECT_EQ(page, "");
}

TEST(Api, TheNewestRunsAreListedWithACountOfAll) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "kept.db").string();
  // Two runs each, all in one transaction.
  Store(path, Store::Mode::write).add_validations(std::vector<ValidationRuns>(251));
  Api api(unhurried(), path);
  const Json body = api.get("runs").body;
  ASSERT_EQ(body["runs"].size(), 500U) << body.dump();
  EXPECT_EQ(body["runs_total"], 502);
  EXPECT_EQ(body["runs"][0]["id"], 502);
  EXPECT_EQ(body["runs"][0]["seed"], 0);
  EXPECT_FALSE(body["runs"][0].contains("scenario_json"));
}

TEST(Api, AGivenUpQuestionEndsAndMemoryDoesNotWaitForSimulations) {
  Api api({.longest_run = std::chrono::minutes(10), .runs_at_once = 1}, "none.db");
  std::atomic<bool> asked{false};
  std::atomic<bool> gone{false};
  std::thread simulation([&] {
    const ApiAnswer answer = api.command(
        "simulate",
        R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 9, "num_prompts": 20000,
            "output_len": 2000})",
        [&] {
          asked = true;
          return gone.load();
        });
    EXPECT_EQ(line_of(answer), "cancelled");
  });
  while (!asked) std::this_thread::yield();  // it has the only place
  EXPECT_EQ(api.command("memory", R"({"model": "llama-3.1-8b", "gpu": "h100"})").status, 200);
  gone = true;
  simulation.join();
  EXPECT_EQ(api.command("simulate", kSimulation).status, 200);
}

TEST(Api, ATraceIsReadOnceItsQuestionHasASlot) {
  ApiLimits limits = unhurried();
  limits.runs_at_once = 1;
  limits.runs_waiting = 0;
  Api api(limits, "none.db");
  const std::string asked =
      R"({"model": "llama-3.1-8b", "gpu": "h100", "trace": "chat.csv", "vary": ["tp=2"]})";
  EXPECT_THAT(line_of(api.command("whatif", asked)), HasSubstr("no trace 'chat.csv'"));
  std::atomic<bool> asked_once{false};
  // Asked while another search has the only slot of searches.
  const char* other = R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 5,
                          "num_prompts": 20, "vary": ["tp=2"]})";
  api.command("whatif", other, [&] {
    if (!asked_once.exchange(true)) {
      const ApiAnswer busy = api.command("whatif", asked);
      EXPECT_EQ(busy.status, 503);
      EXPECT_TRUE(busy.is_busy);
      EXPECT_EQ(api.command("whatif", R"({"model": 1})").status, 400);  // is not kept waiting
    }
    return false;
  });
  EXPECT_TRUE(asked_once);
}

TEST(Api, AQuestionUnderWaySaysHowFarItIs) {
  Api api(unhurried(), "none.db");
  EXPECT_EQ(api.get("progress/mine").body, Json::object());
  std::mutex mutex;
  Json far;
  const auto look = [&] {
    const std::scoped_lock lock(mutex);
    if (const Json now = api.get("progress/mine").body; !now.empty()) far = now;
    return false;
  };
  const std::string asked = R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 5,
                                "num_prompts": 20, "vary": ["tp=2"], "seeds": 3})";
  ASSERT_EQ(api.command("whatif", asked, look, "mine").status, 200);
  EXPECT_EQ(far["what"], "simulations");
  EXPECT_EQ(far["total"], 6) << far;  // the baseline and a variant under three seeds
  EXPECT_LE(far["done"], 6);          // 0 where all end before the first look
  EXPECT_EQ(api.get("progress/mine").body, Json::object());
  EXPECT_EQ(api.command("whatif", asked, never, "not mine").status, 400);
}

TEST(Api, ACapacityUnderWaySaysHowFarItIs) {
  Api api(unhurried(), "none.db");
  const auto counted_last = [&](const char* asked) {
    std::mutex mutex;
    Json far;
    const auto look = [&] {
      const std::scoped_lock lock(mutex);
      if (const Json now = api.get("progress/mine").body; !now.empty()) far = now;
      return false;
    };
    EXPECT_EQ(api.command("capacity", asked, look, "mine").status, 200);
    return far;
  };
  const Json one = counted_last(R"({"model": "llama-3.1-8b", "gpu": "h100", "num_prompts": 20})");
  EXPECT_EQ(one["what"], "simulations") << one;
  const Json several =
      counted_last(R"({"model": "llama-3.1-8b", "gpu": "h100,l40s", "num_prompts": 20})");
  EXPECT_EQ(several["what"], "searches") << several;
  EXPECT_EQ(several["total"], 2) << several;  // one for each GPU
}

TEST(Api, AStoreThatCanOnlyBeReadTakesNoRun) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "kept.db").string();
  Api api({.saves = false}, store);
  EXPECT_EQ(api.save(kSimulation).status, 403);
  EXPECT_EQ(api.get("limits").body["saves"], false);
  EXPECT_FALSE(std::filesystem::exists(store));
}

TEST(Api, FiguresPastTheirTimeSaySoInTheSameWords) {
  Api api({.longest_run = std::chrono::milliseconds(1)}, "none.db");
  const char* question =
      R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 20, "num_prompts": 20000})";
  const ApiAnswer pictures = api.figures("simulate", question);
  EXPECT_EQ(pictures.status, 504);
  EXPECT_EQ(line_of(pictures), line_of(api.command("simulate", question)));
}

TEST(Api, SearchesHaveATimeOfTheirOwn) {
  const char* question =
      R"({"model": "llama-3.1-8b", "gpu": "h100", "request_rate": 20, "num_prompts": 20000,
          "vary": ["gpu=l40s"]})";
  Api hasty(
      {.longest_run = std::chrono::minutes(10), .longest_search = std::chrono::milliseconds(1)},
      "none.db");
  EXPECT_EQ(hasty.command("whatif", question).status, 504);
  Api patient(
      {.longest_run = std::chrono::milliseconds(0), .longest_search = std::chrono::minutes(10)},
      "none.db");
  EXPECT_EQ(patient.command("whatif", question).status, 200);
}

TEST(Api, OnceStoppedNothingIsBegun) {
  Api api({.runs_at_once = 1}, "none.db");
  api.stop();
  const ApiAnswer answer =
      api.command("simulate", R"({"model": "llama-3.1-8b", "gpu": "h100", "num_prompts": 20000})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_FALSE(answer.is_busy);  // nothing to wait for
}

TEST(Api, ManyAtOnceGetTheirOwnAnswers) {
  Api api(unhurried({.runs_at_once = 4}), "none.db");
  const Json alone = api.command("simulate", kSimulation).body;
  std::vector<Json> found(8);
  std::vector<std::thread> threads;
  for (Json& answer : found) {
    threads.emplace_back([&] { answer = api.command("simulate", kSimulation).body; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Json& answer : found) EXPECT_EQ(answer, alone);
}

}  // namespace
}  // namespace roofcast::test
