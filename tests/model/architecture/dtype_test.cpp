#include "model/architecture/dtype.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

TEST(DTypes, TheSpellingsInUseMeanTheSame) {
  for (const char* text : {"bf16", "bfloat16", "torch.bfloat16", "BF16"}) {
    EXPECT_EQ(parse_dtype(text), DType::bf16) << text;
  }
  for (const char* text : {"fp8", "fp8_e5m2", "float8_e4m3fn", "torch.float8_e4m3fn", "F8_E4M3"}) {
    EXPECT_EQ(parse_dtype(text), DType::fp8) << text;
  }
  for (const char* text : {"half", "float16", "F16"}) {
    EXPECT_EQ(parse_dtype(text), DType::fp16) << text;
  }
  EXPECT_EQ(parse_dtype("F32"), DType::fp32);
  EXPECT_EQ(parse_dtype("i8"), DType::int8);
}

TEST(DTypes, UnknownNamesAreNothing) {
  for (const char* text : {"", "auto", "torch.", "bf15", "fp8 ", "complex64"}) {
    EXPECT_FALSE(parse_dtype(text).has_value()) << text;
  }
}

TEST(DTypes, EveryNameReadsBackAsItself) {
  for (const DType dtype : {DType::fp32, DType::tf32, DType::fp16, DType::bf16, DType::fp8,
                            DType::int8, DType::fp4, DType::int4}) {
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype) << name_of(dtype);
  }
}

TEST(DTypes, BitsAreThoseStored) {
  EXPECT_EQ(bits_of(DType::fp32), 32);
  EXPECT_EQ(bits_of(DType::tf32), 32);
  EXPECT_EQ(bits_of(DType::fp16), 16);
  EXPECT_EQ(bits_of(DType::bf16), 16);
  EXPECT_EQ(bits_of(DType::fp8), 8);
  EXPECT_EQ(bits_of(DType::int8), 8);
  EXPECT_EQ(bits_of(DType::fp4), 4);
  EXPECT_EQ(bits_of(DType::int4), 4);
}

TEST(DTypes, APlainFormatStoresAndMultipliesInItsDtype) {
  const WeightFormat format = plain_format(DType::fp16);
  EXPECT_EQ(format.name, "fp16");
  EXPECT_DOUBLE_EQ(format.bits_per_weight, 16.0);
  EXPECT_EQ(format.compute, DType::fp16);
}

}  // namespace
}  // namespace roofcast
