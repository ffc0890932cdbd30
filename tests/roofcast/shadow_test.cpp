#include "roofcast/shadow.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/error.hpp"
#include "reports/importers/growing_export.hpp"
#include "reports/importers/prometheus_load.hpp"
#include "roofcast/simulate.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/run_command.hpp"
#include "validate/observed_workload.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::int64_t kBegin = 1'000'000;  // Unix time of the first sample

/// Every minute 120 requests of 100 tokens with `generated` more, whose first tokens took 30 ms.
struct Server {
  int idle_from = 1'000;  // minute
  int late = 0;           // minutes from first tokens to the requests' ends
  std::string server = "a";
  int generated = 20;
};

std::string series(const std::string& name, const std::string& labels, int first, int last,
                   const Server& server, double per_request, int late = 0) {
  std::string samples;
  for (int minute = first; minute <= last; ++minute) {
    samples +=
        fmt::format("{}[{},\"{}\"]", samples.empty() ? "" : ",", kBegin + 60 * minute,
                    120 * std::max(0, std::min(minute, server.idle_from) - late) * per_request);
  }
  return fmt::format(
      R"({{"metric":{{"__name__":"vllm:{}","model_name":"meta-llama/Llama-3.1-8B","instance":"{}"{}}},"values":[{}]}})",
      name, server.server, labels, samples);
}

std::string answer_of(const std::string& all) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + all + "]}}\n";
}

std::string first_tokens(int first, int last, const Server& server = {}) {
  const std::string name = "time_to_first_token_seconds";
  return answer_of(series(name + "_sum", "", first, last, server, 0.03) + "," +
                   series(name + "_count", "", first, last, server, 1));
}

/// The same with a histogram whose only bucket with requests ends at 40 ms and begins at 20.
std::string first_tokens_in_buckets(int first, int last) {
  const std::string name = "time_to_first_token_seconds";
  const Server server;
  std::string all;
  for (const auto& [bound, share] :
       {std::pair{"0.02", 0.0}, std::pair{"0.04", 1.0}, std::pair{"+Inf", 1.0}}) {
    const std::string labels = fmt::format(R"(,"le":"{}")", bound);
    all += series(name + "_bucket", labels, first, last, server, share) + ",";
  }
  return answer_of(all + series(name + "_sum", "", first, last, server, 0.03) + "," +
                   series(name + "_count", "", first, last, server, 1));
}

std::string lengths(int first, int last, const Server& server = {}) {
  std::string all;
  for (const auto& [name, tokens] :
       {std::pair{"request_prompt_tokens", 100}, {"request_generation_tokens", server.generated}}) {
    const std::string histogram = name;
    const std::string bound = fmt::format(R"(,"le":"{}")", tokens);
    const auto add = [&](const char* part, const std::string& labels, double per_request) {
      all += all.empty() ? "" : ",";
      all += series(histogram + part, labels, first, last, server, per_request, server.late);
    };
    add("_bucket", bound, 1);
    add("_bucket", R"(,"le":"+Inf")", 1);
    add("_sum", "", tokens);
    add("_count", "", 1);
  }
  return answer_of(all);
}

/// Answers of query_range to a server's counters from `first` to `last` minutes.
std::string minutes(int first, int last, const Server& server = {}) {
  return lengths(first, last, server) + first_tokens(first, last, server);
}

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

Scenario h100() {
  Scenario scenario;
  scenario.deployment.gpu = "h100";
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

TEST(GrowingExport, PassesOverWhatIsNoAnswerAndKeepsWhatIs) {
  const TemporaryFolder folder;
  append("export.json", "upstream {timed out\n" + minutes(0, 1) +
                            R"({"status":"error","error":"timeout"})" + "\n" + minutes(2, 2));
  GrowingExport file("export.json");
  const auto passed_over = file.read_more();
  ASSERT_EQ(passed_over.size(), 2u);
  EXPECT_THAT(passed_over[0], StartsWith("export.json, line 1: 'upstream {timed out' is not an"));
  EXPECT_THAT(passed_over[1], StartsWith("export.json, line 4"));
  EXPECT_THAT(passed_over[1], HasSubstr("not an answer: timeout"));
  EXPECT_EQ(requests_in(file.take(120)), 240);
  // Once, also where the file is written again.
  const std::string all = minutes(0, 1) + minutes(2, 2);
  std::ofstream("export.json") << "upstream {timed out\n" << all << minutes(3, 3);
  EXPECT_THAT(file.read_more(), IsEmpty());
  EXPECT_EQ(requests_in(file.take(60)), 120);
  EXPECT_THROW(GrowingExport("no-such.json"), Error);
}

// Broken off in a string, where a list may hold what follows, at an object's start, in a number.
TEST(GrowingExport, GoesOnBehindAnAnswerThatWasBrokenOff) {
  const std::string whole = minutes(1, 1);
  for (const char* cut : {"succ", "result\":[", "\"metric\":{", ":[[1000060"}) {
    const TemporaryFolder folder;
    append("export.json", minutes(0, 1) + whole.substr(0, whole.find(cut) + std::strlen(cut)) +
                              "\n" + minutes(2, 2));
    GrowingExport file("export.json");
    const auto passed_over = file.read_more();
    EXPECT_THAT(passed_over, ElementsAre("export.json, line 3: an answer is broken off")) << cut;
    EXPECT_EQ(requests_in(file.take(120)), 240) << cut;
  }
}

// Written with other keys first, it is recognised where JSON allows no object.
TEST(GrowingExport, GoesOnBehindABrokenAnswerWhateverBeginsTheNext) {
  const auto reordered = [](std::string answers) {
    const std::string_view status = R"("status":"success",)";
    for (auto at = answers.find(status); at != std::string::npos; at = answers.find(status)) {
      answers.erase(at, status.size());
    }
    return answers;
  };
  const std::string whole = minutes(1, 1);
  for (const char* cut : {"\"metric\":{", ":[[1000060"}) {
    const TemporaryFolder folder;
    append("export.json", minutes(0, 1) + whole.substr(0, whole.find(cut) + std::strlen(cut)) +
                              "\n" + reordered(minutes(2, 2)));
    GrowingExport file("export.json");
    EXPECT_THAT(file.read_more(), SizeIs(1)) << cut;
    EXPECT_EQ(requests_in(file.take(120)), 240) << cut;
  }
}

TEST(GrowingExport, GivesUpAnAnswerWithoutAnEnd) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1) + "[" + std::string(20'000, '[') + "\n" + minutes(2, 2));
  GrowingExport file("export.json", 10'000);
  const auto passed_over = file.read_more();
  ASSERT_EQ(passed_over.size(), 1u);
  EXPECT_THAT(passed_over[0],
              HasSubstr("export.json, line 3: an answer does not end within 10000"));
  EXPECT_EQ(requests_in(file.take(120)), 240);
}

// Server b's last sample is that of minute 1: 120 requests of each server then, 120 of a alone
// afterwards.
TEST(GrowingExport, LeavesOutAServerThatIsGone) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 9) + minutes(0, 1, {.server = "b"}));
  GrowingExport file("export.json");
  file.read_more();
  EXPECT_EQ(requests_in(file.take(60)), 240);
  for (int minute = 1; minute < 9; ++minute) {
    const auto part = file.take(60);
    ASSERT_TRUE(part);
    const ObservedLoad load = observed_load(*part, "export.json");
    EXPECT_EQ(load.requests(), 120);
    EXPECT_EQ(load.intervals.front().begin_s, kBegin + 60 * minute);
    EXPECT_EQ(part->series.at("vllm:time_to_first_token_seconds_count").size(), 1u);
  }
  // Its earlier samples count for nothing where the file is written again.
  std::ofstream("export.json") << minutes(0, 10) << minutes(0, 1, {.server = "b"});
  file.read_more();
  EXPECT_EQ(requests_in(file.take(60)), 120);
}

TEST(GrowingExport, WaitsForTheAnswerAboutEachMetricButNotForOneThatEnded) {
  const TemporaryFolder folder;
  append("export.json", first_tokens(0, 1) + lengths(0, 0));
  GrowingExport file("export.json");
  file.read_more();
  EXPECT_FALSE(file.take(60));
  append("export.json", lengths(1, 1));
  file.read_more();
  const auto part = file.take(60);
  ASSERT_TRUE(part);
  EXPECT_EQ(observed_load(*part, "export.json").mean_output, 20);
  // From here on without lengths: a minute later than the others they are not waited for.
  append("export.json", first_tokens(2, 2));
  file.read_more();
  EXPECT_FALSE(file.take(60));
  append("export.json", first_tokens(3, 3));
  file.read_more();
  EXPECT_TRUE(file.take(60));
}

ObservedLoad load_of(const std::string& answers) {
  std::istringstream text(answers);
  ByteSource bytes(text, "export.json");
  return read_observed_load(bytes);
}

// The first window is the simulation of a load drawn from the same metrics; the second that of both
// minutes' requests, of which those of the first are served but not counted.
TEST(Shadow, SimulatesWhatWasCountedWindowByWindow) {
  const TemporaryFolder folder;
  const Server server{.generated = 2'000};  // 16 GB a token at 3.35 TB/s: 9 s or more each
  append("export.json", minutes(0, 2, server));
  int looks = 0;
  std::vector<ShadowWindow> seen;
  const ShadowAnswer answer =
      follow({.file = "export.json", .scenario = h100()},
             {.window = [&](const ShadowWindow& window) { seen.push_back(window); },
              .wait =
                  [&] {
                    if (++looks == 1) append("export.json", minutes(3, 3, server));
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

  Scenario scenario = h100();
  scenario.deployment.model = "meta-llama/Llama-3.1-8B";
  const ObservedLoad first = load_of(minutes(0, 1, server));
  const SimulationAnswer alone =
      simulate({.scenario = scenario, .recorded = workload_of(first, scenario.seed)});
  EXPECT_EQ(seen[0].figures[0].simulated, alone.load.ttft.mean);

  Workload both;
  both.stages = {{.name = "first", .reported = false}, {.name = "second"}};
  both.requests = requests_of(first, scenario.seed);
  const ObservedLoad second = load_of(minutes(1, 2, server));
  for (Request request : requests_of(second, scenario.seed + 1)) {
    request.arrival += to_nanoseconds(Seconds{60});
    request.stage = 1;
    both.requests.push_back(request);
  }
  const Nanoseconds begin = both.requests.front().arrival;
  for (Request& request : both.requests) request.arrival -= begin;
  const SimulationAnswer behind = simulate({.scenario = scenario, .recorded = both});
  ASSERT_EQ(behind.load.completed, 120);
  // Unix times in seconds are exact to 0.1 us.
  EXPECT_NEAR(seen[1].figures[0].simulated, behind.load.ttft.mean, 1e-7);
  const SimulationAnswer without =
      simulate({.scenario = scenario, .recorded = workload_of(second, scenario.seed + 1)});
  EXPECT_GT(std::abs(behind.load.ttft.mean - without.load.ttft.mean), 1e-5);

  ASSERT_EQ(answer.figures.size(), 1u);
  // Equal weights: the mean of the three windows.
  const double mean =
      (seen[0].figures[0].simulated + seen[1].figures[0].simulated + seen[2].figures[0].simulated) /
      3;
  EXPECT_NEAR(answer.figures[0].simulated, mean, 1e-12);
  read_back(answer, shadow_answer_from_json, shadow_answer_schema());
}

// The error is that of the simulation of the same load against the 30 ms that were measured.
TEST(Shadow, SaysWhichLimitsAreExceeded) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  Scenario scenario = h100();
  scenario.deployment.model = "meta-llama/Llama-3.1-8B";
  const SimulationAnswer alone = simulate(
      {.scenario = scenario, .recorded = workload_of(load_of(minutes(0, 1)), scenario.seed)});
  const double error = std::abs(alone.load.ttft.mean - 0.03) / 0.03;
  const ShadowAnswer answer = follow({.file = "export.json",
                                      .scenario = h100(),
                                      .limits = {{.name = "ttft_s", .share = error - 1e-6},
                                                 {.name = "ttft_s", .share = error + 1e-6},
                                                 {.name = "tpot_s", .share = 0.1}}},
                                     {.wait = [] { return false; }});
  ASSERT_EQ(answer.figures.size(), 1u);
  EXPECT_NEAR(answer.figures[0].mean_absolute_error, error, 1e-9);
  ASSERT_EQ(answer.exceeded.size(), 1u);
  EXPECT_EQ(answer.exceeded[0].share, error - 1e-6);
  ASSERT_EQ(answer.unjudged.size(), 1u);
  EXPECT_EQ(answer.unjudged[0].name, "tpot_s");
}

TEST(Shadow, WhatAHistogramCannotTellIsNoError) {
  const auto error = [](double simulated, std::optional<double> lower,
                        std::optional<double> upper) {
    return relative_error(
        {.measured = 0.03, .simulated = simulated, .lower = lower, .upper = upper});
  };
  EXPECT_NEAR(error(0.045, {}, {}), 0.5, 1e-12);  // a mean: 15 of 30 ms
  EXPECT_EQ(error(0.021, 0.02, 0.04), 0);
  EXPECT_EQ(error(0.039, 0.02, 0.04), 0);
  EXPECT_NEAR(error(0.05, 0.02, 0.04), 0.25, 1e-12);  // 10 ms beyond 40
  EXPECT_NEAR(error(0.01, 0.02, 0.04), -0.5, 1e-12);  // 10 ms short of 20
  EXPECT_EQ(error(0.001, 0.0, 0.04), 0);              // the first bucket
  EXPECT_EQ(error(9, 0.02, {}), 0);                   // the last, which has no end
}

TEST(Shadow, SaysTheBucketsOfPercentiles) {
  const TemporaryFolder folder;
  append("export.json", lengths(0, 1) + first_tokens_in_buckets(0, 1));
  const ShadowAnswer answer =
      follow({.file = "export.json", .scenario = h100()}, {.wait = [] { return false; }});
  const auto p50 = std::ranges::find(answer.figures, "p50", &ShadowError::statistic);
  ASSERT_NE(p50, answer.figures.end());
  EXPECT_EQ(p50->name, "ttft_s");
  EXPECT_NEAR(p50->measured, 0.03, 1e-12);  // half the way from 20 to 40 ms
  EXPECT_NEAR(p50->lower.value(), 0.02, 1e-12);
  EXPECT_NEAR(p50->upper.value(), 0.04, 1e-12);
  const double simulated = p50->simulated;
  const double beyond = simulated < 0.02   ? 1 - simulated / 0.02
                        : simulated > 0.04 ? simulated / 0.04 - 1
                                           : 0;
  EXPECT_NEAR(p50->mean_absolute_error, beyond, 1e-12);
  const auto mean = std::ranges::find(answer.figures, "mean", &ShadowError::statistic);
  ASSERT_NE(mean, answer.figures.end());
  EXPECT_FALSE(mean->lower);
  read_back(answer, shadow_answer_from_json, shadow_answer_schema());
}

// In the first minute no request has ended, so that no length is known.
TEST(Shadow, PutsRequestsWithoutLengthsIntoTheNextWindow) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1, {.late = 1}));
  std::vector<std::string> warnings;
  int looks = 0;
  const ShadowAnswer answer =
      follow({.file = "export.json", .scenario = h100()},
             {.warn = [&](const std::string& line) { warnings.push_back(line); },
              .wait =
                  [&] {
                    if (++looks == 1) append("export.json", minutes(2, 2, {.late = 1}));
                    return looks < 2;
                  }});
  ASSERT_EQ(answer.windows.size(), 1u);
  EXPECT_EQ(answer.windows[0].requests, 240);
  EXPECT_EQ(answer.windows[0].begin_s, kBegin);
  EXPECT_EQ(answer.windows[0].end_s, kBegin + 120);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("goes into the next window"));
}

TEST(Shadow, RefusesWithoutWaitingWhatCannotBeSimulated) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1, {.late = 1}));
  bool waited = false;
  const ShadowSteps steps{.wait = [&] {
    waited = true;
    return false;
  }};
  Scenario model = h100();
  model.deployment.model = "no-such/model";
  EXPECT_THROW(follow({.file = "export.json", .scenario = model}, steps), Error);
  Scenario gpu;
  gpu.deployment.gpu = "h999";
  EXPECT_THROW(follow({.file = "export.json", .scenario = gpu}, steps), Error);
  EXPECT_FALSE(waited);
  // Lengths that never come are an error in the end.
  EXPECT_THROW(follow({.file = "export.json", .scenario = h100()}, steps), Error);
  EXPECT_TRUE(waited);
}

TEST(Shadow, WindowsWithoutARequestAreLeftOut) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 3, {.idle_from = 1}));  // idle from the second minute on
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

/// Collects what the command prints; calls `see(lines)` after each line, in the command's own
/// thread.
class WatchedOutput : public std::stringbuf {
 public:
  explicit WatchedOutput(std::function<void(int)> see) : see_(std::move(see)) {}

 private:
  int sync() override {
    const std::string text = str();
    const auto lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    while (seen_ < lines) see_(++seen_);
    return std::stringbuf::sync();
  }

  std::function<void(int)> see_;
  int seen_ = 0;
};

TEST(ShadowCommand, PrintsALineAWindowAndEndsByCtrlC) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  WatchedOutput printed([](int lines) {
    if (lines == 1) append("export.json", minutes(2, 2));
    if (lines == 2) std::raise(SIGINT);
  });
  std::ostream out(&printed);
  std::ostringstream err;
  const std::array argv = {"roofcast", "validate", "--follow", "export.json", "--gpu", "h100"};
  const int code = run_program(argv.size(), argv.data(), out, err, {});
  EXPECT_EQ(code, 0) << err.str();
  EXPECT_THAT(printed.str(),
              StartsWith("1970-01-12T13:47:40Z, 120 requests: TTFT 30.0 ms measured, "));
  EXPECT_THAT(printed.str(), HasSubstr("\n1970-01-12T13:48:40Z, 120 requests: "));
  EXPECT_THAT(printed.str(), HasSubstr("240 requests in 2 windows: TTFT 30.0 ms measured"));
}

TEST(ShadowCommand, FailsWhereNoFigureJudgesALimit) {
  const TemporaryFolder folder;
  append("export.json", minutes(0, 1));
  WatchedOutput printed([](int lines) {
    if (lines == 1) std::raise(SIGINT);
  });
  std::ostream out(&printed);
  std::ostringstream err;
  const std::array argv = {"roofcast", "validate", "--follow",    "export.json",
                           "--gpu",    "h100",     "--threshold", "tpot_s=10%"};
  EXPECT_EQ(run_program(argv.size(), argv.data(), out, err, {}), 1) << err.str();
  EXPECT_THAT(printed.str(), HasSubstr("No figure judges the limit on tpot_s."));
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
