// Our CUDA attention kernels, run thread by thread on the host against the reference, with the
// problems and tolerances of the GPU tests.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cuda/attention_arguments.hpp"
#include "tests/kernels/attention_case.hpp"
#include "tests/kernels/attention_tolerance.hpp"
#include "tests/kernels/cuda/emulated_attention.hpp"

namespace roofcast::kernels {
namespace {

/// For fp16, which differs from bf16 in single instructions only, the shapes with these names
/// suffice.
template <class Shape>
std::vector<Shape> few(const std::vector<Shape>& shapes) {
  std::vector<Shape> chosen;
  for (const Shape& shape : shapes) {
    if (shape.name == "ragged" || shape.name == "fp8") chosen.push_back(shape);
  }
  return chosen;
}

class EmulatedPrefill : public testing::TestWithParam<test::AttentionShape> {};

TEST_P(EmulatedPrefill, AgreesWithTheReference) {
  test::PrefillCase c(GetParam());
  test::HostPlace host;
  const PrefillAttention attention = problem(c, host);
  if (!cuda::takes(attention.element, attention.cache)) GTEST_SKIP() << "no kernel for the shape";
  test::emulate_prefill(attention, test::fresh_seed());
  expect_answer(c, test::tensor_core_tolerance(attention.element));
}

INSTANTIATE_TEST_SUITE_P(Bf16, EmulatedPrefill,
                         testing::ValuesIn(test::prefill_shapes(Element::bf16)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Fp16, EmulatedPrefill,
                         testing::ValuesIn(few(test::prefill_shapes(Element::fp16))),
                         testing::PrintToStringParamName());

class EmulatedDecode : public testing::TestWithParam<test::AttentionShape> {};

/// With few CTAs, each of which does several items, and with enough that items are split.
TEST_P(EmulatedDecode, AgreesWithTheReference) {
  for (const int ctas : {3, 40}) {
    SCOPED_TRACE(ctas);
    test::DecodeCase c(GetParam());
    test::HostPlace host;
    const DecodeAttention attention = problem(c, host);
    if (!cuda::takes(attention.element, attention.cache)) GTEST_SKIP() << "no kernel for the shape";
    test::emulate_decode(attention, ctas, test::fresh_seed());
    expect_answer(c, test::tensor_core_tolerance(attention.element));
  }
}

INSTANTIATE_TEST_SUITE_P(Bf16, EmulatedDecode,
                         testing::ValuesIn(test::decode_shapes(Element::bf16)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Fp16, EmulatedDecode,
                         testing::ValuesIn(few(test::decode_shapes(Element::fp16))),
                         testing::PrintToStringParamName());

class EmulatedLatent : public testing::TestWithParam<test::LatentShape> {};

/// With as many stages as an H100 has memory for, and as few as any other device.
TEST_P(EmulatedLatent, AgreesWithTheReference) {
  for (const int ctas : {2, 9}) {
    SCOPED_TRACE(ctas);
    test::LatentCase c(GetParam());
    test::HostPlace host;
    const LatentDecode attention = problem(c, host);
    if (!cuda::takes(attention)) GTEST_SKIP() << "no kernel for the shape";
    if (ctas == 2) test::emulate_latent<4>(attention, ctas, test::fresh_seed());
    if (ctas == 9) test::emulate_latent<2>(attention, ctas, test::fresh_seed());
    expect_answer(c, test::tensor_core_tolerance(attention.element));
  }
}

INSTANTIATE_TEST_SUITE_P(Bf16, EmulatedLatent,
                         testing::ValuesIn(test::latent_shapes(Element::bf16)),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Fp16, EmulatedLatent,
                         testing::ValuesIn(few(test::latent_shapes(Element::fp16))),
                         testing::PrintToStringParamName());

template <class T>
void expect_widened(std::uint32_t pair, int first_byte) {
  for (const int half : {0, 1}) {
    const T value{static_cast<std::uint16_t>(pair >> (16 * half))};
    const Fp8E4M3 byte{static_cast<std::uint8_t>(first_byte + half)};
    EXPECT_EQ(to_float(value), to_float(byte)) << first_byte + half;
    EXPECT_EQ(std::signbit(to_float(value)), std::signbit(to_float(byte))) << first_byte + half;
  }
}

TEST(WidenFp8, IsExactForEveryNumber) {
  for (int byte = 0; byte < 256; byte += 2) {
    if (byte % 128 == 126) continue;  // beside it is NaN, 0x7f or 0xff
    const auto low = static_cast<std::uint32_t>(byte);
    const std::uint32_t even = low | (low + 1) << 16;  // bytes 0 and 2
    expect_widened<Bf16>(cuda::widen_even<Bf16>(even), byte);
    expect_widened<Fp16>(cuda::widen_even<Fp16>(even), byte);
    expect_widened<Bf16>(cuda::widen_odd<Bf16>(even << 8), byte);
    expect_widened<Fp16>(cuda::widen_odd<Fp16>(even << 8), byte);
  }
}

}  // namespace
}  // namespace roofcast::kernels
