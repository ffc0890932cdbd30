// roofcast calibrate on a fake device, from the plan to the profile and the store; and its error if
// there is no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/error.hpp"
#include "calibrate/run_calibration.hpp"
#include "model/io/gpu_reader.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/store.hpp"
#include "roofcast/calibrate.hpp"
#include "tests/calibrate/fake_backend.hpp"
#include "tests/calibrate/fake_group.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast {
namespace {

using test::FakeBackend;
using testing::Contains;
using testing::HasSubstr;

/// A folder removed afterwards, and the options of a quick calibration in it.
class Calibrate : public testing::Test {
 protected:
  Calibrate() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("roofcast_calibrate_") + info->name() + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    options.extent = ExtentKind::quick;
    options.model = "gpt2";
    options.out = folder_ / "profile.json";
    options.store_path = folder_ / "store.db";
    options.command_line = "roofcast calibrate";
  }
  ~Calibrate() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  CalibrationOutcome run(FakeBackend& backend) {
    // Every reading of the clock takes a microsecond in addition to the device's own time.
    const CalibrateHooks hooks{
        .now_s = [&] { return backend.elapsed_s() + 1e-6 * static_cast<double>(++looks_); },
        .go_on = [&](int done, int) { return done < max_points; },
        .tell = [&](const std::string& line) { told.push_back(line); }};
    return run_calibration(backend, options, hooks);
  }

  std::vector<RunRow> runs() const { return Store(options.store_path, Store::Mode::read).runs(); }

  std::filesystem::path folder_;
  CalibrateOptions options;
  int max_points = 1'000'000;
  std::vector<std::string> told;

 private:
  std::int64_t looks_ = 0;
};

TEST_F(Calibrate, WritesAProfileThatTheOtherCommandsRead) {
  FakeBackend backend;
  const CalibrationOutcome outcome = run(backend);
  ASSERT_TRUE(outcome.gpu.has_value());
  EXPECT_TRUE(outcome.sweep.failed.empty());
  const GpuProfile read = load_gpu(options.out);
  EXPECT_EQ(read.gpu.name, "fake-accelerator-80gb");
  ASSERT_TRUE(read.gpu.measured.has_value());
  // The fake copies in no time; its clock advances by a microsecond per reading.
  EXPECT_NEAR(read.gpu.measured->engine_step.value, 1e-6, 1e-9);
  EXPECT_EQ(read.gpu.measured->curves.size(), outcome.gpu->measured->curves.size());

  const test::CommandResult shown = test::run_command("gpus " + options.out);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const test::CommandResult estimate =
      test::run_command("estimate --model gpt2 --gpu " + options.out + " --ops");
  EXPECT_EQ(estimate.exit_code, 0) << estimate.err;
  EXPECT_THAT(estimate.out, HasSubstr("measured"));

  ASSERT_EQ(runs().size(), 1u);
  EXPECT_EQ(runs()[0].kind, "calibrate");
  EXPECT_EQ(runs()[0].model, "gpt2");
  EXPECT_EQ(runs()[0].profile_hash, read.hash);
  EXPECT_EQ(test::run_command("runs 1 --store " + options.store_path).exit_code, 0);
}

TEST_F(Calibrate, EveryPointIsInTheStoreWithItsSamples) {
  FakeBackend backend;
  const CalibrationOutcome outcome = run(backend);
  const auto points = Store(options.store_path, Store::Mode::read).timed_points(outcome.run_id);
  std::set<std::string> names;
  std::set<std::string> families;
  for (const TimedPointRow& point : points) {
    names.insert(point.name);
    families.insert(point.family);
    EXPECT_GE(point.samples.size(), 3u) << point.name;
    EXPECT_EQ(point.samples[0].clock_hz, 1.8e9);
  }
  for (const TimedCase& timed : outcome.sweep.timed) EXPECT_THAT(names, Contains(name_of(timed.c)));
  for (const char* family : {"gemm", "prefill_attention", "decode_attention", "memory_bound",
                             "copy", "launch", "sentinel"}) {
    EXPECT_THAT(families, Contains(family));
  }
}

TEST_F(Calibrate, AnInterruptedOneKeepsItsPointsAndGoesOn) {
  FakeBackend first;
  max_points = 40;
  const CalibrationOutcome interrupted = run(first);
  EXPECT_FALSE(interrupted.gpu.has_value());
  EXPECT_FALSE(std::filesystem::exists(options.out));
  EXPECT_THAT(runs().at(0).summary, HasSubstr("interrupted after"));

  FakeBackend second;
  max_points = 1'000'000;
  options.resume = true;
  const CalibrationOutcome resumed = run(second);
  EXPECT_EQ(resumed.run_id, interrupted.run_id);
  EXPECT_EQ(resumed.resumed_points, interrupted.stored_points);
  ASSERT_TRUE(resumed.gpu.has_value());
  EXPECT_THAT(told, Contains(HasSubstr("resuming run 1")));
  EXPECT_EQ(runs().size(), 1u);

  // Nothing was timed twice but the sentinel.
  std::multiset<std::string> names;
  for (const auto& point : Store(options.store_path, Store::Mode::read).timed_points(1)) {
    if (point.family != "sentinel") names.insert(point.name);
  }
  for (const std::string& name : names) EXPECT_EQ(names.count(name), 1u) << name;

  // And it is as if it had never been interrupted: the same curves at the same points.
  FakeBackend third;
  options.resume = false;
  const CalibrationOutcome whole = run(third);
  ASSERT_EQ(whole.gpu->measured->curves.size(), resumed.gpu->measured->curves.size());
  for (std::size_t i = 0; i < whole.gpu->measured->curves.size(); ++i) {
    EXPECT_EQ(whole.gpu->measured->curves[i].points.size(),
              resumed.gpu->measured->curves[i].points.size());
  }
}

/// Answers `replays` replays and then fails, as after a fault in a CUDA kernel.
FakeBackend dying_after(std::int64_t replays) {
  return FakeBackend({.slow_down = [replays](std::int64_t replay) {
    if (replay >= replays) throw std::runtime_error("an illegal memory access was encountered");
    return 1.0;
  }});
}

TEST_F(Calibrate, ADeviceThatIsLostKeepsWhatWasTimed) {
  FakeBackend dying = dying_after(60);  // before the first product
  try {
    run(dying);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the device failed: an illegal memory access"));
    EXPECT_THAT(error.what(), HasSubstr("`resume`"));
  }
  EXPECT_FALSE(std::filesystem::exists(options.out));
  EXPECT_GE(Store(options.store_path, Store::Mode::read).timed_points(1).size(), 1u);
  FakeBackend healthy;
  options.resume = true;
  EXPECT_TRUE(run(healthy).gpu.has_value());
  EXPECT_EQ(runs().size(), 1u);
}

TEST_F(Calibrate, ADeviceThatIsLostLeavesAProfileThatSaysSo) {
  FakeBackend dying = dying_after(2000);
  const CalibrationOutcome outcome = run(dying);
  EXPECT_EQ(outcome.sweep.end, SweepEnd::device_lost);
  ASSERT_TRUE(outcome.gpu.has_value());
  const Gpu written = load_gpu(options.out).gpu;
  EXPECT_THAT(written.measured->incomplete, HasSubstr("illegal memory access"));
  EXPECT_GT(written.measured->curves.size(), 0u);
  EXPECT_THAT(failure_of(answer_of(outcome)).value(),
              HasSubstr("the device failed: an illegal memory access"));
  EXPECT_THAT(test::run_command("gpus " + options.out).out, HasSubstr("incomplete"));
  EXPECT_THAT(runs().at(0).summary, HasSubstr("the device failed after"));

  FakeBackend healthy;
  options.resume = true;
  const CalibrationOutcome whole = run(healthy);
  EXPECT_GT(whole.resumed_points, 0);
  EXPECT_EQ(failure_of(answer_of(whole)), std::nullopt);
  EXPECT_EQ(load_gpu(options.out).gpu.measured->incomplete, "");
  EXPECT_EQ(runs().size(), 1u);
}

TEST_F(Calibrate, SeveralGpusAlsoTimeWhatTheySendEachOther) {
  FakeBackend backend;
  backend.peers_ = test::fake_peers({.devices = 4});
  const CalibrationOutcome outcome = run(backend);
  ASSERT_TRUE(outcome.gpu.has_value());
  EXPECT_TRUE(outcome.sweep.failed.empty());
  EXPECT_THAT(told, testing::Each(testing::Not(HasSubstr("collectives"))));
  // 2 and 4 of them, four exchanges, five sizes of a quick look.
  const auto points = Store(options.store_path, Store::Mode::read).timed_points(outcome.run_id);
  EXPECT_EQ(std::count_if(points.begin(), points.end(),
                          [](const TimedPointRow& row) { return row.family == "collective"; }),
            2 * 4 * 5);
  const test::CommandResult shown = test::run_command("gpus " + options.out);
  EXPECT_THAT(shown.out, HasSubstr("reduce_scatter of 4 GPUs"));
  EXPECT_THAT(shown.out, HasSubstr("NCCL 9.9.9"));
  const test::CommandResult estimate =
      test::run_command("estimate --model gpt2 --tp 4 --ops --gpu " + options.out);
  EXPECT_EQ(estimate.exit_code, 0) << estimate.err;
  EXPECT_THAT(estimate.out,
              testing::ContainsRegex("all_reduce[^\n]*(measured|interpolated|extended)"));
}

TEST_F(Calibrate, OneGpuSaysWhyNoCollectiveIsTimed) {
  FakeBackend backend;
  backend.peers_.why_not = "there is one Fake Accelerator in this machine";
  run(backend);
  EXPECT_THAT(
      told, Contains("collectives were not timed: there is one Fake Accelerator in this machine"));
  EXPECT_THAT(test::run_command("gpus " + options.out).out,
              HasSubstr("not timed: there is one Fake Accelerator"));
}

TEST_F(Calibrate, SamplesOfOtherConditionsAreNotMixed) {
  FakeBackend first;
  max_points = 20;
  run(first);
  FakeBackend updated;
  updated.facts_.versions["driver"] = "9.9.9";
  max_points = 1'000'000;
  options.resume = true;
  const CalibrationOutcome outcome = run(updated);
  EXPECT_EQ(outcome.run_id, 2);
  EXPECT_EQ(outcome.resumed_points, 0);
  EXPECT_THAT(told, Contains(HasSubstr("under other conditions")));
}

TEST_F(Calibrate, AnotherModelDoesNotGoOnWithTheInterruptedOne) {
  FakeBackend first;
  max_points = 20;
  run(first);
  FakeBackend second;
  options.resume = true;
  options.model = "qwen2.5-0.5b";
  EXPECT_EQ(run(second).resumed_points, 0);
  EXPECT_THAT(told, Contains(HasSubstr("run 1 was interrupted with other options (roofcast cal")));
  EXPECT_EQ(runs().size(), 2u);
}

TEST_F(Calibrate, WithoutAProductThereIsNoProfile) {
  // At a million FLOP/s even GPT-2's smallest product, 1.2 MFLOP, is above what a quick look times.
  FakeBackend slow({.flops_per_s = 1e6});
  EXPECT_THROW(run(slow), Error);
  EXPECT_FALSE(std::filesystem::exists(options.out));
}

TEST_F(Calibrate, WithNothingToResumeItStartsAnew) {
  FakeBackend backend;
  options.resume = true;
  EXPECT_TRUE(run(backend).gpu.has_value());
  EXPECT_THAT(told, Contains(HasSubstr("no interrupted calibration of Fake Accelerator")));
}

TEST_F(Calibrate, AGpuOfTheCatalogueKeepsItsDatasheet) {
  FakeBackend backend;
  backend.facts_.name = "NVIDIA H200";
  const CalibrationOutcome outcome = run(backend);
  EXPECT_TRUE(outcome.known_gpu);
  EXPECT_EQ(outcome.gpu->name, "nvidia-h200-sxm");
  EXPECT_EQ(load_gpu(options.out).gpu.memory_bandwidth.value, 4.8e12);
}

TEST_F(Calibrate, WhatCannotBeWrittenIsSaidBeforeAnythingIsTimed) {
  FakeBackend backend;
  options.out = folder_ / "no" / "such" / "profile.json";
  EXPECT_THROW(run(backend), Error);
  options.out = folder_ / "profile.json";
  options.store_path = folder_ / "no" / "store.db";
  EXPECT_THROW(run(backend), Error);
  options.store_path = folder_ / "store.db";
  options.model = "no-such-model";
  EXPECT_THROW(run(backend), Error);
  EXPECT_EQ(backend.replays(), 0);
}

TEST_F(Calibrate, AProfileThatFindsNoPlaceIsWrittenLaterWithoutTimingAgain) {
  FakeBackend backend;
  options.out = "/dev/full";  // takes any name, and no byte
  try {
    run(backend);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/full: cannot be written (No space left on device)"));
    EXPECT_THAT(error.what(), HasSubstr("`resume`"));
  }
  FakeBackend again;
  options.out = folder_ / "profile.json";
  options.resume = true;
  EXPECT_TRUE(run(again).gpu.has_value());
  EXPECT_LT(again.replays(), backend.replays() / 10);  // the sentinel alone
  EXPECT_EQ(load_gpu(options.out).gpu.name, "fake-accelerator-80gb");
}

TEST_F(Calibrate, StaysWithinItsBudget) {
  // Over 2000 launches for the host's costs, then ten and more for each of hundreds of points.
  FakeBackend backend({.floor_s = 2e-3});
  const CalibrationOutcome outcome = run(backend);
  EXPECT_LT(outcome.elapsed_s, 10.0);
  EXPECT_GT(outcome.sweep.not_reached, 0);
  EXPECT_TRUE(outcome.gpu.has_value());
}

TEST_F(Calibrate, TheAnswerHasCeilingsErrorsAndWorstPoints) {
  FakeBackend backend;
  const Document document = calibration_document(answer_of(run(backend)));
  std::ostringstream text;
  write(document, OutputFormat::table, text);
  for (const char* part : {"Ceilings", "device copy", "matrix product, bf16", "leave one out",
                           "decode_attention", "Worst points", "profile in"}) {
    EXPECT_THAT(text.str(), HasSubstr(part));
  }
  for (const char* key : {"profile", "run", "points", "ceilings", "families", "worst_points",
                          "rejected", "untimed", "not_reached"}) {
    EXPECT_TRUE(document.machine.contains(key)) << key;
  }
}

TEST(CalibrateCommand, SaysWhatItTakes) {
  EXPECT_EQ(test::run_command("calibrate").exit_code, 2);
  const test::CommandResult other = test::run_command("calibrate --device tpu");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("'tpu' given, expected cpu, cuda or cuda:N"));
  EXPECT_EQ(test::run_command("calibrate --device cuda:x").exit_code, 2);
  EXPECT_EQ(test::run_command("calibrate --device cpu --quick --full").exit_code, 2);
}

TEST(CalibrateCommand, AProfileIsNotCalledLikeAGpu) {
  const test::CommandResult result = test::run_command("calibrate --device cpu --quick --out h200");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--out: 'h200' looks like a GPU name"));
}

TEST(CalibrateCommand, WithoutSuchAGpuItSaysWhatCanBeDone) {
  const test::CommandResult result = test::run_command("calibrate --device cuda:99 --quick");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("roofcast: --device cuda"));
  EXPECT_THAT(result.err, HasSubstr("--device cpu"));
}

}  // namespace
}  // namespace roofcast
