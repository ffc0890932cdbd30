#include "cli/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ProgressLine, SaysHowFarHowFastAndHowLong) {
  // 1,500 of 3,000 in 3 s: half of 30 marks, 500 a second, the other half in 3 s.
  EXPECT_EQ(progress_line({.done = 1500, .total = 3000, .what = "requests", .elapsed_s = 3}),
            "[===============               ] 1,500 of 3,000 requests (500 /s), 3 s left");
}

TEST(ProgressLine, HasNoRateBeforeTheFirst) {
  EXPECT_EQ(progress_line({.done = 0, .total = 10, .what = "requests", .elapsed_s = 2}),
            "[                              ] 0 of 10 requests");
}

TEST(ProgressLine, AtTheEndNothingIsLeft) {
  EXPECT_EQ(progress_line({.done = 10, .total = 10, .what = "runs", .elapsed_s = 5}),
            "[==============================] 10 of 10 runs (2 /s), 0 s left");
}

TEST(ProgressLine, SaysWhatIsLeftAtLeastWhereTheTotalGrows) {
  // 20 in 4 s: 5 a second, so that the 20 known to be left take 4 s more; those to come are not
  // known.
  ProgressState state{
      .done = 20, .total = 40, .what = "simulations", .elapsed_s = 4, .total_grew = true};
  EXPECT_EQ(progress_text(state),
            "20 of at least 40 simulations (5 /s), 4 s so far, at least 4 s left");
  state.total = 20;
  EXPECT_EQ(progress_text(state), "20 of at least 20 simulations (5 /s), 4 s so far");
}

// A second search: 2 of 4 in 4 s, behind 30 s of the first. The rate and what is left are those of
// the second alone, 0.5 a second and 2 at that rate; "so far" is the sum.
TEST(ProgressLine, ASecondCountHasARateOfItsOwn) {
  const ProgressState state{
      .done = 2, .total = 4, .what = "simulations", .elapsed_s = 4, .earlier_s = 30};
  EXPECT_EQ(progress_text(state),
            "then 2 of 4 simulations (0.5 /s), 34 s so far, at least 4 s left");
}

TEST(ProgressLine, HasADigitMoreOfSlowRates) {
  EXPECT_EQ(progress_text({.done = 1, .total = 2, .what = "searches", .elapsed_s = 10}),
            "1 of 2 searches (0.1 /s), 10 s left");
  EXPECT_EQ(progress_text({.done = 1, .total = 3, .what = "searches", .elapsed_s = 60}),
            "1 of 3 searches (1 min 00 s each), 2 min 00 s left");
  EXPECT_EQ(progress_text({.done = 4, .total = 8, .what = "searches", .elapsed_s = 100}),
            "4 of 8 searches (25 s each), 1 min 40 s left");
}

TEST(ProgressLine, IsNarrowerThanTheTerminal) {
  for (const std::size_t width : {40, 60, 79, 80, 120}) {
    const std::string line = progress_line(
        {.done = 203'514, .total = 2'000'000, .what = "requests", .elapsed_s = 1, .width = width});
    EXPECT_LT(line.size(), width) << line;
    EXPECT_THAT(line, HasSubstr("203,514 of 2,000,000")) << line;
  }
}

TEST(ProgressBar, SaysNothingOfShortWorkWhereThereIsNoTerminal) {
  std::ostringstream err;
  {
    ProgressBar bar(err, "requests");
    EXPECT_TRUE(bar.show(1, 2));
  }
  EXPECT_EQ(err.str(), "");
}

TEST(ProgressBar, WritesALineEachTimeThatOneIsDueWhereThereIsNoTerminal) {
  std::ostringstream err;
  {
    ProgressBar bar(err, "simulations", std::chrono::milliseconds(0));
    bar.show(1, 4);
    bar.show(2, 4);
  }
  const std::string lines = err.str();
  EXPECT_THAT(lines, StartsWith("1 of 4 simulations ("));
  EXPECT_THAT(lines, HasSubstr("\n2 of 4 simulations ("));
  EXPECT_THAT(lines, testing::EndsWith(" left\n"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
}

TEST(ProgressBar, BeginsACountWhereLessIsDoneThanBefore) {
  std::ostringstream err;
  {
    ProgressBar bar(err, "simulations", std::chrono::milliseconds(0));
    bar.show(1, 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    bar.show(0, 2);
    bar.show(1, 2);
  }
  const std::string lines = err.str();
  EXPECT_THAT(lines, HasSubstr("\nthen 0 of 2 simulations\n"));
  EXPECT_THAT(lines, HasSubstr("\nthen 1 of 2 simulations ("));
  EXPECT_THAT(lines, testing::Not(HasSubstr("at least 2 simulations")));
}

TEST(ProgressBar, WritesNoLineBeforeOneIsDue) {
  std::ostringstream err;
  {
    ProgressBar bar(err, "simulations", std::chrono::hours(1));
    bar.show(1, 4);
    bar.show(2, 4);
  }
  EXPECT_EQ(err.str(), "");
}

TEST(ProgressBar, CtrlCAsksToStop) {
  std::ostringstream err;
  ProgressBar bar(err, "requests");
  EXPECT_FALSE(bar.interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(bar.interrupted());
  EXPECT_FALSE(bar.show(1, 2));
}

bool default_interrupt() {
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  return action.sa_handler == SIG_DFL;
}

// Schedulers and `timeout` send SIGTERM: what is known so far is worth as much to them.
TEST(ProgressBar, SigtermAsksToStopAsCtrlCDoes) {
  std::ostringstream err;
  {
    ProgressBar bar(err, "requests");
    std::raise(SIGTERM);
    EXPECT_TRUE(bar.interrupted());
    EXPECT_FALSE(bar.show(1, 2));
  }
  struct sigaction action {};
  sigaction(SIGTERM, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(ProgressBar, ASecondCtrlCEndsTheProgram) {
  std::ostringstream err;
  ProgressBar bar(err, "requests");
  EXPECT_FALSE(default_interrupt());
  std::raise(SIGINT);
  EXPECT_TRUE(default_interrupt());
}

TEST(ProgressBar, LeavesNothingBehind) {
  std::ostringstream err;
  { const ProgressBar bar(err, "requests"); }
  EXPECT_TRUE(default_interrupt());
}

// As a search does that has a bar for each of its stages.
TEST(ProgressBar, AnInterruptBetweenTwoBarsStopsTheNext) {
  std::ostringstream err;
  {
    const InterruptWatch watch;
    { const ProgressBar first(err, "placements"); }
    EXPECT_FALSE(default_interrupt());
    std::raise(SIGINT);
    ProgressBar second(err, "simulations");
    EXPECT_FALSE(second.show(1, 2));
    EXPECT_TRUE(default_interrupt());  // a second Ctrl-C ends the program
  }
  EXPECT_TRUE(default_interrupt());
  EXPECT_TRUE(ProgressBar(err, "simulations").show(1, 2));
}

/// Runs a slow command, and interrupts it as soon as it handles the signal.
CommandResult interrupted_command(const std::string& line) {
  std::thread ctrl_c([] {
    while (default_interrupt()) std::this_thread::yield();
    kill(getpid(), SIGINT);
  });
  CommandResult result = run_command(line);
  ctrl_c.join();
  return result;
}

TEST(Interruption, SaysWhatWasDoneAndKeepsNothingByHalves) {
  // Some hundred thousand steps more than are taken between two looks at the signal.
  const TemporaryFolder folder;
  const CommandResult result = interrupted_command(
      "simulate --model llama-3.1-8b --gpu h100 --num-prompts 20000 --request-rate 10 "
      "--store runs.db --requests-out requests.csv");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, StartsWith("interrupted: "));
  EXPECT_THAT(result.out, HasSubstr("neither the SLO nor saturation is judged"));
  EXPECT_THAT(result.err, HasSubstr(" of 20,000 requests had finished; requests.csv says which; "
                                    "nothing was stored"));
  EXPECT_THAT(run_command("runs --store runs.db").out, testing::Not(HasSubstr("llama")));
  std::ifstream file("requests.csv");
  std::string line;
  std::int64_t rows = -1;  // the header
  std::int64_t unfinished = 0;
  for (; std::getline(file, line); ++rows) {
    if (line.ends_with(",unfinished")) ++unfinished;
  }
  EXPECT_EQ(rows, 20'000);
  EXPECT_GT(unfinished, 0);
}

}  // namespace
}  // namespace roofcast::test
