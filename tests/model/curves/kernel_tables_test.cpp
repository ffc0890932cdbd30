#include "model/curves/kernel_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace roofcast {
namespace {

OperatorShape product(std::int64_t outputs, std::int64_t inputs, const char* format = "bf16") {
  return {.family = OperatorFamily::gemm, .format = format, .outputs = outputs, .inputs = inputs};
}

/// Two of eight experts, so wide.
OperatorShape experts(const char* format, std::int64_t width) {
  return {.family = OperatorFamily::moe,
          .format = format,
          .outputs = width,
          .inputs = 64,
          .experts = 8,
          .experts_per_token = 2};
}

/// One point of `us` microseconds at a size of 1, on a base of a microsecond.
MeasuredCurve curve(OperatorShape shape, const char* source, double us) {
  return {.shape = std::move(shape),
          .kernel = std::string("a kernel, ") + source,
          .terms = {.floor = Seconds{1e-6}},
          .points = {{.x = 1, .time = Seconds{us * 1e-6}, .samples = 1}}};
}

/// Tables of these curves, and how many of their groups were unpacked.
struct Tables {
  explicit Tables(const std::vector<MeasuredCurve>& curves) {
    std::map<std::pair<std::string, GroupKey>, std::vector<MeasuredCurve>> groups;
    for (const MeasuredCurve& one : curves) {
      groups[{one.kernel.substr(one.kernel.find(", ") + 2), group_key(one.shape)}].push_back(one);
    }
    KernelTables::Contents contents;
    std::vector<std::vector<MeasuredCurve>> lists;
    for (auto& [key, list] : groups) {
      std::ranges::sort(list, [](const auto& a, const auto& b) { return a.shape < b.shape; });
      contents.groups.push_back({.source = key.first, .key = key.second});
      lists.push_back(std::move(list));
    }
    contents.unpack = [this, lists](std::size_t group) {
      ++unpacked;
      return curve_group(lists[group]);
    };
    tables = std::make_unique<KernelTables>("invented", [contents] { return contents; });
  }

  /// Microseconds of the answer at a size of 1; 0: none.
  double us(const OperatorShape& shape, const char* engine) const {
    const CurveBlend blend = find_blend(*tables, shape, engine);
    return blend.parts.empty() ? 0 : answer(blend, 1, 0, 1).time.value * 1e6;
  }

  std::atomic<int> unpacked = 0;
  std::unique_ptr<KernelTables> tables;
};

TEST(KernelTables, AnswerForEnginesWhoseKernelsTheyHold) {
  const Tables some(
      {curve(product(64, 64), "SGLang 0.5.14", 5), curve(product(64, 64), "NCCL 2.29.2", 7)});
  EXPECT_TRUE(some.tables->answer_for("sglang-0.5"));
  EXPECT_FALSE(some.tables->answer_for("vllm-0.19"));
  EXPECT_FALSE(some.tables->answer_for("trtllm"));
  EXPECT_FALSE(some.tables->answer_for("roofcast"));  // for which vLLM's come first
}

// Also where they are told from neighbours, which another engine's experts are not.
TEST(KernelTables, AitersAnswerForTheEnginesThatRunThem) {
  const Tables library(
      {curve(product(64, 64), "AITER", 5), curve(experts("bf16", 768), "AITER", 9)});
  for (const char* engine : {"vllm-0.19", "sglang-0.5", "atom-0.1.2", "roofcast", "static", ""}) {
    EXPECT_TRUE(library.tables->answer_for(engine)) << engine;
    EXPECT_DOUBLE_EQ(library.us(product(64, 64), engine), 5) << engine;
    EXPECT_DOUBLE_EQ(library.us(experts("bf16", 1024), engine), 9) << engine;
  }
  EXPECT_FALSE(library.tables->answer_for("trtllm-1.2"));
  EXPECT_FALSE(library.tables->answer_for("trtllm"));
  const Tables of_nccl({curve(product(64, 64), "NCCL 2.29.2", 5)});
  EXPECT_FALSE(of_nccl.tables->answer_for("atom"));
}

// As its own do; but its own come first.
TEST(KernelTables, AitersAnswerBesideAnEnginesOwn) {
  const Tables of_both({curve(experts("bf16", 768), "AITER", 9),
                        curve(product(64, 64), "SGLang 0.5.14", 5),
                        curve(product(64, 64), "AITER", 3)});
  EXPECT_DOUBLE_EQ(of_both.us(experts("bf16", 1024), "sglang-0.5"), 9);
  EXPECT_DOUBLE_EQ(of_both.us(product(64, 64), "sglang-0.5"), 5);
  EXPECT_DOUBLE_EQ(of_both.us(product(64, 64), "atom"), 3);
}

TEST(KernelTables, TheEnginesOwnSourceAnswersThenTheNearest) {
  const OperatorShape both = product(64, 64);
  const OperatorShape old_only = product(64, 4096);
  const OperatorShape other_only = experts("bf16", 768);
  const Tables all({curve(both, "vLLM 0.24.0", 24), curve(both, "vLLM 0.19.0", 19),
                    curve(both, "SGLang 0.5.14", 5), curve(old_only, "vLLM 0.19.0", 190),
                    curve(other_only, "SGLang 0.5.14", 50), curve(other_only, "TRTLLM 1.2.0", 12)});
  EXPECT_DOUBLE_EQ(all.us(both, "vllm-0.24"), 24);
  EXPECT_DOUBLE_EQ(all.us(both, "vllm-0.20"), 19);
  EXPECT_DOUBLE_EQ(all.us(both, "sglang"), 5);
  EXPECT_DOUBLE_EQ(all.us(both, "trtllm-1.2"), 24);
  EXPECT_DOUBLE_EQ(all.us(both, ""), 24);
  EXPECT_DOUBLE_EQ(all.us(old_only, "vllm-0.24"), 190);  // six octaves from 0.24's only product
  EXPECT_DOUBLE_EQ(all.us(other_only, "vllm-0.24"), 50);
  EXPECT_DOUBLE_EQ(all.us(other_only, "trtllm-1.2"), 12);
}

TEST(KernelTables, NearNeighboursOfTheEngineComeBeforeAnotherSourcesOwnShape) {
  const Tables all({curve(product(64, 64), "vLLM 0.24.0", 24),
                    curve(product(128, 64), "SGLang 0.5.14", 5),
                    curve(product(4096, 64), "SGLang 0.5.14", 7)});
  // An octave from vLLM's; the base is the same microsecond for all.
  EXPECT_DOUBLE_EQ(all.us(product(128, 64), "vllm-0.24"), 24);
  EXPECT_DOUBLE_EQ(all.us(product(4096, 64), "vllm-0.24"), 7);
  // Six octaves from anything: the engine's own all the same.
  EXPECT_DOUBLE_EQ(all.us(product(64, 4096), "vllm-0.24"), 24);
}

TEST(KernelTables, AProductWithinTheGridIsInterpolatedBetweenItsCell) {
  std::vector<MeasuredCurve> corners = {
      curve(product(64, 64), "vLLM 0.24.0", 1), curve(product(64, 256), "vLLM 0.24.0", 2),
      curve(product(256, 64), "vLLM 0.24.0", 3), curve(product(256, 256), "vLLM 0.24.0", 6)};
  const auto answer_for = [](const std::vector<MeasuredCurve>& curves, const OperatorShape& shape) {
    const Tables all(curves);
    return answer(find_blend(*all.tables, shape, "vllm"), 1, 0, 1);
  };
  // Halfway on both axes in octaves: the mean of the four; on one only: of two.
  const CurveAnswer middle = answer_for(corners, product(128, 128));
  EXPECT_DOUBLE_EQ(middle.time.value, 3e-6);
  EXPECT_EQ(middle.provenance, Provenance::interpolated);
  const CurveAnswer edge = answer_for(corners, product(64, 128));
  EXPECT_DOUBLE_EQ(edge.time.value, 1.5e-6);
  EXPECT_EQ(edge.provenance, Provenance::interpolated);
  EXPECT_EQ(answer_for(corners, product(128, 512)).provenance, Provenance::extended);
  corners.pop_back();  // a cell that lacks a corner: neighbours
  EXPECT_EQ(answer_for(corners, product(128, 128)).provenance, Provenance::extended);
}

// 128 x 128 is an octave from 128 x 64, two from 64 x 64 and 256 x 64, and three from 512 x 64: the
// weights are 3, 1.5, 1.5 and 1 of 7. The arithmetic mean would be 151 us.
TEST(KernelTables, ANeighbourThatTakesAHundredTimesAsLongDoesNotPrevail) {
  const Tables all(
      {curve(product(64, 64), "vLLM 0.24.0", 10), curve(product(128, 64), "vLLM 0.24.0", 10),
       curve(product(256, 64), "vLLM 0.24.0", 10), curve(product(512, 64), "vLLM 0.24.0", 1000)});
  EXPECT_NEAR(all.us(product(128, 128), "vllm"), 10 * std::pow(100, 1.0 / 7), 1e-9);
}

// A library's 200 x 64 was left with a slow kernel, as its own 256 x 64 shows: neither a neighbour
// nor a corner of a cell counts for more than that. An engine's tables are taken at their word.
TEST(KernelTables, ALargerProductOfALibraryBoundsASlowNeighbour) {
  const auto timed_by = [](const char* source) {
    return std::vector{curve(product(128, 64), source, 8), curve(product(200, 64), source, 500),
                       curve(product(256, 64), source, 10)};
  };
  const Tables library(timed_by("AITER"));
  const Tables engine(timed_by("vLLM 0.24.0"));
  for (const OperatorShape& untimed : {product(200, 96), product(192, 64)}) {
    EXPECT_LE(library.us(untimed, "vllm"), 10) << untimed.inputs;
    EXPECT_GE(library.us(untimed, "vllm"), 8) << untimed.inputs;
    EXPECT_GT(engine.us(untimed, "vllm"), 20) << untimed.inputs;
  }
  EXPECT_DOUBLE_EQ(library.us(product(200, 64), "vllm"), 500);  // as it was timed
}

// Times without order, so that neighbours alone would have half of a product take longer.
TEST(KernelTables, ALibrarysProductsNeverTakeLongerWithHalfTheOutputs) {
  std::vector<MeasuredCurve> timed;
  double us = 7;
  for (const std::int64_t inputs : {64, 160, 512}) {
    for (const std::int64_t outputs : {24, 40, 100, 160, 384, 700, 1500}) {
      us = us < 20 ? 3 * us + 1 : us / 4;
      timed.push_back(curve(product(outputs, inputs), "AITER", us));
    }
  }
  const Tables library(timed);
  for (const std::int64_t inputs : {64, 96, 160, 300, 1024}) {
    for (std::int64_t outputs = 9; outputs <= 750; outputs += 7) {
      const OperatorShape half = product(outputs, inputs);
      const auto is_half = [&](const MeasuredCurve& one) { return one.shape == half; };
      if (std::ranges::any_of(timed, is_half)) continue;  // takes its own time
      EXPECT_LE(library.us(half, "vllm"), library.us(product(2 * outputs, inputs), "vllm"))
          << outputs << " x " << inputs;
    }
  }
}

// A product for each head with 96 rows is not on a side of the cell of 128 x 128.
TEST(KernelTables, ProductsForEachHeadAreNoCornersOfAnother) {
  OperatorShape head = product(96, 128);
  head.query_heads = 16;
  const Tables all({curve(product(64, 64), "vLLM 0.24.0", 1),
                    curve(product(64, 256), "vLLM 0.24.0", 2),
                    curve(product(256, 64), "vLLM 0.24.0", 3),
                    curve(product(256, 256), "vLLM 0.24.0", 6), curve(head, "vLLM 0.24.0", 50)});
  EXPECT_DOUBLE_EQ(all.us(product(128, 128), "vllm"), 3);
  EXPECT_DOUBLE_EQ(all.us(head, "vllm"), 50);
}

TEST(KernelTables, ExpertsAnswerInTheKernelsThatAreNamed) {
  const auto named = [](const char* name, const char* format) {
    OperatorShape shape = experts(format, 768);
    shape.name = name;
    return shape;
  };
  const Tables all({curve(named("cutlass", "nvfp4"), "TRTLLM 1.3.0", 9),
                    curve(named("trtllm_gen", "nvfp4"), "TRTLLM 1.3.0", 3),
                    curve(named("deepgemm", "fp8_block"), "TRTLLM 1.3.0", 8),
                    curve(named("trtllm_gen", "fp8_block"), "SGLang 0.5.14", 4)});
  EXPECT_DOUBLE_EQ(all.us(named("cutlass", "nvfp4"), "trtllm"), 9);
  EXPECT_DOUBLE_EQ(all.us(named("trtllm_gen", "nvfp4"), "trtllm"), 3);
  // The same kernels as another engine runs them, before the engine's own other ones.
  EXPECT_DOUBLE_EQ(all.us(named("trtllm_gen", "fp8_block"), "trtllm"), 4);
  EXPECT_DOUBLE_EQ(all.us(named("deepgemm", "fp8_block"), "trtllm"), 8);
  EXPECT_DOUBLE_EQ(all.us(named("cutlass", "fp8_block"), "trtllm"), 8);  // not timed: its own
  // Engines whose choice is not known run what was timed.
  EXPECT_DOUBLE_EQ(all.us(named("", "fp8_block"), "sglang"), 4);
  EXPECT_DOUBLE_EQ(all.us(named("", "nvfp4"), "vllm"), 3);
}

TEST(KernelTables, NoOtherExpertsAnswerForMarlins) {
  OperatorShape marlin = experts("mxfp4", 2880);
  marlin.name = "marlin";
  const Tables triton({curve(experts("mxfp4", 2880), "vLLM 0.24.0", 9)});
  EXPECT_DOUBLE_EQ(triton.us(marlin, "vllm"), 0);
}

// 1,024 is half an octave from 768 and 1,536 (piecewise linear in between), so that each weighs
// half; 3,072 is farther. The base is a microsecond whatever the size.
TEST(KernelTables, TheTwoNearestMixturesAnswerForOneThatWasNotTimed) {
  const Tables all({curve(experts("fp8", 768), "vLLM 0.24.0", 10),
                    curve(experts("fp8", 1536), "vLLM 0.24.0", 20),
                    curve(experts("fp8", 3072), "vLLM 0.24.0", 90)});
  EXPECT_DOUBLE_EQ(all.us(experts("fp8", 1024), "vllm"), 15);
  const CurveAnswer told = answer(find_blend(*all.tables, experts("fp8", 1024), "vllm"), 1, 0, 1);
  EXPECT_EQ(told.provenance, Provenance::extended);
  EXPECT_NEAR(told.relative_uncertainty, 1.0 / 3, 1e-12);  // 10 and 20 are a third off 15

  EXPECT_DOUBLE_EQ(all.us(experts("fp8", 1024), "sglang"), 0);  // another engine's kernels
  EXPECT_DOUBLE_EQ(all.us(experts("int4", 1024), "vllm"), 0);
  const Tables mxfp4({curve(experts("mxfp4", 768), "vLLM 0.24.0", 10)});
  EXPECT_DOUBLE_EQ(mxfp4.us(experts("mxfp4", 1024), "vllm"), 0);  // perhaps in other kernels
  OperatorShape named = experts("mxfp4", 1024);
  named.name = "cutlass";
  EXPECT_DOUBLE_EQ(mxfp4.us(named, "vllm"), 0);
  OperatorShape gated = experts("fp8", 1024);
  gated.gated = true;
  EXPECT_DOUBLE_EQ(all.us(gated, "vllm"), 0);
  OperatorShape over_ranks = experts("fp8", 1024);
  over_ranks.expert_ranks = 2;
  EXPECT_DOUBLE_EQ(all.us(over_ranks, "vllm"), 0);  // one rank's share answers
  OperatorShape unevenly = experts("fp8", 1024);
  unevenly.power_law = 120;
  EXPECT_DOUBLE_EQ(all.us(unevenly, "vllm"), 15);
}

// Two of eight experts have as many tokens each of 3 as two of sixteen have of 6.
TEST(KernelTables, NeighbouringMixturesAnswerAtAsManyTokensForEachExpert) {
  OperatorShape sixteen = experts("fp8", 768);
  sixteen.experts = 16;
  MeasuredCurve timed = curve(sixteen, "vLLM 0.24.0", 5);
  timed.points.push_back({.x = 6, .time = Seconds{30e-6}, .samples = 1});
  const Tables all({timed});
  const CurveBlend blend = find_blend(*all.tables, experts("fp8", 768), "vllm");
  EXPECT_DOUBLE_EQ(answer(blend, 3, 0, 1).time.value, 30e-6);
  EXPECT_DOUBLE_EQ(blend.octaves, 1);
}

// 6,144 is an octave beyond 3,072, and three beyond 768; 8,192 is beyond their reach.
TEST(KernelTables, MixturesAreLessSureTheFartherTheyAreAndSilentBeyondThreeOctaves) {
  const auto told = [](std::int64_t timed, std::int64_t width) {
    const Tables all({curve(experts("fp8", timed), "vLLM 0.24.0", 10)});
    return answer(find_blend(*all.tables, experts("fp8", width), "vllm"), 1, 0, 1);
  };
  EXPECT_NEAR(told(3072, 6144).relative_uncertainty, 0.05 + 0.06, 1e-12);
  EXPECT_NEAR(told(768, 6144).relative_uncertainty, 0.05 + 3 * 0.06, 1e-12);
  const Tables far({curve(experts("fp8", 768), "vLLM 0.24.0", 10)});
  EXPECT_TRUE(find_blend(*far.tables, experts("fp8", 8192), "vllm").parts.empty());
}

// 1.2 takes 1.2 and 1.8 times as long as 1.3 for the two nearest widths, so 100 us of 1.3 are
// 100 us * sqrt(1.2 * 1.8).
TEST(KernelTables, ExpertsOfAnotherVersionTakeTheRatioOfTheVersionsOfTheirNeighbours) {
  const Tables some({curve(experts("fp8", 64), "TRTLLM 1.3.0", 50),
                     curve(experts("fp8", 64), "TRTLLM 1.2.0", 60),
                     curve(experts("fp8", 128), "TRTLLM 1.3.0", 100),
                     curve(experts("fp8", 256), "TRTLLM 1.3.0", 200),
                     curve(experts("fp8", 256), "TRTLLM 1.2.0", 360),
                     curve(experts("fp8", 1024), "TRTLLM 1.3.0", 500),
                     curve(experts("fp8", 1024), "TRTLLM 1.2.0", 5000)});
  EXPECT_NEAR(some.us(experts("fp8", 128), "trtllm-1.2"), 100 * std::sqrt(1.2 * 1.8), 1e-9);
  EXPECT_NEAR(some.us(experts("fp8", 128), "trtllm-1.1"), 100 * std::sqrt(1.2 * 1.8), 1e-9);
  EXPECT_NEAR(some.us(experts("fp8", 128), "trtllm-1.3"), 100, 1e-9);
  EXPECT_NEAR(some.us(experts("fp8", 128), "trtllm"), 100, 1e-9);
  EXPECT_NEAR(some.us(experts("fp8", 256), "trtllm-1.2"), 360, 1e-9);  // its own
  const CurveAnswer told =
      answer(find_blend(*some.tables, experts("fp8", 128), "trtllm-1.2"), 1, 0, 1);
  EXPECT_EQ(told.provenance, Provenance::extended);
  EXPECT_GT(told.relative_uncertainty, std::log(1.8 / 1.2) / 2);  // what the neighbours differ by
}

TEST(KernelTables, VersionsOfFarOrOtherExpertsGiveNoRatio) {
  OperatorShape other = experts("fp8", 128);
  other.gated = !other.gated;
  const Tables some({curve(experts("fp8", 128), "TRTLLM 1.3.0", 100),
                     curve(experts("fp8", 2048), "TRTLLM 1.3.0", 1000),
                     curve(experts("fp8", 2048), "TRTLLM 1.2.0", 3000),
                     curve(other, "TRTLLM 1.3.0", 80), curve(other, "TRTLLM 1.2.0", 160)});
  EXPECT_NEAR(some.us(experts("fp8", 128), "trtllm-1.2"), 100, 1e-9);
}

TEST(KernelTables, ExpertsOfAnotherEngineAnswerOnlyWhereTheOwnWereTimedAtNoSize) {
  const Tables all({curve(experts("fp8", 768), "vLLM 0.14.0", 14),
                    curve(experts("fp8", 4096), "TRTLLM 1.3.0", 13),
                    curve(experts("int4", 4096), "TRTLLM 1.3.0", 4)});
  EXPECT_DOUBLE_EQ(all.us(experts("fp8", 768), "vllm"), 14);
  EXPECT_DOUBLE_EQ(all.us(experts("fp8", 4096), "vllm"), 14);  // as its own of another width
  EXPECT_DOUBLE_EQ(all.us(experts("int4", 4096), "vllm"), 4);
  EXPECT_DOUBLE_EQ(all.us(experts("fp8", 4096), "trtllm"), 13);
}

TEST(KernelTables, LibrariesComeBeforeOtherEngines) {
  const OperatorShape gather{
      .family = OperatorFamily::collective, .ranks = 4, .exchange = Exchange::all_gather};
  const Tables all({curve(gather, "vLLM 0.24.0", 24), curve(gather, "NCCL 2.29.2", 29)});
  EXPECT_DOUBLE_EQ(all.us(gather, "sglang"), 29);
  EXPECT_DOUBLE_EQ(all.us(gather, "vllm"), 24);
}

TEST(KernelTables, OnlyWhatIsAskedForIsUnpackedAndOnce) {
  const Tables all({curve(product(64, 64), "vLLM 0.24.0", 24),
                    curve(product(64, 64, "fp8"), "vLLM 0.24.0", 12),
                    curve(product(64, 64), "SGLang 0.5.14", 5)});
  EXPECT_EQ(all.unpacked, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_DOUBLE_EQ(all.us(product(64, 64), "vllm"), 24); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all.unpacked, 1);
  EXPECT_DOUBLE_EQ(all.us(product(64, 64, "fp8"), "vllm"), 12);
  EXPECT_EQ(all.unpacked, 2);
}

TEST(KernelTables, PromptsInABatchComeWithTheCurveOfOne) {
  OperatorShape one{.family = OperatorFamily::prefill_attention, .query_heads = 8, .kv_heads = 8};
  OperatorShape four = one;
  four.prompts = 4;
  OperatorShape two_of_another = one;
  two_of_another.prompts = 2;
  two_of_another.query_heads = 16;
  const Tables all({curve(four, "vLLM 0.24.0", 30), curve(one, "vLLM 0.24.0", 10),
                    curve(two_of_another, "vLLM 0.24.0", 20)});
  const CurveBlend blend = find_blend(*all.tables, one, "vllm");
  ASSERT_EQ(blend.batches.size(), 1u);
  EXPECT_EQ(blend.batches[0].shape.prompts, 4);
}

TEST(KernelTables, AnUnreadableGroupSaysSoEachTime) {
  const KernelTables tables("broken", [] {
    KernelTables::Contents contents;
    contents.groups = {{.source = "vLLM 0.24.0", .key = group_key(product(64, 64))}};
    contents.unpack = [](std::size_t) -> CurveGroup { throw Error("damaged"); };
    return contents;
  });
  EXPECT_THROW(find_blend(tables, product(64, 64), "vllm"), Error);
  EXPECT_THROW(find_blend(tables, product(64, 64), "vllm"), Error);
}

}  // namespace
}  // namespace roofcast
