#include "kernels/cuda/nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "tests/kernels/cuda_device.hpp"
#include "tests/kernels/cuda_place.hpp"

namespace roofcast::kernels {
namespace {

// One rank: sums and exchanges with itself alone leave the numbers as they are.
class OneRank : public testing::TestWithParam<Element> {
 protected:
  static constexpr std::int64_t kCount = 1000;

  /// call(collectives, buffers) is to make the output equal to the input.
  template <class Call>
  void expect_copy(const Call& call) {
    std::unique_ptr<cuda::Collectives> collectives;
    try {
      collectives = std::make_unique<cuda::Collectives>(std::vector<int>{0}, cuda::LibraryPlaces{});
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
    EXPECT_EQ(collectives->ranks(), 1);
    std::mt19937 random(test::fresh_seed());
    test::Tensor input = test::random_tensor(GetParam(), kCount, random, 10);
    test::Tensor output(GetParam(), kCount);
    test::DevicePlace place;
    const std::vector<cuda::RankBuffers> buffers{
        {.input = place.at(input), .output = place.at(output)}};
    EXPECT_GT(collectives->seconds([&] { call(*collectives, buffers); }), 0);
    collectives->synchronize();
    place.copy_back();
    EXPECT_EQ(output.values(), input.values());
    EXPECT_TRUE(output.guard_is_whole());
  }
};

using Buffers = std::vector<cuda::RankBuffers>;

TEST_P(OneRank, ReducesToItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy([](cuda::Collectives& all, const Buffers& buffers) {
    all.all_reduce(GetParam(), kCount, buffers);
  });
}
TEST_P(OneRank, GathersItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy([](cuda::Collectives& all, const Buffers& buffers) {
    all.all_gather(GetParam(), kCount, buffers);
  });
}
TEST_P(OneRank, ScattersToItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy([](cuda::Collectives& all, const Buffers& buffers) {
    all.reduce_scatter(GetParam(), kCount, buffers);
  });
}
TEST_P(OneRank, ExchangesWithItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy([](cuda::Collectives& all, const Buffers& buffers) {
    all.all_to_all(GetParam(), kCount, buffers);
  });
}
INSTANTIATE_TEST_SUITE_P(Elements, OneRank,
                         testing::Values(Element::fp32, Element::fp16, Element::bf16,
                                         Element::int8),
                         [](const auto& element) { return std::string(name_of(element.param)); });

TEST(Nccl, ReadsItsVersion) {
  EXPECT_EQ(cuda::nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(cuda::nccl_version_text(21005), "2.10.5");
}

TEST(Nccl, WantsADevice) {
  EXPECT_ANY_THROW(cuda::Collectives({}, {}));  // a bad argument, or no library
}

TEST(Nccl, WithoutADeviceSaysSo) {
  if (test::why_no_device().empty()) GTEST_SKIP() << "there is a device";
  try {
    const cuda::Collectives collectives({0}, {});
    FAIL() << "did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()), "");
  }
}

}  // namespace
}  // namespace roofcast::kernels
