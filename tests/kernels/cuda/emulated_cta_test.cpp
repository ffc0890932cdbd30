// The emulation detects the faults that it is meant to find.
#include "tests/kernels/cuda/emulated_cta.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels {
namespace {

using test::emulate;

std::string message_of(const test::EmulatedLaunch& launch, const std::function<void()>& thread) {
  try {
    emulate(launch, thread);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

TEST(EmulatedCta, RunsEveryThreadOfEveryCta) {
  std::vector<int> runs(3 * 64);
  emulate({.ctas = 3, .threads = 64}, [&] {
    ++runs.at(static_cast<std::size_t>(cuda::block_index() * 64 + cuda::thread_index()));
  });
  EXPECT_EQ(runs, std::vector<int>(3 * 64, 1));
}

TEST(EmulatedCta, ShufflesAndBallotsWithinAWarp) {
  emulate({.threads = 64}, [] {
    const int lane = cuda::thread_index() % 32;
    const auto value = static_cast<float>(cuda::thread_index());
    EXPECT_EQ(cuda::shuffle_xor(value, 5), static_cast<float>(cuda::thread_index() ^ 5));
    EXPECT_EQ(cuda::shuffle(static_cast<std::uint32_t>(lane), 7), 7U);
    EXPECT_EQ(cuda::shuffle_up(static_cast<std::uint32_t>(lane), 3),
              static_cast<std::uint32_t>(lane < 3 ? lane : lane - 3));
    EXPECT_EQ(cuda::ballot(lane >= 30), 0xc0000000U);
  });
}

TEST(EmulatedCta, MultipliesMatrices) {
  // a[r][k] = r, b[k][c] = c, so that the product of rows r and columns c is 16 r c; bf16 holds
  // whole numbers up to 256. In a lane, rows are lane / 4 and 8 more, columns of b lane / 4.
  emulate({.threads = 32}, [] {
    const int lane = cuda::thread_index();
    const auto row = static_cast<float>(lane / 4);
    const std::uint32_t upper = cuda::pack<Bf16>(row, row);
    const std::uint32_t lower = cuda::pack<Bf16>(row + 8, row + 8);
    float c[4] = {0, 0, 1, 1};
    cuda::matrix_multiply_add<Bf16>(c, {upper, lower, upper, lower}, upper, upper);
    const auto column = static_cast<float>(lane % 4 * 2);
    EXPECT_EQ(c[0], 16 * row * column);
    EXPECT_EQ(c[1], 16 * row * (column + 1));
    EXPECT_EQ(c[2], 1 + 16 * (row + 8) * column);
    EXPECT_EQ(c[3], 1 + 16 * (row + 8) * (column + 1));
  });
}

TEST(EmulatedCta, SharedMemoryIsNaNUntilWritten) {
  emulate({.threads = 32, .shared_bytes = 128},
          [] { EXPECT_TRUE(std::isnan(cuda::float_of(cuda::load_shared(cuda::shared_base())))); });
}

TEST(EmulatedCta, ACopyIsNaNUntilItsThreadHasWaited) {
  alignas(16) std::array<float, 4> source = {1, 2, 3, 4};
  emulate({.threads = 32, .shared_bytes = 512}, [&] {
    const std::uint32_t own =
        cuda::shared_base() + 16 * static_cast<std::uint32_t>(cuda::thread_index());
    cuda::copy_async(own, source.data(), cuda::thread_index() != 3);
    cuda::commit_copies();
    EXPECT_TRUE(std::isnan(cuda::float_of(cuda::load_shared(own + 4))));
    cuda::wait_copies<0>();
    EXPECT_EQ(cuda::float_of(cuda::load_shared(own + 4)), cuda::thread_index() == 3 ? 0 : 2);
  });
}

TEST(EmulatedCta, AMissingBarrierShows) {
  // Each thread reads what its neighbour of the other warp wrote. Some order of the threads finds
  // it too early.
  const auto exchange = [](bool with_barrier, int* early) {
    emulate({.ctas = 20, .threads = 64, .shared_bytes = 256, .seed = 1}, [&] {
      const std::uint32_t base = cuda::shared_base();
      const int thread = cuda::thread_index();
      cuda::store_shared(base + 4 * static_cast<std::uint32_t>(thread), 7);
      if (with_barrier) cuda::barrier();
      if (cuda::load_shared(base + 4 * static_cast<std::uint32_t>(63 - thread)) != 7) ++*early;
    });
  };
  int early = 0;
  exchange(true, &early);
  EXPECT_EQ(early, 0);
  exchange(false, &early);
  EXPECT_GT(early, 0);
}

TEST(EmulatedCta, RefusesWhatAGpuWouldHangOnOrSpoil) {
  const test::EmulatedLaunch launch{.threads = 64, .shared_bytes = 64};
  EXPECT_EQ(message_of(launch, [] { cuda::barrier(); }), "");
  EXPECT_NE(message_of(launch,
                       [] {
                         if (cuda::thread_index() % 32 < 8) cuda::warp_barrier();
                       })
                .find("wait for ever"),
            std::string::npos);
  EXPECT_NE(message_of(launch,
                       [] {
                         if (cuda::thread_index() % 2 == 0) cuda::ballot(true);
                         if (cuda::thread_index() % 2 == 1) cuda::warp_barrier();
                       })
                .find("while its warp is at"),
            std::string::npos);
  EXPECT_NE(message_of(launch, [] { cuda::load_shared(cuda::shared_base() + 64); })
                .find("outside shared memory"),
            std::string::npos);
  EXPECT_NE(message_of(launch, [] { cuda::load_shared_quad(cuda::shared_base() + 8); })
                .find("misaligned"),
            std::string::npos);
  EXPECT_NE(message_of(launch, [] { cuda::commit_copies(); }).find("copies under way"),
            std::string::npos);
}

}  // namespace
}  // namespace roofcast::kernels
