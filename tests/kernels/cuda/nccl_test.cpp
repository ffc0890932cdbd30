#include "kernels/cuda/nccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "kernels/cuda/nccl_group.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/cuda/cuda_place.hpp"

namespace roofcast::kernels {
namespace {

// One rank: sums and exchanges with itself leave the numbers unchanged.
class OneRank : public testing::TestWithParam<Element> {
 protected:
  static constexpr std::int64_t kCount = 1000;
  static constexpr int kCalls = 20;
  // A kilobyte on one device takes microseconds; what the host takes is not counted.
  static constexpr double kLongestCallSeconds = 1e-3;

  /// Expects that the call makes the output equal to the input, and that its time is above zero.
  static void expect_copy(CollectiveKind kind) {
    std::unique_ptr<DeviceGroup> group;
    try {
      group = cuda::make_nccl_group({0}, {});
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
    EXPECT_EQ(group->ranks(), 1);
    std::mt19937 random(test::fresh_seed());
    test::Tensor input = test::random_tensor(GetParam(), kCount, random, 10);
    test::Tensor output(GetParam(), kCount);
    test::DevicePlace place;
    const Collective call{.kind = kind,
                          .element = GetParam(),
                          .count = kCount,
                          .buffers = {{.input = place.at(input), .output = place.at(output)}}};
    group->launch(call);
    group->synchronize();
    const auto recording = group->record([&] {
      for (int i = 0; i < kCalls; ++i) group->launch(call);
    });
    const double seconds = group->replay(*recording).seconds;
    EXPECT_GT(seconds, 0);
    EXPECT_LT(seconds, kCalls * kLongestCallSeconds);
    place.copy_back();
    EXPECT_EQ(output.values(), input.values());
    EXPECT_TRUE(output.guard_is_whole());
  }
};

TEST_P(OneRank, ReducesToItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy(CollectiveKind::all_reduce);
}
TEST_P(OneRank, GathersItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy(CollectiveKind::all_gather);
}
TEST_P(OneRank, ScattersToItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy(CollectiveKind::reduce_scatter);
}
TEST_P(OneRank, ExchangesWithItself) {
  SKIP_WITHOUT_CUDA_DEVICE();
  expect_copy(CollectiveKind::all_to_all);
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

TEST(NcclPeers, OneGpuHasNoneAndSaysSo) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const Peers peers = cuda::nccl_peers(0, {});
  if (peers.devices > 1) GTEST_SKIP() << "there are several GPUs";
  EXPECT_EQ(peers.library, "");
  EXPECT_THAT(peers.why_not, testing::HasSubstr("there is one "));
}

TEST(NcclPeers, SeveralGpusSumWhatEachHolds) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const Peers peers = cuda::nccl_peers(0, {});
  if (peers.devices < 2 || peers.library.empty()) GTEST_SKIP() << peers.why_not;
  const auto group = peers.open(2);
  constexpr std::int64_t kCount = 1000;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  Collective call{.element = Element::fp32, .count = kCount};
  for (int rank = 0; rank < 2; ++rank) {
    void* input = group->allocate(rank, kBytes);
    group->fill_normal(rank, input, Element::fp32, kCount, static_cast<std::uint64_t>(rank));
    call.buffers.push_back({.input = input, .output = group->allocate(rank, kBytes)});
  }
  group->launch(call);
  group->synchronize();
  std::vector<std::vector<float>> held;
  for (const void* data : {call.buffers[0].input, call.buffers[1].input,
                           static_cast<const void*>(call.buffers[0].output),
                           static_cast<const void*>(call.buffers[1].output)}) {
    held.emplace_back(kCount);
    ROOFCAST_CUDA_CHECK(cudaMemcpy(held.back().data(), data, kBytes, cudaMemcpyDefault));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    // One sum of two floats: rounded once, however it is added.
    EXPECT_EQ(held[2][i], held[0][i] + held[1][i]);
    EXPECT_EQ(held[3][i], held[2][i]);
  }
}

}  // namespace
}  // namespace roofcast::kernels
