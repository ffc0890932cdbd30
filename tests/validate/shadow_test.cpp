#include "roofcast/shadow.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/error.hpp"
#include "reports/importers/growing_export.hpp"
#include "reports/importers/prometheus_load.hpp"
#include "roofcast/simulate.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/run_command.hpp"
#include "validate/observed_workload.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kBegin = 1'000'000;  // Unix time of the first sample

/// An answer of query_range to the counters of a server from `first` to `last` minutes: every
/// minute 120 requests of 100 tokens with 20 generated, whose first tokens took 30 ms in the first
/// hour.
std::string minutes(int first, int last, int idle_from = 1'000) {
  const auto series = [&](const char* name, const char* labels, double per_request) {
    std::string samples;
    for (int minute = first; minute <= last; ++minute) {
      samples += fmt::format("{}[{},\"{}\"]", samples.empty() ? "" : ",", kBegin + 60 * minute,
                             120 * std::min(minute, idle_from) * per_request);
    }
    return fmt::format(
        R"({{"metric":{{"__name__":"vllm:{}","model_name":"meta-llama/Llama-3.1-8B"{}}},"values":[{}]}})",
        name, labels, samples);
  };
  std::string all;
  for (const auto& [name, tokens] :
       {std::pair{"request_prompt_tokens", 100}, {"request_generation_tokens", 20}}) {
    const std::string histogram = name;
    const std::string bound = fmt::format(R"(,"le":"{}")", tokens);
    all += series((histogram + "_bucket").c_str(), bound.c_str(), 1) + ",";
    all += series((histogram + "_bucket").c_str(), R"(,"le":"+Inf")", 1) + ",";
    all += series((histogram + "_sum").c_str(), "", tokens) + ",";
    all += series((histogram + "_count").c_str(), "", 1) + ",";
  }
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + all +
         series("time_to_first_token_seconds_sum", "", 0.03) + "," +
         series("time_to_first_token_seconds_count", "", 1) + "]}}\n";
}

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

Scenario h100() {
  Scenario scenario;
  scenario.gpu = "h100";
  return scenario;
}

double requests_in(const std::optional<ScrapeRange>& range) {
  return range ? observed_load(*range, "export.json").requests() : 0;
}

TEST(GrowingExport, GivesWhatCameSinceAndWaitsForTheRestOfAnAnswer) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  GrowingExport file("export.json");
  file.read_more();
  EXPECT_EQ(requests_in(file.take(60)), 120);
  EXPECT_FALSE(file.take(60));
  const std::string next = minutes(2, 2);  // counts on from the sample before
  append("export.json", next.substr(0, 100));
  file.read_more();
  EXPECT_FALSE(file.take(60));
  append("export.json", next.substr(100));
  file.read_more();
  EXPECT_EQ(requests_in(file.take(60)), 120);
  EXPECT_FALSE(file.take_rest());
}

TEST(GrowingExport, AFileThatIsWrittenAgainCountsNothingTwice) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  GrowingExport file("export.json");
  file.read_more();
  EXPECT_EQ(requests_in(file.take_rest()), 120);
  std::ofstream("export.json") << minutes(0, 3);
  file.read_more();
  EXPECT_EQ(requests_in(file.take(60)), 120);
  EXPECT_EQ(requests_in(file.take(60)), 120);
  EXPECT_FALSE(file.take_rest());
}

TEST(GrowingExport, PassesOverWhatIsNoAnswer) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  GrowingExport file("export.json");
  file.read_more();
  append("export.json", "upstream timed out\n");
  EXPECT_THROW(file.read_more(), Error);
  append("export.json", minutes(2, 2));
  file.read_more();
  EXPECT_EQ(requests_in(file.take(120)), 240);
  EXPECT_THROW(GrowingExport("no-such.json"), Error);
}

// The first window is the simulation of a load drawn from the same metrics, figure by figure.
TEST(Shadow, SimulatesWhatWasCountedWindowByWindow) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 2));
  int looks = 0;
  std::vector<ShadowWindow> seen;
  const ShadowAnswer answer =
      follow({.file = "export.json", .scenario = h100()},
             {.window = [&](const ShadowWindow& window) { seen.push_back(window); },
              .wait =
                  [&] {
                    if (++looks == 1) append("export.json", minutes(3, 3));
                    return looks < 3;
                  }});
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(answer.requests, 360);
  EXPECT_EQ(answer.inputs.model, "meta-llama/Llama-3.1-8B");
  for (int minute = 0; minute < 3; ++minute) {
    const ShadowWindow& window = seen[static_cast<std::size_t>(minute)];
    EXPECT_EQ(window.begin_s, kBegin + 60 * minute);
    EXPECT_EQ(window.end_s, kBegin + 60 * (minute + 1));
    EXPECT_EQ(window.requests, 120);
    ASSERT_FALSE(window.figures.empty());
    EXPECT_EQ(window.figures[0].name, "ttft_s");
    EXPECT_NEAR(window.figures[0].measured, 0.03, 1e-9);  // 3.6 s of 120 first tokens
  }

  append("first.json", minutes(0, 1));
  ByteSource bytes("first.json");
  Scenario scenario = h100();
  scenario.model = "meta-llama/Llama-3.1-8B";
  const SimulationAnswer alone =
      simulate({.scenario = scenario, .recorded = workload_of(read_observed_load(bytes), 0)});
  EXPECT_EQ(seen[0].figures[0].simulated, alone.load.ttft.mean);

  ASSERT_EQ(answer.figures.size(), 1u);
  // Equal weights: the mean of the three windows.
  const double mean =
      (seen[0].figures[0].simulated + seen[1].figures[0].simulated + seen[2].figures[0].simulated) /
      3;
  EXPECT_NEAR(answer.figures[0].simulated, mean, 1e-12);
  read_back(answer, shadow_answer_from_json, shadow_answer_schema());
}

// What is simulated for 100 tokens on an H100 is not 30 ms to within 1 %, nor less than a hundredth
// of it.
TEST(Shadow, SaysWhichLimitsAreExceeded) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  const ShadowAnswer answer = follow({.file = "export.json",
                                      .scenario = h100(),
                                      .limits = {{.name = "ttft_s", .share = 0.01},
                                                 {.name = "ttft_s", .share = 0.99},
                                                 {.name = "tpot_s", .share = 0.1}}},
                                     {.wait = [] { return false; }});
  ASSERT_EQ(answer.figures.size(), 1u);
  EXPECT_GT(answer.figures[0].mean_absolute_error, 0.01);
  ASSERT_EQ(answer.exceeded.size(), 1u);
  EXPECT_EQ(answer.exceeded[0].share, 0.01);
  ASSERT_EQ(answer.unjudged.size(), 1u);
  EXPECT_EQ(answer.unjudged[0].name, "tpot_s");
}

TEST(Shadow, WindowsWithoutARequestAreLeftOut) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 3, 1));  // idle from the second minute on
  const ShadowAnswer answer =
      follow({.file = "export.json", .scenario = h100()}, {.wait = [] { return false; }});
  ASSERT_EQ(answer.windows.size(), 1u);
  EXPECT_EQ(answer.windows[0].end_s, kBegin + 60);
}

TEST(Shadow, WarnsOfWhatCannotBeReadLaterAndRefusesItAtFirst) {
  const TemporaryFolder folder;
  append("export.json", "upstream timed out\n");
  EXPECT_THROW(follow({.file = "export.json", .scenario = h100()}, {}), Error);
  std::ofstream("export.json") << minutes(0, 1);
  std::vector<std::string> warnings;
  int looks = 0;
  const ShadowAnswer answer =
      follow({.file = "export.json", .scenario = h100()},
             {.warn = [&](const std::string& line) { warnings.push_back(line); },
              .wait =
                  [&] {
                    if (++looks == 1) append("export.json", "upstream timed out\n");
                    if (looks == 2) append("export.json", minutes(2, 2));
                    return looks < 4;
                  }});
  EXPECT_EQ(answer.windows.size(), 2u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("export.json"));
}

bool default_interrupt() {
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  return action.sa_handler == SIG_DFL;
}

TEST(ShadowCommand, PrintsALineAWindowAndEndsByCtrlC) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  std::thread server([] {
    while (default_interrupt()) std::this_thread::yield();
    append("export.json", minutes(2, 2));
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // it looks every second
    kill(getpid(), SIGINT);
  });
  const CommandResult result = run_command("validate --follow export.json --gpu h100");
  server.join();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              StartsWith("1970-01-12T13:47:40Z, 120 requests: TTFT 30.0 ms measured, "));
  EXPECT_THAT(result.out, HasSubstr("\n1970-01-12T13:48:40Z, 120 requests: "));
  EXPECT_THAT(result.out, HasSubstr("240 requests in 2 windows: TTFT 30.0 ms measured"));
}

TEST(ShadowCommand, RefusesWhatHasNoMeaning) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  EXPECT_THAT(run_command("validate --follow export.json").err, HasSubstr("needs --gpu"));
  EXPECT_THAT(run_command("validate --follow export.json --gpu h100 --ledger").err,
              HasSubstr("takes the deployment"));
  EXPECT_THAT(run_command("validate --follow export.json --gpu h100 --store s.db").err,
              HasSubstr("nothing is stored"));
  EXPECT_THAT(run_command("validate --follow export.json --gpu h100 --every 0s").err,
              HasSubstr("--every: '0s', expected a time above 0"));
  EXPECT_THAT(run_command("validate --follow absent.json --gpu h100").err,
              HasSubstr("absent.json"));
}

}  // namespace
}  // namespace roofcast::test
