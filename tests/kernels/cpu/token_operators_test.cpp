#include <gtest/gtest.h>

#include "kernels/cpu/token_operators.hpp"
#include "tests/kernels/activation_case.hpp"
#include "tests/kernels/rope_case.hpp"
#include "tests/kernels/routing_case.hpp"
#include "tests/kernels/rows_case.hpp"
#include "tests/kernels/sampling_case.hpp"

namespace roofcast::kernels {
namespace {

using test::HostPlace;

/// Runs an operator as a thread pool would, on ranges that add up to `count` items, the last first.
template <class Contract>
void run(void (*function)(const Contract&, cpu::Range), const Contract& contract,
         std::int64_t count) {
  check(contract);
  const std::int64_t middle = count / 3;
  function(contract, {.begin = middle, .end = count});
  function(contract, {.begin = 0, .end = middle});
}

class RowsCpu : public testing::TestWithParam<test::RowsShape> {};

TEST_P(RowsCpu, EmbeddingAgreesWithTheReference) {
  test::EmbeddingCase c(GetParam());
  HostPlace host;
  run(cpu::embedding, problem(c, host), c.shape.rows);
  expect_answer(c);
}

TEST_P(RowsCpu, GatherAgreesWithTheReference) {
  test::GatherCase c(GetParam());
  HostPlace host;
  run(cpu::gather_rows, problem(c, host), c.shape.rows);
  expect_answer(c);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RowsCpu, testing::ValuesIn(test::rows_shapes()),
                         testing::PrintToStringParamName());

class RopeCpu : public testing::TestWithParam<test::RopeShape> {};

TEST_P(RopeCpu, AgreesWithTheReference) {
  test::RopeCase c(GetParam());
  HostPlace host;
  run(cpu::rope, problem(c, host), c.shape.tokens);
  expect_answer(c);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RopeCpu, testing::ValuesIn(test::rope_shapes()),
                         testing::PrintToStringParamName());

class KvWriteCpu : public testing::TestWithParam<test::KvWriteShape> {};

TEST_P(KvWriteCpu, AgreesWithTheReference) {
  test::KvWriteCase c(GetParam());
  HostPlace host;
  run(cpu::kv_write, problem(c, host), c.shape.tokens);
  expect_answer(c);
}

INSTANTIATE_TEST_SUITE_P(Shapes, KvWriteCpu, testing::ValuesIn(test::kv_write_shapes()),
                         testing::PrintToStringParamName());

class ActivationCpu : public testing::TestWithParam<test::ActivationShape> {};

TEST_P(ActivationCpu, AgreesWithTheReference) {
  test::ActivationCase c(GetParam());
  HostPlace host;
  run(cpu::activation, problem(c, host), c.shape.rows);
  expect_answer(c);
}

INSTANTIATE_TEST_SUITE_P(Shapes, ActivationCpu, testing::ValuesIn(test::activation_shapes()),
                         testing::PrintToStringParamName());

class SamplingCpu : public testing::TestWithParam<test::SamplingShape> {};

TEST_P(SamplingCpu, AgreesWithTheReference) {
  test::SamplingCase c(GetParam());
  HostPlace host;
  run(cpu::sampling, problem(c, host), c.shape.rows);
  expect_answer(c);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SamplingCpu, testing::ValuesIn(test::sampling_shapes()),
                         testing::PrintToStringParamName());

class RoutingCpu : public testing::TestWithParam<test::RoutingShape> {};

TEST_P(RoutingCpu, AgreesWithTheReference) {
  test::RoutingCase c(GetParam());
  HostPlace host;
  const Routing routing = problem(c, host);
  run(cpu::choose_experts, routing, c.shape.tokens);
  cpu::sort_by_expert(routing);
  expect_answer(c);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RoutingCpu, testing::ValuesIn(test::routing_shapes()),
                         testing::PrintToStringParamName());

class CombineCpu : public testing::TestWithParam<test::CombineShape> {};

TEST_P(CombineCpu, AgreesWithTheReference) {
  test::CombineCase c(GetParam());
  HostPlace host;
  run(cpu::combine, problem(c, host), c.shape.tokens);
  expect_answer(c);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CombineCpu, testing::ValuesIn(test::combine_shapes()),
                         testing::PrintToStringParamName());

TEST(ActivationCpu, MayCurveWithGeluInPlace) {
  test::ActivationCase c({ActivationKind::gelu, Element::bf16, 3, 96});
  HostPlace host;
  Activation activation = problem(c, host);
  test::Tensor copy = c.input;
  activation.input = copy.data();
  activation.output = copy.data();
  run(cpu::activation, activation, c.shape.rows);
  run(cpu::activation, problem(c, host), c.shape.rows);
  EXPECT_EQ(copy.values(), c.output.values());
  expect_answer(c);
}

/// Every token of a row that a fine comb of uniform numbers draws, in its order.
TEST(SamplingCpu, DrawsTokensAsOftenAsTheyAreProbable) {
  // Probabilities 1/2, 1/4, 1/8, 1/8 in the order of tokens 2, 0, 1, 3.
  test::Array<float> logits({std::log(2.0F), 0, std::log(4.0F), 0});
  constexpr int kRows = 1024;
  test::Array<float> rows(4 * kRows);
  test::Array<float> uniform(kRows);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t i = 0; i < 4; ++i) rows.set(4 * r + i, logits.get(i));
    uniform.set(r, (static_cast<float>(r) + 0.5F) / kRows);
  }
  test::Array<std::int32_t> token(kRows);
  alignas(16) char workspace[16];
  HostPlace host;
  run(cpu::sampling,
      Sampling{.rows = kRows,
               .vocabulary = 4,
               .element = Element::fp32,
               .logits = rows.data(),
               .top_k = 0,
               .uniform = at(host, uniform),
               .token = at(host, token),
               .workspace = workspace},
      kRows);
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::int32_t expected = r < 512 ? 2 : (r < 768 ? 0 : (r < 896 ? 1 : 3));
    ASSERT_EQ(token.get(r), expected) << r;
  }
}

}  // namespace
}  // namespace roofcast::kernels
