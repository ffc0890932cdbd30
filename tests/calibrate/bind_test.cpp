#include "calibrate/bind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "tests/calibrate/fake_backend.hpp"

namespace roofcast {
namespace {

using kernels::Element;
using test::FakeBackend;
using testing::HasSubstr;

constexpr double kMemory = 8e9;

OperatorShape matrix(const std::string& format, std::int64_t n, std::int64_t k) {
  return {.family = OperatorFamily::gemm, .format = format, .outputs = n, .inputs = k};
}

CalibrationCase gemm_case(const std::string& format, double tokens) {
  return {.kind = CaseKind::gemm,
          .shape = matrix(format, 4096, 4096),
          .x = tokens,
          .kernel = "fake 1.0"};
}

OperatorShape attention(OperatorFamily family) {
  return {.family = family, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .value_dim = 128};
}

CalibrationCase experts_case(double tokens) {
  return {.kind = CaseKind::moe,
          .shape = {.family = OperatorFamily::moe,
                    .format = "bf16",
                    .outputs = 768,
                    .inputs = 2048,
                    .experts = 16,
                    .experts_per_token = 4,
                    .gated = true},
          .x = tokens,
          .kernel = "fake 1.0"};
}

CalibrationCase token_case(CaseKind kind, const TokenSizes& sizes) {
  return {.kind = kind,
          .shape = {.family = OperatorFamily::memory_bound, .name = "some"},
          .sizes = sizes,
          .kernel = "fake 1.0"};
}

class Bind : public testing::Test {
 protected:
  /// Binds the case, launches each copy once and returns the calls that the device saw.
  std::vector<test::FakeCall> calls_of(const CalibrationCase& c) {
    EXPECT_TRUE(can_run(backend, c)) << name_of(c);
    bound = bind(operands, c);
    const auto recording = backend.record([&] {
      for (int copy = 0; copy < bound.work.copies; ++copy) bound.work.launch(copy);
    });
    backend.replay(*recording);
    return backend.last_calls();
  }

  FakeBackend backend{};
  Operands operands{backend, TimingProtocol{}, kMemory};
  BoundCase bound{};
};

TEST_F(Bind, AGemmReadsAnotherWeightEachTime) {
  const auto calls = calls_of(gemm_case("bf16", 128));
  // 4096 * 4096 * 2 bytes are 33.6 MB, three times 50 MB are 150: five copies.
  ASSERT_EQ(calls.size(), 5u);
  std::set<std::uintptr_t> weights;
  std::set<std::uintptr_t> inputs;
  for (const auto& call : calls) {
    EXPECT_EQ(call.flops, 2.0 * 128 * 4096 * 4096);
    weights.insert(call.operands[0].first);
    inputs.insert(call.operands[1].first);
  }
  EXPECT_EQ(weights.size(), 5u);
  EXPECT_EQ(inputs.size(), 1u);
  EXPECT_EQ(bound.cold_bytes, 4096.0 * 4096 * 2);
}

TEST_F(Bind, OnACpuOutputsMoveAndInputsAreFreshlyWritten) {
  TimingProtocol protocol;
  protocol.written_places = 8;
  protocol.inputs_written = true;
  Operands cpu_operands{backend, protocol, kMemory};
  const BoundCase cpu = bind(cpu_operands, gemm_case("bf16", 128));
  EXPECT_EQ(cpu.work.copies, 8);  // five weights, eight outputs
  const auto recording = backend.record([&] { cpu.work.before(); });
  backend.replay(*recording);
  EXPECT_EQ(backend.last_calls().at(0).family, "rms_norm");
  // 256 MB hold five places of 50 MB.
  EXPECT_EQ(cpu_operands.written(0, 1e6).count, 8);
  EXPECT_EQ(cpu_operands.written(0, 50e6).count, 5);
  EXPECT_EQ(operands.written(0, 1e6).count, 1);
  // Narrow inputs come with scales, which a norm does not write.
  EXPECT_FALSE(bind(cpu_operands, gemm_case("fp8", 16)).work.before);
}

TEST_F(Bind, NarrowFormatsAreScaledAndPadded) {
  CalibrationCase c = gemm_case("fp8", 16);
  c.shape.outputs = 50257;
  EXPECT_EQ(gemm_of(c).n, 50272);  // the next multiple of 16
  EXPECT_EQ(gemm_of(c).scale, kernels::GemmScale::tensor);
  EXPECT_EQ(gemm_of(c).result, Element::bf16);
  c.x = 33;
  EXPECT_EQ(gemm_of(c).m, 33);
  c.shape.format = "fp8_block";
  EXPECT_EQ(gemm_of(c).scale, kernels::GemmScale::block);
  EXPECT_EQ(gemm_of(c).m, 40);  // the next multiple of 8
  c.shape.format = "bf16";
  EXPECT_EQ(gemm_of(c).n, 50257);
  EXPECT_EQ(gemm_of(c).scale, kernels::GemmScale::none);
  for (const char* format : {"fp8", "fp8_block", "int8", "fp16"}) {
    EXPECT_FALSE(calls_of(gemm_case(format, 16)).empty()) << format;
  }
}

TEST_F(Bind, FourBitWeightsAreAQuarterOfTheBytes) {
  calls_of(gemm_case("awq", 1));
  // Half a byte a weight, and 2 bytes a group of 128.
  EXPECT_EQ(bound.cold_bytes, 4096.0 * 4096 * (0.5 + 2.0 / 128));
  EXPECT_EQ(backend.launches().at("int4_gemm"), bound.work.copies);
}

TEST_F(Bind, FormatsWithoutKernelsAreNotRun) {
  EXPECT_FALSE(can_run(backend, gemm_case("mxfp4", 1)));
  CalibrationCase experts = experts_case(1);
  experts.shape.format = "fp8";
  EXPECT_FALSE(can_run(backend, experts));
  CalibrationCase library = gemm_case("bf16", 1);
  library.source = kernels::KernelSource::library;  // the fake has kernels of its own only
  EXPECT_FALSE(can_run(backend, library));
}

TEST_F(Bind, DecodeReadsTheCacheOfAllItsSequences) {
  const auto calls = calls_of({.kind = CaseKind::decode_attention,
                               .shape = attention(OperatorFamily::decode_attention),
                               .x = 4,
                               .y = 1000});
  // 4 * 1000 tokens of 2 * 8 * 128 bf16 elements, and 4 * 32 * 128 FLOPs for each token.
  EXPECT_EQ(bound.cold_bytes, 4.0 * 1000 * 2 * 8 * 128 * 2);
  EXPECT_EQ(calls[0].flops, 4.0 * 32 * 128 * 4 * 1000);
  std::set<std::uintptr_t> tables;
  for (const auto& call : calls) tables.insert(call.operands[0].first);
  EXPECT_EQ(tables.size(), calls.size());  // each copy has pages of its own
}

TEST_F(Bind, ASkewedBatchAttendsToAsManyTokens) {
  CalibrationCase c{.kind = CaseKind::decode_attention,
                    .shape = attention(OperatorFamily::decode_attention),
                    .x = 8,
                    .y = 512};
  const double even = calls_of(c)[0].flops;
  c.role = CaseRole::check;
  EXPECT_EQ(calls_of(c)[0].flops, even);
  EXPECT_THAT(name_of(c), HasSubstr("skewed"));
}

TEST_F(Bind, LatentAttentionReadsOneRowAToken) {
  calls_of({.kind = CaseKind::decode_attention,
            .shape = {.family = OperatorFamily::decode_attention,
                      .query_heads = 16,
                      .kv_heads = 1,
                      .head_dim = 576,
                      .value_dim = 512,
                      .latent = true},
            .x = 2,
            .y = 4096});
  EXPECT_EQ(bound.cold_bytes, 2.0 * 4096 * 576 * 2);
  EXPECT_EQ(backend.launches().count("latent_decode"), 1u);
}

TEST_F(Bind, PrefillFindsItsPrefixColdAndItsOwnTokensWarm) {
  const OperatorShape shape = attention(OperatorFamily::prefill_attention);
  calls_of({.kind = CaseKind::prefill_attention, .shape = shape, .x = 512, .y = 0});
  EXPECT_EQ(bound.work.copies, 1);
  EXPECT_EQ(bound.cold_bytes, 0);
  const auto calls =
      calls_of({.kind = CaseKind::prefill_attention, .shape = shape, .x = 512, .y = 1024});
  EXPECT_GT(bound.work.copies, 1);
  EXPECT_EQ(bound.cold_bytes, 1024.0 * 2 * 8 * 128 * 2);
  // 512 new tokens see 1024 + (512 + 1) / 2 others each on average.
  EXPECT_EQ(calls[0].flops, 4.0 * 32 * 128 * 512 * (1024 + 256.5));
}

TEST_F(Bind, ExpertsRunFromGatherToCombine) {
  const auto calls = calls_of(experts_case(8));
  ASSERT_EQ(calls.size(), 5u * static_cast<std::size_t>(bound.work.copies));
  EXPECT_EQ(calls[0].family, "gather_rows");
  EXPECT_EQ(calls[1].family, "grouped_gemm");
  EXPECT_EQ(calls[2].family, "activation");
  EXPECT_EQ(calls[3].family, "grouped_gemm");
  EXPECT_EQ(calls[4].family, "combine");
  // 8 tokens * 4 experts, gate and up, then down.
  EXPECT_EQ(calls[1].flops, 2.0 * 32 * 2 * 768 * 2048);
  EXPECT_EQ(calls[3].flops, 2.0 * 32 * 768 * 2048);
}

TEST_F(Bind, EveryTokenOperatorLaunches) {
  const TokenSizes sizes{.tokens = 33,
                         .hidden = 2048,
                         .query_heads = 16,
                         .kv_heads = 4,
                         .head_dim = 64,
                         .vocabulary = 32000,
                         .experts = 64,
                         .experts_per_token = 4};
  for (const CaseKind kind :
       {CaseKind::norm, CaseKind::rope, CaseKind::activation, CaseKind::kv_write,
        CaseKind::embedding, CaseKind::sampling, CaseKind::routing}) {
    EXPECT_FALSE(calls_of(token_case(kind, sizes)).empty());
  }
  // 33 rows of 2048 bf16 elements: input, residual, and both written.
  EXPECT_EQ(calls_of(token_case(CaseKind::norm, sizes))[0].operands[0].second, 4.0 * 33 * 2048 * 2);
}

TEST_F(Bind, MoreThanTheLimitIsAnError) {
  Operands small(backend, TimingProtocol{}, 20e6);
  try {
    bind(small, gemm_case("bf16", 1));
    FAIL() << "33 MB of weight in 20 MB of memory";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("GiB of device memory"));
  }
}

TEST_F(Bind, MemoryOfOtherFormatsMakesRoom) {
  // Half the limit is for copies: five of bf16 (168 MB), nine of fp8 (151 MB), two of fp32 (134
  // MB), never all of them at once.
  Operands tight(backend, TimingProtocol{}, 400e6);
  const double before = backend.max_allocated();
  for (const char* format : {"bf16", "fp8", "bf16", "int8", "fp32"}) {
    const BoundCase b = bind(tight, gemm_case(format, 1));
    EXPECT_GE(b.work.copies, 2) << format;
  }
  EXPECT_LE(backend.max_allocated() - before, 400e6);
}

TEST(DecodeLengths, AreEvenOrHalfInOneSequence) {
  EXPECT_EQ(decode_lengths(3, 100, false), (std::vector<std::int32_t>{100, 100, 100}));
  const auto skewed = decode_lengths(5, 100, true);
  EXPECT_EQ(std::accumulate(skewed.begin(), skewed.end(), 0), 500);
  EXPECT_EQ(*std::max_element(skewed.begin(), skewed.end()), 252);  // 500 - 4 * (250 / 4 = 62)
  EXPECT_EQ(decode_lengths(1, 7, true), (std::vector<std::int32_t>{7}));
}

TEST(PickExperts, EveryTokenHasDistinctExpertsAndEveryPairItsPlace) {
  for (const bool skewed : {false, true}) {
    const ExpertPairs pairs = pick_experts(100, 16, 4, skewed, 3);
    ASSERT_EQ(pairs.first_row.size(), 17u);
    EXPECT_EQ(pairs.first_row.front(), 0);
    EXPECT_EQ(pairs.first_row.back(), 400);
    for (std::int32_t token = 0; token < 100; ++token) {
      std::set<std::ptrdiff_t> experts;
      for (int choice = 0; choice < 4; ++choice) {
        const std::int32_t row = pairs.place[static_cast<std::size_t>(token * 4 + choice)];
        EXPECT_EQ(pairs.source[static_cast<std::size_t>(row)], token);
        const auto behind = std::upper_bound(pairs.first_row.begin(), pairs.first_row.end(), row);
        experts.insert(behind - pairs.first_row.begin());
      }
      EXPECT_EQ(experts.size(), 4u);
    }
  }
}

TEST(PickExperts, SkewFavoursTheFirst) {
  const ExpertPairs even = pick_experts(1000, 16, 2, false, 1);
  const ExpertPairs skewed = pick_experts(1000, 16, 2, true, 1);
  // 2000 pairs over 16: 125 each, deviation 11. The weights i^-1.2 of 16 experts sum to 2.74, so
  // that the first of two draws alone is the first expert 365 times in 1000, deviation 15.
  EXPECT_NEAR(even.first_row[1], 125, 55);
  EXPECT_GT(skewed.first_row[1], 365);
}

TEST(PickExperts, FewTokensUseFewExperts) {
  EXPECT_EQ(pick_experts(1, 64, 8, false, 5).experts_used, 8);
  EXPECT_EQ(pick_experts(1000, 64, 8, false, 5).experts_used, 64);
}

TEST(CaseNames, TellCasesApart) {
  std::set<std::string> names;
  CalibrationCase c = gemm_case("bf16", 1);
  names.insert(name_of(c));
  c.x = 2;
  names.insert(name_of(c));
  c.shape.outputs = 8192;
  names.insert(name_of(c));
  c.kernel = "other";
  names.insert(name_of(c));
  c.shape.format = "fp8";
  names.insert(name_of(c));
  c.role = CaseRole::sentinel;
  names.insert(name_of(c));
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(name_of(gemm_case("bf16", 1)), "gemm bf16 N=4096 K=4096 tokens=1 [fake 1.0]");
}

}  // namespace
}  // namespace roofcast
