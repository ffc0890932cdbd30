#include "planner/evaluate_all.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "planner/side_by_side.hpp"

namespace roofcast {
namespace {

TEST(EvaluateAll, AnswersStandInTheOrderOfTheIndicesWhateverTheThreads) {
  const auto square = [](std::int64_t i) { return i * i; };
  for (const int threads : {1, 2, 4, 7}) {
    const auto answers = answers_of(1000, threads, square, {});
    ASSERT_TRUE(answers);
    ASSERT_EQ(answers->size(), 1000u);
    for (std::int64_t i = 0; i < 1000; ++i) {
      EXPECT_EQ((*answers)[static_cast<std::size_t>(i)], i * i);
    }
  }
}

TEST(EvaluateAll, NothingToDoIsDone) {
  EXPECT_TRUE(for_each_index(0, 4, [](std::int64_t) { FAIL(); }, {}));
}

TEST(EvaluateAll, WorksOnAsManyThreadsAsAskedForAlsoBeyondTheCores) {
  // Each call waits for the other three: with fewer than four threads none would end.
  std::atomic<int> arrived{0};
  const auto meet = [&](std::int64_t) {
    ++arrived;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (arrived < 4 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(arrived, 4);
  };
  EXPECT_TRUE(for_each_index(4, 4, meet, {}));
}

// One answer on a pool of two threads: its two parts wait for each other.
TEST(SideBySide, PartsOfAnAnswerTakeIdleThreads) {
  std::atomic<int> arrived{0};
  const auto meet = [&] {
    ++arrived;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (arrived < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(arrived, 2);
  };
  const auto answer = [&](std::int64_t) { side_by_side(2, {meet, meet}); };
  EXPECT_TRUE(for_each_index(1, 2, answer, {}));
}

TEST(SideBySide, OnOneThreadPartsAreCalledInTurnByTheCaller) {
  const auto caller = std::this_thread::get_id();
  std::vector<std::size_t> called;
  side_by_side(1, 3, [&](std::size_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    called.push_back(i);
  });
  EXPECT_EQ(called, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(SideBySide, AllPartsEndAndTheFirstFailureIsThrown) {
  for (const int threads : {1, 2}) {
    std::atomic<int> arrived{0}, ended{0};
    const auto fails = [&](std::size_t i) {
      // On two threads the first two parts wait for each other.
      ++arrived;
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (arrived < threads && std::chrono::steady_clock::now() < limit) {
        std::this_thread::yield();
      }
      EXPECT_GE(arrived, threads);
      ++ended;
      if (i > 0) throw std::runtime_error("part " + std::to_string(i));
    };
    const auto answer = [&](std::int64_t) { side_by_side(threads, 3, fails); };
    try {
      for_each_index(1, threads, answer, {});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "part 1");
    }
    EXPECT_EQ(ended, 3);
  }
}

TEST(EvaluateAll, ProgressComesFromTheCallerAndEndsTheWork) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> started{0};
  int looks = 0;
  const auto nap = [&](std::int64_t) {
    ++started;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const bool all = for_each_index(100000, 2, nap, [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(total, 100000);
    EXPECT_LE(done, started);
    return ++looks < 2;
  });
  EXPECT_FALSE(all);
  EXPECT_EQ(looks, 2);         // not asked again once it has ended the work
  EXPECT_LT(started, 100000);  // which would take 50 s
}

TEST(EvaluateAll, WorkThatWasEndedIsNotDoneThoughItsLastCallCameToAnEnd) {
  int looks = 0;
  const auto nap = [](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
  EXPECT_FALSE(for_each_index(1, 1, nap, [&](std::int64_t, std::int64_t) { return ++looks < 2; }));
}

TEST(EvaluateAll, WorkThatWasEndedIsNotFailedThoughItsLastCallThrows) {
  std::atomic<bool> ended = false;
  const auto leave = [&](std::int64_t) {
    while (!ended) std::this_thread::yield();
    throw std::runtime_error("cut short");
  };
  int looks = 0;
  EXPECT_FALSE(for_each_index(1, 1, leave, [&](std::int64_t, std::int64_t) {
    ended = ++looks == 2;
    return !ended;
  }));
}

TEST(EvaluateAll, OfSeveralFailuresTheLeastIndexIsThrown) {
  // 3 fails after 40 has: the one that comes first in time must not win.
  const auto fail = [](std::int64_t i) {
    if (i == 3) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (i == 3 || i == 4) throw std::runtime_error(std::to_string(i));
  };
  for (const int threads : {1, 4}) {
    try {
      for_each_index(100, threads, fail, {});
      FAIL() << "no failure";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
  }
}

TEST(EvaluateAll, CallsEveryIndexOnce) {
  std::mutex mutex;
  std::multiset<std::int64_t> called;
  for_each_index(500, 4,
                 [&](std::int64_t i) {
                   const std::lock_guard lock(mutex);
                   called.insert(i);
                 },
                 {});
  EXPECT_EQ(called.size(), 500u);
  EXPECT_EQ(std::set<std::int64_t>(called.begin(), called.end()).size(), 500u);
}

}  // namespace
}  // namespace roofcast
