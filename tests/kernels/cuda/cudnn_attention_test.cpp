#include "kernels/cuda/cudnn_attention.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/kernels/attention_case.hpp"
#include "tests/kernels/attention_tolerance.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/cuda/cuda_place.hpp"

namespace roofcast::kernels {
namespace {

class CudnnAttentionCuda : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_CUDA_DEVICE();
    try {
      cudnn_ = std::make_unique<cuda::CudnnAttention>(cuda::LibraryPlaces{});
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  template <class Case>
  void expect_agreement(Case& c) {
    test::DevicePlace device;
    const auto attention = problem(c, device);
    if (!cudnn_->supports(attention)) {
      std::cout << "cuDNN " << cudnn_->version() << " does not take "
                << testing::PrintToString(c.shape) << '\n';
      return;
    }
    cudnn_->launch(attention, nullptr);
    device.copy_back();
    expect_answer(c, test::tensor_core_tolerance(attention.element));
  }

  std::unique_ptr<cuda::CudnnAttention> cudnn_;
};

// One test for all shapes, because the library is slow to start, and only one shape in fp16,
// because each has its own plan, which is slow to build.

template <class Case, class Shape>
std::vector<Case> cases_of(std::vector<Shape> (*shapes)(Element)) {
  std::vector<Shape> chosen = shapes(Element::bf16);
  for (const Shape& shape : shapes(Element::fp16)) {
    if (shape.name == "ragged") chosen.push_back(shape);
  }
  std::vector<Case> cases;
  for (const Shape& shape : chosen) {
    Case& c = cases.emplace_back(shape);
    test::fill_unused_slots(c.keys);
    test::fill_unused_slots(c.values);
  }
  return cases;
}

TEST_F(CudnnAttentionCuda, PrefillAgreesWithTheReference) {
  for (test::PrefillCase& c : cases_of<test::PrefillCase>(test::prefill_shapes)) {
    SCOPED_TRACE(testing::PrintToString(c.shape));
    expect_agreement(c);
  }
}

TEST_F(CudnnAttentionCuda, DecodeAgreesWithTheReference) {
  for (test::DecodeCase& c : cases_of<test::DecodeCase>(test::decode_shapes)) {
    SCOPED_TRACE(testing::PrintToString(c.shape));
    expect_agreement(c);
  }
}

TEST_F(CudnnAttentionCuda, LatentDecodeAgreesWithTheReference) {
  for (const test::LatentShape& shape : test::latent_shapes(Element::bf16)) {
    SCOPED_TRACE(testing::PrintToString(shape));
    test::LatentCase c(shape);
    test::fill_unused_slots(c.cache);
    expect_agreement(c);
  }
}

TEST_F(CudnnAttentionCuda, TakesTheUsualHeads) {
  const PagedCache cache{.page_size = 16, .kv_heads = 8, .head_dim = 128};
  EXPECT_TRUE(cudnn_->supports(PrefillAttention{.query_heads = 32, .cache = cache}));
  EXPECT_FALSE(cudnn_->supports(PrefillAttention{.query_heads = 32, .window = 9, .cache = cache}));
  PagedCache narrow = cache;
  narrow.element = Element::fp8_e4m3;
  EXPECT_FALSE(cudnn_->supports(PrefillAttention{.query_heads = 32, .cache = narrow}));
}

TEST(CudnnAttention, WithoutADeviceSaysSo) {
  if (test::why_no_device().empty()) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(cuda::CudnnAttention{cuda::LibraryPlaces{}}, std::runtime_error);
}

}  // namespace
}  // namespace roofcast::kernels
