// The flags that shape a synthetic load: parsing, and overriding a scenario.
#include "cli/options/option_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

SyntheticWorkload workload_of(const std::string& flags, SyntheticWorkload workload = {},
                              bool count_given = false) {
  LoadShapeOptions options;
  const po::options_description described = load_shape_options(options);
  po::variables_map values;
  po::store(po::command_line_parser(split_words(flags)).options(described).run(), values);
  po::notify(values);
  apply(options, count_given, workload);
  return workload;
}

/// The usage error caused by `flags`.
std::string misuse(const std::string& flags, bool count_given = false) {
  try {
    workload_of(flags, {}, count_given);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no misuse";
}

TEST(LoadShapeOptions, WhatWasNotGivenStaysAsTheScenarioHasIt) {
  SyntheticWorkload scenario;
  scenario.num_prompts = 7;
  scenario.normalised = false;
  scenario.pattern = RampUp{.start = 1, .end = 2};
  scenario.shared_prefix = SharedPrefix{.groups = 3};
  const SyntheticWorkload workload = workload_of("--num-warmups 2", scenario);
  EXPECT_EQ(workload.num_prompts, 7);
  EXPECT_FALSE(workload.normalised);
  EXPECT_TRUE(std::holds_alternative<RampUp>(workload.pattern));
  EXPECT_EQ(workload.shared_prefix->groups, 3);
  EXPECT_EQ(workload.num_warmups, 2);
}

TEST(LoadShapeOptions, ARampTakesItsThreeFlagsTogether) {
  const auto workload =
      workload_of("--ramp-up-strategy exponential --ramp-up-start-rps 2 --ramp-up-end-rps 600/min");
  const auto& ramp = std::get<RampUp>(workload.pattern);
  EXPECT_EQ(ramp.strategy, RampUp::Strategy::exponential);
  EXPECT_EQ(ramp.start, 2);
  EXPECT_EQ(ramp.end, 10);  // 600 a minute
  EXPECT_THAT(misuse("--ramp-up-strategy linear --ramp-up-end-rps 5"), HasSubstr("one is missing"));
  EXPECT_THAT(misuse("--ramp-up-strategy steep --ramp-up-start-rps 1 --ramp-up-end-rps 5"),
              HasSubstr("'steep' is not a strategy"));
}

TEST(LoadShapeOptions, StagesSayRateSecondsAndWhetherTheyWarmUp) {
  const auto workload = workload_of("--stages 5:30:warm-up 10:60");
  const auto& stages = std::get<StagedLoad>(workload.pattern).stages;
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].rate, 5);
  EXPECT_EQ(stages[0].duration.value, 30);
  EXPECT_TRUE(stages[0].warm_up);
  EXPECT_FALSE(stages[1].warm_up);
  EXPECT_THAT(misuse("--stages 5"), HasSubstr("--stages: "));
  EXPECT_THAT(misuse("--stages 5:30", true), HasSubstr("--num-prompts excludes --stages"));
}

TEST(LoadShapeOptions, OnlyOneFlagSaysHowTheRateChanges) {
  EXPECT_THAT(misuse("--stages 5:30 --cycle 1:10"), HasSubstr("are mutually exclusive"));
  EXPECT_THAT(misuse("--diurnal 1:10 --cycle 1:10"), HasSubstr("are mutually exclusive"));
  const auto cycle = workload_of("--cycle 20:10 0:50");
  EXPECT_EQ(std::get<RateCycle>(cycle.pattern).phases.size(), 2U);
  const auto day = workload_of("--diurnal 1:10:3600");
  EXPECT_EQ(std::get<DiurnalRate>(day.pattern).period.value, 3600);
}

TEST(LoadShapeOptions, ARangeRatioIsOneNumberOrOneForEachLength) {
  EXPECT_EQ(workload_of("--random-range-ratio 0.25").range_ratio,
            (RangeRatio{.input = 0.25, .output = 0.25}));
  EXPECT_EQ(workload_of("--random-range-ratio {\"output\":0.5}").range_ratio,
            (RangeRatio{.output = 0.5}));
  EXPECT_EQ(workload_of("--random-range-ratio 0.25 --range-ratio-style sglang").range_ratio.style,
            RangeRatio::Style::sglang);
  for (const char* bad : {"half", "[0.5]", "{}", "{\"prompt\":0.5}", "{\"input\":\"0.5\"}"}) {
    EXPECT_THAT(misuse(std::string("--random-range-ratio ") + bad), HasSubstr("from 0 to 1"))
        << bad;
  }
  EXPECT_THAT(misuse("--random-range-ratio 0.5 --range-ratio-style best"),
              HasSubstr("'best' is not a style"));
}

TEST(LoadShapeOptions, GroupsTimesQuestionsAreTheNumberOfPrompts) {
  const auto workload = workload_of("--prefix-len 300 --prefix-groups 4 --prompts-per-group 25");
  EXPECT_EQ(workload.num_prompts, 100);  // 4 x 25
  EXPECT_EQ(workload.shared_prefix->system_prompt, fixed_length(300));
  SyntheticWorkload counted;
  counted.num_prompts = 30;
  EXPECT_EQ(workload_of("--prefix-groups 4 --prompts-per-group 25", counted, true).num_prompts, 30);
}

TEST(LoadShapeOptions, APrefixOfNoTokensIsNone) {
  SyntheticWorkload scenario;
  scenario.shared_prefix = SharedPrefix{};
  EXPECT_FALSE(workload_of("--prefix-len 0", scenario).shared_prefix);
}

TEST(LoadShapeOptions, SessionFlagsGoOverTheScenariosSessions) {
  SyntheticWorkload scenario;
  scenario.sessions = Sessions{.turns = fixed_length(5), .max_session_tokens = 4096};
  const auto workload = workload_of("--think-time 2.5 --first-input-len 700", scenario);
  EXPECT_EQ(workload.sessions->turns, fixed_length(5));
  EXPECT_EQ(workload.sessions->max_session_tokens, 4096);
  EXPECT_EQ(workload.sessions->think_time.a, 2.5);
  EXPECT_EQ(workload.sessions->first_input, fixed_length(700));
  EXPECT_THAT(misuse("--think-time soon"), HasSubstr("--think-time: "));
}

TEST(LoadShapeOptions, AdaptersAndTheirSkewAreTaken) {
  const auto workload = workload_of("--lora-adapters 8 --lora-zipf 1.5");
  EXPECT_EQ(workload.lora, (LoraAdapters{.count = 8, .zipf = 1.5}));
}

TEST(LoadShapeOptions, ImagesAreAlsoReadUnderTheirFormerName) {
  EXPECT_EQ(flag_with_alias("--pictures"), "images");
  EXPECT_EQ(flag_with_alias("--picture-tokens"), "image-tokens");
  const Images images{.count = 2, .tokens = 1024};
  EXPECT_EQ(workload_of("--images 2 --image-tokens 1024").images, images);
  LoadShapeOptions described;
  std::string ours;
  for (const std::string& word : normalise(split_words("--pictures 2 --picture-tokens 1024"),
                                           load_shape_options(described))) {
    ours += word + " ";
  }
  EXPECT_EQ(workload_of(ours).images, images);
}

}  // namespace
}  // namespace roofcast::test
