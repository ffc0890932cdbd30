#include <gtest/gtest.h>

#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/normal_values.hpp"
#include "tests/kernels/activation_case.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/cuda/cuda_place.hpp"
#include "tests/kernels/rope_case.hpp"
#include "tests/kernels/routing_case.hpp"
#include "tests/kernels/rows_case.hpp"
#include "tests/kernels/sampling_case.hpp"

namespace roofcast::kernels {
namespace {

class EmbeddingCuda : public testing::TestWithParam<test::RowsShape> {};
TEST_P(EmbeddingCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::EmbeddingCase c(GetParam());
  test::expect_agreement_on_device(c,
                                   [](const Embedding& e) { cuda::launch_embedding(e, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, EmbeddingCuda, testing::ValuesIn(test::rows_shapes()),
                         testing::PrintToStringParamName());

class GatherCuda : public testing::TestWithParam<test::RowsShape> {};
TEST_P(GatherCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::GatherCase c(GetParam());
  test::expect_agreement_on_device(
      c, [](const GatherRows& g) { cuda::launch_gather_rows(g, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, GatherCuda, testing::ValuesIn(test::rows_shapes()),
                         testing::PrintToStringParamName());

class RopeCuda : public testing::TestWithParam<test::RopeShape> {};
TEST_P(RopeCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::RopeCase c(GetParam());
  test::expect_agreement_on_device(c, [](const Rope& r) { cuda::launch_rope(r, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, RopeCuda, testing::ValuesIn(test::rope_shapes()),
                         testing::PrintToStringParamName());

class KvWriteCuda : public testing::TestWithParam<test::KvWriteShape> {};
TEST_P(KvWriteCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::KvWriteCase c(GetParam());
  test::expect_agreement_on_device(c, [](const KvWrite& w) { cuda::launch_kv_write(w, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, KvWriteCuda, testing::ValuesIn(test::kv_write_shapes()),
                         testing::PrintToStringParamName());

class ActivationCuda : public testing::TestWithParam<test::ActivationShape> {};
TEST_P(ActivationCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::ActivationCase c(GetParam());
  test::expect_agreement_on_device(
      c, [](const Activation& a) { cuda::launch_activation(a, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, ActivationCuda, testing::ValuesIn(test::activation_shapes()),
                         testing::PrintToStringParamName());

class SamplingCuda : public testing::TestWithParam<test::SamplingShape> {};
TEST_P(SamplingCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::SamplingCase c(GetParam());
  test::expect_agreement_on_device(c, [](const Sampling& s) { cuda::launch_sampling(s, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, SamplingCuda, testing::ValuesIn(test::sampling_shapes()),
                         testing::PrintToStringParamName());

class RoutingCuda : public testing::TestWithParam<test::RoutingShape> {};
TEST_P(RoutingCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::RoutingCase c(GetParam());
  test::expect_agreement_on_device(c, [](const Routing& r) { cuda::launch_routing(r, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, RoutingCuda, testing::ValuesIn(test::routing_shapes()),
                         testing::PrintToStringParamName());

class CombineCuda : public testing::TestWithParam<test::CombineShape> {};
TEST_P(CombineCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::CombineCase c(GetParam());
  test::expect_agreement_on_device(c, [](const Combine& m) { cuda::launch_combine(m, nullptr); });
}
INSTANTIATE_TEST_SUITE_P(Shapes, CombineCuda, testing::ValuesIn(test::combine_shapes()),
                         testing::PrintToStringParamName());

TEST(ActivationCuda, GeluMayOverwriteItsInput) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::ActivationCase c({ActivationKind::gelu, Element::bf16, 5, 3072});
  test::DevicePlace place;
  Activation activation = problem(c, place);
  test::Tensor in_place = c.input;
  activation.output = place.at(in_place);
  activation.input = activation.output;
  cuda::launch_activation(activation, nullptr);
  cuda::launch_activation(problem(c, place), nullptr);
  place.copy_back();
  EXPECT_EQ(in_place.values(), c.output.values());
}

TEST(SamplingCuda, DrawsTheSameTokenForARowInAnyBatch) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::SamplingCase c({.name = "", .rows = 4, .vocabulary = 50257, .top_k = 40, .top_p = 0.9F});
  test::DevicePlace place;
  Sampling sampling = problem(c, place);
  cuda::launch_sampling(sampling, nullptr);
  place.copy_back();
  const std::vector<std::int32_t> together = c.token.values();
  // Row 2 alone: its logits begin at an address that is not a multiple of 16 bytes in the batch.
  test::Tensor row(Element::bf16, 50257);
  for (std::size_t i = 0; i < row.size(); ++i) {
    row.set(i, static_cast<float>(c.logits.get(2 * row.size() + i)));
  }
  test::Array<float> uniform(std::vector<float>{c.uniform.get(2)});
  test::Array<std::int32_t> token(1);
  sampling.rows = 1;
  sampling.logits = place.at(row);
  sampling.uniform = at(place, uniform);
  sampling.token = at(place, token);
  cuda::launch_sampling(sampling, nullptr);
  place.copy_back();
  EXPECT_EQ(token.get(0), together[2]);
}

TEST(RoutingCuda, GivesEqualLogitsToTheLowerExperts) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::RoutingCase c({Element::bf16, 3, 40, 4});
  for (std::size_t i = 0; i < c.logits.size(); ++i) c.logits.set(i, 1);
  test::expect_agreement_on_device(c, [](const Routing& r) { cuda::launch_routing(r, nullptr); });
  EXPECT_EQ(c.source.values(), (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

class FillCuda : public testing::TestWithParam<Element> {};

/// Host and device differ by a few roundings of fp32, of values up to 6 deviations.
TEST_P(FillCuda, MakesTheValuesOfTheHost) {
  SKIP_WITHOUT_CUDA_DEVICE();
  constexpr std::uint64_t kSeed = 7;
  constexpr float kDeviation = 20;
  constexpr std::int64_t kCount = 10001;  // odd: half a pair at the end
  test::Tensor data(GetParam(), kCount);
  test::DevicePlace place;
  cuda::launch_fill_normal({.element = GetParam(),
                            .data = place.at(data),
                            .count = kCount,
                            .seed = kSeed,
                            .deviation = kDeviation},
                           nullptr);
  place.copy_back();
  std::vector<double> expected;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const NormalPair pair = normal_pair(kSeed, i / 2);
    expected.push_back((i % 2 == 0 ? pair.first : pair.second) * double{kDeviation});
  }
  test::expect_close(data, expected, [](std::size_t) { return 16 * test::kUnit * 6 * kDeviation; });
}
INSTANTIATE_TEST_SUITE_P(Elements, FillCuda,
                         testing::Values(Element::fp32, Element::fp16, Element::bf16,
                                         Element::fp8_e4m3, Element::int8),
                         [](const auto& element) { return std::string(name_of(element.param)); });

TEST(TokenOperatorsCuda, RefuseABrokenContractWithoutTouchingTheDevice) {
  EXPECT_THROW(cuda::launch_embedding({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_rope({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_kv_write({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_activation({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_sampling({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_gather_rows({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_routing({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_combine({}, nullptr), std::invalid_argument);
  EXPECT_THROW(cuda::launch_fill_normal({.count = 1}, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels
