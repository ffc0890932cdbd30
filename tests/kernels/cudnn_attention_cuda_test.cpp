#include "kernels/cuda/cudnn_attention.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "tests/kernels/attention_case.hpp"
#include "tests/kernels/attention_tolerance.hpp"
#include "tests/kernels/cuda_device.hpp"
#include "tests/kernels/cuda_place.hpp"

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
      RecordProperty("not_supported", 1);
      return;
    }
    cudnn_->launch(attention, nullptr);
    device.copy_back();
    expect_answer(c, test::tensor_core_tolerance(attention.element));
  }

  std::unique_ptr<cuda::CudnnAttention> cudnn_;
};

// One test for all shapes, as a plan is made for each of them in a library that takes long to
// start.

TEST_F(CudnnAttentionCuda, PrefillAgreesWithTheReference) {
  for (const Element element : {Element::bf16, Element::fp16}) {
    for (const test::AttentionShape& shape : test::prefill_shapes(element)) {
      SCOPED_TRACE(testing::PrintToString(shape));
      test::PrefillCase c(shape);
      test::fill_unused_slots(c.keys);
      test::fill_unused_slots(c.values);
      expect_agreement(c);
    }
  }
}

TEST_F(CudnnAttentionCuda, DecodeAgreesWithTheReference) {
  for (const Element element : {Element::bf16, Element::fp16}) {
    for (const test::AttentionShape& shape : test::decode_shapes(element)) {
      SCOPED_TRACE(testing::PrintToString(shape));
      test::DecodeCase c(shape);
      test::fill_unused_slots(c.keys);
      test::fill_unused_slots(c.values);
      expect_agreement(c);
    }
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
