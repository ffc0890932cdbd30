#include "roofcast/learn.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/numbers.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/memory.hpp"
#include "roofcast/staircase.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCpuProfile = ROOFCAST_SOURCE_DIR "/tests/golden/profiles/imaginary-cpu.json";

LessonAnswer lesson(const char* model, const char* gpu, std::int64_t prompt = 500,
                    std::int64_t generate = 200) {
  return learn(
      {.deployment = {.model = model, .gpu = gpu}, .prompt = prompt, .generate = generate});
}

const LessonAnswer& on_h100() {
  static const LessonAnswer answer = learn({});
  return answer;
}

const LessonAnswer& on_cpu() {
  static const LessonAnswer answer = lesson("gpt2", kCpuProfile);
  return answer;
}

const LessonAnswer& gpt2_on_h100() {
  static const LessonAnswer answer = learn({.deployment = {.model = "gpt2", .gpu = "h100"}});
  return answer;
}

const LessonStep& step(const LessonAnswer& answer, const char* key) {
  const LessonStep* found = find_step(answer, key);
  EXPECT_NE(found, nullptr) << key;
  static const LessonStep none;
  return found ? *found : none;
}

const LessonClasses& beside(const LessonAnswer& answer, JobArrival job) {
  return *std::ranges::find(answer.numbers.classes, job, &LessonClasses::job);
}

std::string all_of(const LessonStep& step) {
  std::string text;
  for (const std::string& one : step.text) text += one + "\n";
  if (step.ask) text += step.ask->prompt + "\n";
  for (const std::string& one : step.reveal) text += one + "\n";
  return text;
}

// ---- truths known from elsewhere

TEST(Lesson, GoesFromTheFirstGuessToSampling) {
  std::vector<std::string> keys;
  for (const LessonStep& one : on_h100().steps) keys.push_back(one.key);
  EXPECT_THAT(keys, ElementsAre("start", "shape", "grows", "fortieth", "cause", "fixes", "phases",
                                "roofline", "batching", "speculative", "quantisation", "paging",
                                "slo", "busy", "night", "sampling"));
  keys.emplace_back("teach-back");
  EXPECT_EQ(lesson_step_keys(), keys);
}

// 200 tokens after 500: 200 * 500 + 200 * 199 / 2 = 119,900 computations against 700, 171 times as
// many. K and V of LLaMA-3.1-8B: 32 layers x 2 x 8 heads x 128 x 2 bytes = 131,072 a token.
TEST(Lesson, CountsWorkAndCache) {
  const std::string cause = all_of(step(on_h100(), "cause"));
  EXPECT_THAT(cause, AllOf(HasSubstr("119,900"), HasSubstr("700 times"), HasSubstr("171"),
                           HasSubstr("131,072 bytes for each token")));
  EXPECT_THAT(all_of(step(on_h100(), "grows")), AllOf(HasSubstr("500 tokens"), HasSubstr("699")));
}

TEST(Lesson, TimesAreThoseOfTheStaircase) {
  const StaircaseAnswer known =
      staircase({.deployment = DeploymentOptions{.model = "llama-3.1-8b", .gpu = "h100"},
                 .prompt = 500,
                 .generate = 200});
  const auto& naive = known.times->tokens.naive;
  EXPECT_EQ(on_h100().numbers.tokens.naive_total, known.times->tokens.naive_total);
  EXPECT_DOUBLE_EQ(step(on_h100(), "fortieth").ask->truth.value(), naive[39] / naive[0]);
  const std::string shape = all_of(step(on_h100(), "shape"));
  EXPECT_THAT(shape, AllOf(HasSubstr(as_time(naive.front())), HasSubstr(as_time(naive.back()))));
}

// 989.4 TFLOP/s over 3.35 TB/s (NVIDIA H100 SXM, dense bf16) = 295.3 FLOPs a byte.
TEST(Lesson, RidgeIsPeakOverBandwidth) {
  EXPECT_NEAR(step(on_h100(), "roofline").ask->truth.value(), 295.3, 0.05);
}

// 1 + 0.7 + 0.49 + 0.343 + 0.2401 = 2.7731 tokens a step.
TEST(Lesson, DraftsYieldTheGeometricSum) {
  const LessonStep& drafts = step(on_h100(), "speculative");
  EXPECT_NEAR(drafts.ask->truth.value(), 2.7731, 1e-9);
  EXPECT_THAT(all_of(drafts), HasSubstr("1 + 0.70 + 0.49 + 0.34 + 0.24 = 2.77 tokens"));
}

// 256 texts with 4 drafts each: 256 x 5 = 1,280 tokens, where the products are compute-bound from
// 326 on (docs/learn.md). Of 5 tokens 5 - 2.7731 = 2.23 are thrown away.
TEST(Lesson, DraftsGainLittleInLargeBatchesAndTheReasonIsSaid) {
  const std::vector<LessonDrafts>& all = on_h100().numbers.drafts;
  ASSERT_EQ(all.size(), on_h100().numbers.batches.size());
  EXPECT_EQ(all.back().batch, 256);
  EXPECT_EQ(all.back().tokens, 1280);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].without, on_h100().numbers.batches[i].step);
    EXPECT_NEAR(all[i].gain, 2.7731 * (all[i].without / all[i].step), 1e-9);
    // 1 + 0.35 + 0.1225 + 0.042875 + 0.01500625 = 1.53038125
    EXPECT_NEAR(all[i].gain_half_right, 1.53038125 * (all[i].without / all[i].step), 1e-9);
    if (i > 0) {
      EXPECT_LT(all[i].gain, all[i - 1].gain);
    }
  }
  EXPECT_LT(all.back().gain, 0.6 * all.front().gain);
  EXPECT_LT(all.back().gain_half_right, 1);
  EXPECT_THAT(all_of(step(on_h100(), "speculative")),
              AllOf(HasSubstr("1,280 tokens in a step, more than the 326 from which on"),
                    HasSubstr("of 5 tokens computed for a text 2.23 are thrown away"),
                    HasSubstr("cost more than they bring")));
}

// GPT-2's step on an H100 waits for kernels to start: its arithmetic is not used up.
TEST(Lesson, DraftsThatCostNoArithmeticAreNotSaidTo) {
  EXPECT_LT(gpt2_on_h100().numbers.drafts.back().flop_share, 0.5);
  EXPECT_THAT(all_of(step(gpt2_on_h100(), "speculative")), Not(HasSubstr("full arithmetic")));
}

// Qwen3-30B-A3B reads 8 of 128 experts for a token: the drafts of one text choose others, those of
// 256 texts find all of them read.
TEST(Lesson, DraftsOfOneTextHaveMoreExpertsRead) {
  const LessonAnswer answer = learn({.deployment = {.model = "qwen3-30b-a3b", .gpu = "h200"}});
  const std::vector<LessonDrafts>& drafts = answer.numbers.drafts;
  EXPECT_GT(drafts.front().step / drafts.front().without,
            drafts.back().step / drafts.back().without);
  EXPECT_THAT(all_of(step(answer, "speculative")),
              AllOf(HasSubstr("chooses experts of its own"), Not(HasSubstr("costs little"))));
  EXPECT_THAT(all_of(step(answer, "quantisation")),
              Not(testing::ContainsRegex("1[0-9][0-9] % of")));
}

TEST(Lesson, ALoadThatIsTooMuchForChatAloneIsSaidToBe) {
  const LessonAnswer answer = learn(
      {.deployment = {.model = "llama-3.1-8b", .gpu = "l4"}, .prompt = 4000, .generate = 100});
  EXPECT_FALSE(beside(answer, JobArrival::none).kept);
  EXPECT_THAT(all_of(step(answer, "slo")),
              AllOf(HasSubstr("too much for it even without a job"),
                    Not(HasSubstr("keeps one promise and breaks the other"))));
}

TEST(Lesson, FewerBitsAreShownWhereTheyHelp) {
  const LessonStep& small = step(gpt2_on_h100(), "quantisation");
  EXPECT_THAT(small.ask->prompt, HasSubstr("how many times smaller are the weights"));
  const EstimateAnswer known = estimate({.deployment = {.model = "llama-3.1-8b", .gpu = "h100"},
                                         .batch = 1,
                                         .input_tokens = 500,
                                         .output_tokens = 200});
  const auto step_in = [&](const char* name) {
    return as_time(std::ranges::find(known.variants, name, &FormatAnswer::name)->decode_step);
  };
  EXPECT_THAT(all_of(small), AllOf(HasSubstr("differ by no more than their spread"),
                                   HasSubstr("starting its kernels takes most of the step"),
                                   HasSubstr("On the same GPU, llama-3.1-8b has 14.96 GiB"),
                                   HasSubstr(step_in("fp8 weights") + " with 8 bits instead of " +
                                             step_in("bf16 weights") + " with 16")));
  EXPECT_THAT(all_of(step(on_h100(), "quantisation")),
              AllOf(HasSubstr("how many times as fast is a decode step"),
                    Not(HasSubstr("On the same GPU"))));
}

TEST(Lesson, FewerBitsLeaveRoomForMoreTexts) {
  const MemoryAnswer plan =
      memory({.deployment = {.model = "llama-3.1-8b", .gpu = "h100", .weight_format = "fp8"},
              .solve = MemoryQuestion::Solve::batch,
              .context = 700});
  const auto& formats = on_h100().numbers.formats;
  const auto texts = [&](const char* name) {
    return std::ranges::find(formats, name, &LessonFormat::name)->texts;
  };
  EXPECT_EQ(texts("fp8 weights"), plan.solution->batch.value());
  EXPECT_EQ(static_cast<double>(texts("as given")), step(on_h100(), "paging").ask->truth.value());
}

TEST(Lesson, TextsThatFitAreThoseOfTheMemoryPlan) {
  const MemoryAnswer plan = memory({.deployment = {.model = "llama-3.1-8b", .gpu = "h100"},
                                    .solve = MemoryQuestion::Solve::batch,
                                    .context = 700});
  EXPECT_EQ(step(on_h100(), "paging").ask->truth.value(),
            static_cast<double>(plan.solution->batch.value()));
}

// The products of LLaMA-3.1-8B have 8,030,261,248 - 128,256 x 4,096 (embedding) - 65 x 4,096
// (norms) = 7,504,658,432 weights of 2 bytes: 13.98 GiB. A step looks up one row of the embedding.
TEST(Lesson, ADecodeStepDoesNotReadTheEmbedding) {
  EXPECT_THAT(all_of(step(on_h100(), "phases")), HasSubstr("reads the weights again, 13.98 GiB,"));
  for (const LessonStep& one : on_h100().steps) {
    EXPECT_THAT(all_of(one), Not(HasSubstr("all 14.96"))) << one.key;
  }
}

// A LLaMA-3.1-8B text takes 500 to 700 tokens of 131,072 while it is written, 600 on average:
// 1 - 600 / 131,072 = 99.54 % of a place for the longest are empty. In blocks of 256 it takes 512
// slots for 500 to 512 tokens (13 lengths) and 768 for 513 to 700 (188): 1 - 201 x 600 / (13 x 512
// + 188 x 768) = 20.15 %.
TEST(Lesson, SmallerBlocksFitMoreTextsAndLeaveLessEmpty) {
  const std::vector<LessonBlocks>& all = on_h100().numbers.blocks;
  std::vector<std::int64_t> sizes;
  for (const LessonBlocks& one : all) sizes.push_back(one.block_tokens);
  EXPECT_THAT(sizes, ElementsAre(1, 16, 32, 64, 128, 256, 131'072));
  EXPECT_EQ(all.front().empty_share, 0);
  EXPECT_NEAR(all[5].empty_share, 0.2015, 5e-5);
  EXPECT_TRUE(all.back().longest);
  EXPECT_NEAR(all.back().empty_share, 1 - 600.0 / 131'072, 1e-12);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i].texts, all[i - 1].texts) << all[i].block_tokens;
    EXPECT_GE(all[i].empty_share, all[i - 1].empty_share) << all[i].block_tokens;
  }
  EXPECT_EQ(static_cast<double>(all[1].texts), step(on_h100(), "paging").ask->truth.value());
}

// 2.7731 tokens with four drafts, 4 if all were right; 8 bits halve the products' weights only.
TEST(Lesson, ThePlainGuessIsToldWhyItIsLess) {
  const auto drafts = judge(*step(on_h100(), "speculative").ask, "4");
  EXPECT_EQ(drafts->grade, Grade::off);
  EXPECT_THAT(drafts->said, HasSubstr("only if those before it are right"));
  const auto narrow = judge(*step(on_h100(), "quantisation").ask, "2");
  EXPECT_EQ(narrow->grade, Grade::off);
  EXPECT_THAT(narrow->said, AllOf(HasSubstr("Less"), HasSubstr("does not shrink")));
  EXPECT_EQ(judge(*step(on_h100(), "speculative").ask, "3.9")->grade, Grade::not_far_off);
}

TEST(Lesson, NoChangeIsNotPraisedWhereSomethingChanges) {
  const LessonAsk& ask = *step(on_h100(), "fortieth").ask;
  ASSERT_GT(ask.truth.value(), 1.005);
  ASSERT_LT(ask.truth.value(), 1.15);  // 1 would be within 15 %
  EXPECT_EQ(judge(ask, "1")->grade, Grade::off);
  EXPECT_EQ(judge(ask, "0.99")->grade, Grade::off);
  EXPECT_EQ(judge(ask, "1.05")->grade, Grade::very_close);
}

TEST(Lesson, MoreOfTheOtherResourceGainsLessWherePartOfAStepWaitsForIt) {
  EXPECT_THAT(all_of(step(on_h100(), "night")),
              AllOf(HasSubstr("more FLOP/s gains less: only the"), HasSubstr("Prefill takes"),
                    Not(HasSubstr("gains nothing"))));
}

// ---- sentences follow the deployment

/// A profile whose memory could read the weights many times within a step.
TEST(Lesson, NeitherLimitIsNamedWhereASlowStepComesNearNeither) {
  nlohmann::json profile = nlohmann::json::parse(std::ifstream(kCpuProfile));
  profile["memory_bandwidth_bytes_per_s"] =
      20 * profile.at("memory_bandwidth_bytes_per_s").get<double>();
  for (auto& [name, peak] : profile.at("dense_peak_flops_per_s").items())
    peak = 20 * peak.get<double>();
  const test::TemporaryFolder folder;
  const std::string path = folder.write("slow-cpu.json", profile.dump());
  const LessonAnswer answer = lesson("gpt2", path.c_str());
  for (const LessonBatch& one : answer.numbers.batches) ASSERT_LT(one.bandwidth_share, 0.5);
  EXPECT_THAT(all_of(step(answer, "phases")),
              AllOf(Not(HasSubstr("Decode is memory-bound")), HasSubstr("near neither limit"),
                    HasSubstr("At full bandwidth its reading would take")));
  EXPECT_EQ(step(answer, "night").ask->right, "losses");
}

TEST(Lesson, AnH100IsComputeBoundInPrefillAndMemoryBoundInDecode) {
  EXPECT_THAT(all_of(step(on_h100(), "phases")),
              AllOf(HasSubstr("Prefill is compute-bound"), HasSubstr("Decode is memory-bound")));
  EXPECT_EQ(step(on_h100(), "night").ask->right, "memory");
}

TEST(Lesson, ASmallModelOnALargeGpuIsBoundByNeither) {
  const LessonAnswer answer = lesson("gpt2", "h100", 16, 50);
  EXPECT_THAT(all_of(step(answer, "phases")),
              AllOf(HasSubstr("neither compute-bound nor memory-bound"),
                    Not(HasSubstr("Decode is memory-bound"))));
  EXPECT_EQ(step(answer, "shape").ask->right, "flat");
  EXPECT_THAT(all_of(step(answer, "shape")), HasSubstr("hardly longer than a single token"));
}

TEST(Lesson, ACpuRunsTheEngineThatRunsThere) {
  EXPECT_THAT(on_cpu().headline, HasSubstr("roofcast"));
  EXPECT_THAT(on_cpu().notes, ElementsAre(HasSubstr("On a CPU")));
  EXPECT_EQ(step(on_cpu(), "shape").ask->right, "rises");
  for (const LessonStep& one : on_cpu().steps) {
    EXPECT_THAT(all_of(one), Not(HasSubstr("nvidia-smi"))) << one.key;
  }
}

// At 60 % of the most that it serves, some request is always there.
TEST(Lesson, BusyIsNotFull) {
  EXPECT_GT(step(on_h100(), "busy").ask->truth.value(), 95);
  const LessonLoad& most = on_h100().numbers.loads.back();
  EXPECT_EQ(most.share, 1);
  for (const LessonLoad& load : on_h100().numbers.loads) {
    EXPECT_LE(load.mean_running, most.mean_running);
  }
}

// 60 % of the most for chat and 30 % for the job: less than the most, so whether a promise is kept
// is decided by who waits for whom.
TEST(Lesson, ABatchJobHandedInAtOnceBreaksThePromiseToChatAndIsDoneSooner) {
  for (const LessonAnswer* answer : {&on_h100(), &gpt2_on_h100()}) {
    const LessonNumbers& numbers = answer->numbers;
    EXPECT_NEAR(static_cast<double>(numbers.job_requests),
                0.3 * numbers.loads.back().requests_per_s * numbers.chat_span.value, 1);
    const LessonClasses& at_once = beside(*answer, JobArrival::at_once);
    const LessonClasses& spread = beside(*answer, JobArrival::spread);
    EXPECT_TRUE(beside(*answer, JobArrival::none).kept);
    EXPECT_EQ(beside(*answer, JobArrival::none).job_done.value, 0);
    EXPECT_FALSE(at_once.kept);
    EXPECT_TRUE(spread.kept);
    EXPECT_LT(at_once.job_done, spread.job_done);
    EXPECT_GT(spread.job_done, 0.99 * numbers.chat_span);  // its last request comes then
    EXPECT_LT(beside(*answer, JobArrival::behind_chat).ttft_p95, at_once.ttft_p95);
    EXPECT_GT(beside(*answer, JobArrival::behind_chat).job_done, at_once.job_done);
    EXPECT_THAT(all_of(step(*answer, "slo")),
                AllOf(HasSubstr("keeps one promise and breaks the other"),
                      HasSubstr("Here both have what they were promised")));
  }
}

// With chat alone, its load is the lesson's at 60 %.
TEST(Lesson, ChatAloneIsTheLoadOfItsShare) {
  const auto& loads = on_h100().numbers.loads;
  const LessonLoad& same = *std::ranges::find(loads, 0.6, &LessonLoad::share);
  EXPECT_EQ(beside(on_h100(), JobArrival::none).ttft_p95, same.ttft_p95);
  EXPECT_EQ(beside(on_h100(), JobArrival::none).tpot_p95, same.tpot_p95);
}

TEST(Lesson, OnlyEnginesWithPrioritiesLetChatGoFirst) {
  const LessonAnswer answer =
      learn({.deployment = {.model = "llama-3.1-8b", .gpu = "h100", .engine = "sglang"}});
  EXPECT_EQ(answer.numbers.classes.size(), 3U);
  EXPECT_THAT(all_of(step(answer, "slo")), Not(HasSubstr("--scheduling-policy")));
  EXPECT_EQ(step(answer, "slo").ask->choices.size(), 2U);
}

TEST(Lesson, SharesOfPeakAndBandwidthAreBelowOne) {
  for (const LessonAnswer* answer : {&on_h100(), &on_cpu()}) {
    for (const LessonBatch& batch : answer->numbers.batches) {
      EXPECT_GT(batch.bandwidth_share, 0);
      EXPECT_LE(batch.bandwidth_share, 1);
      EXPECT_LE(batch.flop_share, 1);
    }
  }
}

// ---- what was set for the reader

TEST(Lesson, AModelThatFitsOnlyWithShorterSequencesGetsThem) {
  const LessonAnswer answer = learn({.deployment = {.model = "llama-3.1-8b", .gpu = "rtx-4090"}});
  EXPECT_THAT(answer.notes, ElementsAre(HasSubstr("`max_model_len` ")));
}

TEST(Lesson, LengthsFollowTheModelsContext) {
  const LessonAnswer answer =
      learn({.deployment = {.model = "gpt2", .gpu = "h100"}, .prompt = 1000});
  EXPECT_EQ(answer.inputs.prompt_tokens, 1000);
  EXPECT_EQ(answer.inputs.generated_tokens, 24);  // GPT-2 takes 1,024
}

TEST(Lesson, RefusesWhatCannotBeTaught) {
  EXPECT_THAT(test::complaint([] { lesson("llama-3.1-70b", "h100"); }), HasSubstr("does not fit"));
  EXPECT_THAT(test::complaint([] { lesson("gpt2", "h100", 1000, 1000); }),
              HasSubstr("`prompt` and `generate`: gpt2 takes sequences of up to 1,024 tokens"));
  EXPECT_THAT(test::complaint([] { lesson("gpt2", "h100", 0, 10); }),
              HasSubstr("prompt: expected 1 to 10,000 tokens"));
  EXPECT_THAT(test::complaint([] { lesson("gpt2", "h100", 10, 1); }),
              HasSubstr("generate: expected 2 to 10,000 tokens"));
  EXPECT_THAT(test::complaint([] { learn({.acceptance = 2}); }), HasSubstr("acceptance: "));
  EXPECT_THAT(test::complaint([] { learn({.drafts = 0}); }), HasSubstr("drafts: "));
}

TEST(Lesson, EndsWhenItIsCancelled) {
  EXPECT_EQ(test::complaint([] {
              learn({.deployment = {.model = "gpt2", .gpu = "h100"}},
                    [](std::int64_t, std::int64_t) { return false; });
            }),
            "cancelled");
}

// ---- guesses

TEST(Lesson, OnlyTheTruthIsPraised) {
  for (const LessonAnswer* answer : {&on_h100(), &on_cpu()}) {
    for (const LessonStep& one : answer->steps) {
      if (!one.ask || one.ask->kind != GuessKind::choice) continue;
      int praised = 0;
      for (const LessonChoice& choice : one.ask->choices) {
        const auto judgement = judge(*one.ask, choice.key);
        ASSERT_TRUE(judgement) << one.key << " " << choice.key;
        praised += is_good(judgement->grade) ? 1 : 0;
        EXPECT_EQ(is_good(judgement->grade), choice.key == one.ask->right);
      }
      EXPECT_EQ(praised, 1) << one.key;
    }
  }
}

TEST(Lesson, NumbersAreJudgedByTheirRatioToTheTruth) {
  const LessonAsk& ask = *step(on_h100(), "roofline").ask;  // 295.3
  const auto grade = [&](const char* guess) { return judge(ask, guess)->grade; };
  EXPECT_EQ(grade("295.3"), Grade::very_close);
  EXPECT_EQ(grade("335"), Grade::very_close);   // 1.13 times
  EXPECT_EQ(grade("345"), Grade::not_far_off);  // 1.17 times
  EXPECT_EQ(grade("190"), Grade::not_far_off);  // 1.55 times less
  EXPECT_EQ(grade("500"), Grade::off);          // 1.69 times
  EXPECT_EQ(grade("0"), Grade::off);
  EXPECT_THAT(judge(ask, "1")->said, HasSubstr("more than that"));
  EXPECT_THAT(judge(ask, "1e9")->said, HasSubstr("less than that"));
  EXPECT_FALSE(is_good(Grade::not_far_off));
}

TEST(Lesson, EveryNumberFallsIntoOneBand) {
  for (const LessonStep& one : on_h100().steps) {
    if (!one.ask || one.ask->kind != GuessKind::number) continue;
    double end = 0;
    for (const GuessBand& band : one.ask->bands) {
      EXPECT_DOUBLE_EQ(band.low, end) << one.key;
      end = band.high.value_or(-1);
    }
    EXPECT_EQ(end, -1) << one.key;
  }
}

TEST(Lesson, AMatchIsRightOnlyAsAWhole) {
  const LessonAsk& ask = *step(on_h100(), "fixes").ask;
  std::string right;
  for (const LessonItem& item : ask.items) right += item.right + " ";
  EXPECT_EQ(judge(ask, right)->grade, Grade::right);
  EXPECT_EQ(judge(ask, "recompute single reread")->grade, Grade::wrong);
  EXPECT_THAT(judge(ask, "recompute single reread")->said, HasSubstr("1 of 3"));
}

// A page judges by the list in the JSON.
TEST(Lesson, JudgementsAreListed) {
  const LessonAsk& choice = *step(on_h100(), "shape").ask;
  const std::vector<Judgement> of_choices = judgements(choice);
  ASSERT_EQ(of_choices.size(), choice.choices.size());
  for (std::size_t i = 0; i < of_choices.size(); ++i) {
    const bool right = choice.choices[i].key == choice.right;
    EXPECT_THAT(of_choices[i].said, HasSubstr(right ? "Right." : "No: "));
  }
  const LessonAsk& match = *step(on_h100(), "fixes").ask;
  std::vector<std::string> of_match;
  for (const Judgement& one : judgements(match)) of_match.push_back(one.said);
  EXPECT_THAT(of_match, ElementsAre("0 of 3 are right.", "1 of 3 are right.", "2 of 3 are right.",
                                    "All of them are right."));
  EXPECT_TRUE(judgements(*step(on_h100(), "roofline").ask).empty());
}

TEST(Lesson, WhatIsNoGuessIsNotJudged) {
  const LessonAsk& choice = *step(on_h100(), "shape").ask;
  EXPECT_TRUE(judge(choice, "1"));
  for (const char* guess : {"", "0", "5", "riseses", "-1", "\xff"}) {
    EXPECT_FALSE(judge(choice, guess)) << guess;
  }
  const LessonAsk& number = *step(on_h100(), "roofline").ask;
  for (const char* guess : {"", "many", "-1", "nan", "1e999", "2 2"}) {
    EXPECT_FALSE(judge(number, guess)) << guess;
  }
  const LessonAsk& match = *step(on_h100(), "fixes").ask;
  for (const char* guess : {"", "1 2", "1 2 3 1", "1 2 x"}) {
    EXPECT_FALSE(judge(match, guess)) << guess;
  }
}

// ---- words

/// Words of two or more capitals, which a reader cannot be expected to know.
std::set<std::string> abbreviations(const std::string& text) {
  std::set<std::string> found;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/') {  // units: TB/s
      word += c;
      continue;
    }
    const bool capitals = word.size() > 1 && std::ranges::all_of(word, [](char letter) {
                            return letter >= 'A' && letter <= 'Z';
                          });
    if (capitals) found.insert(word);
    word.clear();
  }
  return found;
}

std::string without(std::string text, const std::string& name) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name)) {
    text.erase(at, name.size());
  }
  return text;
}

TEST(Lesson, EveryAbbreviationIsInTheGlossary) {
  for (const LessonAnswer* answer : {&on_h100(), &on_cpu()}) {
    for (const LessonStep& one : answer->steps) {
      const std::string text = without(without(all_of(one), answer->headline),
                                       answer->inputs.deployment.gpu_display_name);
      for (const std::string& word : abbreviations(text)) {
        EXPECT_FALSE(terms_of(word).empty()) << one.key << ": " << word;
      }
    }
  }
}

TEST(Lesson, TermsOfAStepAreKeysOfTheGlossary) {
  for (const LessonStep& one : on_h100().steps) {
    EXPECT_FALSE(one.terms.empty()) << one.key;
    for (const std::string& key : one.terms) EXPECT_NE(find_term(key), nullptr) << key;
  }
}

TEST(Lesson, ReadsBack) {
  for (const LessonAnswer* answer : {&on_h100(), &on_cpu()}) {
    test::read_back(*answer, lesson_answer_from_json, lesson_answer_schema());
  }
}

}  // namespace
}  // namespace roofcast
