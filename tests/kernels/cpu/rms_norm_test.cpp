#include <gtest/gtest.h>

#include "kernels/cpu/rms_norm.hpp"
#include "tests/kernels/rms_norm_case.hpp"

namespace roofcast::kernels {
namespace {

RmsNorm problem(test::RmsNormCase& c) {
  const bool residual = c.shape.with_residual;
  return {.element = c.shape.element,
          .rows = c.shape.rows,
          .hidden = c.shape.hidden,
          .epsilon = 1e-6F,
          .input = c.input.data(),
          .residual = residual ? c.residual.data() : nullptr,
          .weight = c.weight.data(),
          .residual_out = residual ? c.residual_out.data() : nullptr,
          .output = c.output.data()};
}

class RmsNormCpu : public testing::TestWithParam<test::RmsNormShape> {};

TEST_P(RmsNormCpu, AgreesWithTheReference) {
  test::RmsNormCase c(GetParam());
  const RmsNorm norm = problem(c);
  cpu::rms_norm(norm);
  test::expect_answer(c, norm.epsilon);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RmsNormCpu, testing::ValuesIn(test::rms_norm_shapes()),
                         testing::PrintToStringParamName());

TEST(RmsNormCpu, MayUpdateItsResidualAndInputInPlace) {
  test::RmsNormCase c({Element::bf16, 5, 1024});
  const RmsNormResult expected = test::answer(c, 1e-6F);
  RmsNorm norm = problem(c);
  norm.residual_out = c.residual.data();
  norm.output = c.input.data();
  cpu::rms_norm(norm);
  EXPECT_EQ(c.residual.values(), expected.residual_out);
  for (std::size_t i = 0; i < c.size; ++i) {
    const double value = expected.output[i];
    ASSERT_NEAR(c.input.get(i), value, test::allowed_error(c.shape, value));
  }
}

TEST(RmsNormCpu, RefusesABadShape) {
  EXPECT_THROW(cpu::rms_norm(RmsNorm{}), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels
