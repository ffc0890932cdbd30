#include "kernels/cpu/thread_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace roofcast::kernels::cpu {
namespace {

TEST(Split, CutsAtMultiplesOfTheGrain) {
  // 100 items in grains of 8 are 13 grains; 4 pieces take 4 grains each, the last what is left.
  const Split cut = split(100, 8, 4);
  EXPECT_EQ(cut.pieces, 4);
  EXPECT_EQ(cut.size, 32);
  EXPECT_EQ(piece(cut, 0).begin, 0);
  EXPECT_EQ(piece(cut, 3).begin, 96);
  EXPECT_EQ(piece(cut, 3).end, 100);
}

TEST(Split, MakesNoEmptyPieces) {
  // 5 grains in at most 4 pieces take 2 each: 3 pieces.
  EXPECT_EQ(split(5, 1, 4).pieces, 3);
  EXPECT_EQ(split(1, 64, 8).pieces, 1);
  EXPECT_EQ(split(0, 64, 8).pieces, 0);
}

TEST(Split, CoversEachItemOnce) {
  for (std::int64_t count = 0; count < 70; ++count) {
    for (std::int64_t grain = 1; grain < 9; ++grain) {
      for (std::int64_t max = 1; max < 9; ++max) {
        const Split cut = split(count, grain, max);
        ASSERT_LE(cut.pieces, max);
        std::int64_t next = 0;
        for (std::int64_t p = 0; p < cut.pieces; ++p) {
          const Range range = piece(cut, p);
          ASSERT_EQ(range.begin, next);
          ASSERT_LT(range.begin, range.end);
          ASSERT_TRUE(range.end == count || (range.end - range.begin) % grain == 0);
          next = range.end;
        }
        ASSERT_EQ(next, count);
      }
    }
  }
}

TEST(ThreadPool, DoesEachItemOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {0, 1, 7, 1000}) {
      std::vector<int> done(static_cast<std::size_t>(count));
      pool.for_ranges(count, 3, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), count) << threads << " threads";
    }
  }
}

TEST(ThreadPool, HandsOverWhatEachKernelWroteToTheNext) {
  // Many short kernels in a row, each reading what all threads wrote in the one before.
  ThreadPool pool(4);
  constexpr std::int64_t kItems = 64;
  std::vector<std::int64_t> now(kItems, 1);
  std::vector<std::int64_t> next(kItems);
  for (int step = 0; step < 500; ++step) {
    pool.for_ranges(kItems, 1, [&](std::int64_t begin, std::int64_t end) {
      std::this_thread::yield();  // so that the others come in
      for (std::int64_t i = begin; i < end; ++i) {
        next[static_cast<std::size_t>(i)] = now[static_cast<std::size_t>((i + 1) % kItems)] + 1;
      }
    });
    std::swap(now, next);
  }
  EXPECT_EQ(std::accumulate(now.begin(), now.end(), std::int64_t{0}), kItems * 501);
}

TEST(ThreadPool, RunsOneGrainOnTheCallingThread) {
  ThreadPool pool(2);
  std::thread::id id;
  pool.for_ranges(16, 16, [&](std::int64_t, std::int64_t) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(ThreadPool, PinsEachThreadToOneCoreAndFreesTheCallerAtTheEnd) {
  const std::vector<int> before = allowed_cores();
  ASSERT_FALSE(before.empty());
  {
    ThreadPool pool(2);
    EXPECT_EQ(allowed_cores(), std::vector<int>{before.front()});
    std::mutex mutex;
    std::set<std::size_t> core_counts;
    // Pieces long enough for the second thread to come in.
    pool.for_ranges(64, 1, [&](std::int64_t, std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(mutex);
      core_counts.insert(allowed_cores().size());
    });
    EXPECT_EQ(core_counts, std::set<std::size_t>{1});
  }
  EXPECT_EQ(allowed_cores(), before);
}

TEST(ThreadPool, UsesAllAllowedCoresWhenNoNumberIsGiven) {
  const std::size_t cores = allowed_cores().size();
  EXPECT_EQ(ThreadPool(0).threads(), static_cast<int>(cores));
}

TEST(ThreadPool, TakesNoProcessorTimeWhileItWaits) {
  ThreadPool pool(4);
  pool.for_ranges(64, 1, [](std::int64_t, std::int64_t) {});
  // Processor time of all threads of the process, which other programs do not add to.
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.02);  // a single spinning thread would take up to 0.1
}

}  // namespace
}  // namespace roofcast::kernels::cpu
