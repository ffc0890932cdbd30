// vLLM's schedules with K and V in host memory, worked out by hand.
#include <gmock/gmock.h>

#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

/// Host memory for `blocks` blocks of 1 byte (uniform_layout). Each load takes 0.5 s plus 0.5 s per
/// block.
Engine offloading(double blocks) {
  Engine engine = plain_engine();
  engine.prefix_caching = true;
  engine.kv_offloading = {
      .size = Bytes{blocks}, .bandwidth = BytesPerSecond{2}, .latency = Seconds{0.5}};
  return engine;
}

/// A leaves 3 blocks of 4 tokens, B evicts them from a GPU cache of 5 blocks, C needs them again at
/// 2 s.
Workload asked_again(std::int64_t output) {
  Workload workload = batch_of({{12, 1}, {20, 1}, {14, output}});
  workload.requests[1].arrival = 1 * kSecond;
  workload.requests[2].arrival = 2 * kSecond;
  workload.contents = {{7, 12}};
  workload.requests[0].contents_count = workload.requests[2].contents_count = 1;
  return workload;
}

TEST(KvOffload, LoadsWhatTheGpuHasForgotten) {
  // C's 12 tokens are 3 blocks: 0.5 s + 3 * 0.5 s. From 4 s on it computes the 2 that are left.
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(replica_of(offloading(100), step_time, 5, 4), asked_again(1), {});
  EXPECT_EQ(result.requests[2].scheduled, 4 * kSecond);
  EXPECT_EQ(result.requests[2].cached_tokens, 12);
  EXPECT_EQ(result.requests[2].finished, 5 * kSecond);
  EXPECT_EQ(result.use.prefill_tokens, 12 + 20 + 2);
  // Without host memory all 14 are computed at once.
  Engine engine = offloading(100);
  engine.kv_offloading = {};
  const auto without = simulate(replica_of(engine, step_time, 5, 4), asked_again(1), {});
  EXPECT_EQ(without.requests[2].scheduled, 2 * kSecond);
  EXPECT_EQ(without.use.prefill_tokens, 12 + 20 + 14);
}

TEST(KvOffload, KeepsNoMoreThanItHasRoomFor) {
  // The last 5 of 3 + 5 stored blocks stay: B's. C finds nothing.
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(replica_of(offloading(5), step_time, 5, 4), asked_again(1), {});
  EXPECT_EQ(result.requests[2].scheduled, 2 * kSecond);
  EXPECT_EQ(result.requests[2].cached_tokens, 0);
}

TEST(KvOffload, OthersRunAndPassWhileALoadIsOnItsWay) {
  // As above with room for D (4 in, 2 out) beside C, behind it in the queue: D runs in the steps of
  // 2 s and 3 s, C from 4 s on.
  Workload workload = asked_again(2);
  workload.requests[1].input_tokens = 24;
  workload.requests.push_back({.arrival = 2 * kSecond, .input_tokens = 4, .output_tokens = 2});
  Schedule schedule(offloading(100), 6, 4, workload);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A12", "B24", "D4", "D1", "C2", "C1"));
}

TEST(KvOffload, OneTokenAtLeastIsComputed) {
  // C repeats A's 12 tokens whole: 3 blocks are loaded, the last token is computed for its logits.
  Workload workload = asked_again(1);
  workload.requests[2].input_tokens = 12;
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(replica_of(offloading(100), step_time, 5, 4), workload, {});
  EXPECT_EQ(result.requests[2].cached_tokens, 11);
  EXPECT_EQ(result.use.prefill_tokens, 12 + 20 + 1);
}

TEST(KvOffload, LoadsShareTheLink) {
  // C and D load 3 blocks each: C until 4 s, D after it until 6 s. B fills 8 blocks.
  Workload workload = asked_again(1);
  workload.requests[1].input_tokens = 32;
  workload.requests.push_back(workload.requests[2]);
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(replica_of(offloading(100), step_time, 8, 4), workload, {});
  EXPECT_EQ(result.requests[2].scheduled, 4 * kSecond);
  EXPECT_EQ(result.requests[3].scheduled, 6 * kSecond);
}

/// LMCache with room for `chunks` chunks of 256 tokens, 64 bytes each, at 64 bytes/s: a chunk takes
/// a second. A load takes half a second beside.
Engine with_lmcache(double chunks) {
  Engine engine = offloading(64 * chunks);
  engine.kv_offloading.backend = OffloadingBackend::lmcache;
  engine.kv_offloading.bandwidth = BytesPerSecond{64};
  engine.max_num_batched_tokens = 1024;
  return engine;
}

/// A leaves 128 blocks of 4 tokens, B's 150 evict 118 of them from a GPU cache of 160, the last
/// first; C and, after it, D need all of A's tokens and 10 of their own.
Workload asked_again_in_chunks() {
  Workload workload = batch_of({{512, 1}, {600, 1}, {522, 1}, {522, 1}});
  for (std::size_t i = 1; i < 4; ++i) {
    workload.requests[i].arrival = static_cast<Nanoseconds>(i) * 10 * kSecond;
  }
  workload.contents = {{7, 512}};
  for (const std::size_t i : {0, 2, 3}) workload.requests[i].contents_count = 1;
  return workload;
}

TEST(LmCache, LoadsAndStoresChunksWithinTheStep) {
  const FakeStepTime step_time(Seconds{1});
  const auto result =
      simulate(replica_of(with_lmcache(100), step_time, 160, 4), asked_again_in_chunks(), {});
  // A's step takes 1 s and 2 s more for its two chunks, and so does B's.
  EXPECT_EQ(result.requests[0].finished, 3 * kSecond);
  EXPECT_EQ(result.requests[1].finished, 13 * kSecond);
  // Of A's 512 tokens the GPU has the first 40, within the first chunk, so both chunks are loaded,
  // 0.5 s + 2 s. Both are in host memory already: nothing is stored.
  EXPECT_EQ(result.requests[2].scheduled, 20 * kSecond);
  EXPECT_EQ(result.requests[2].cached_tokens, 512);
  EXPECT_EQ(result.requests[2].finished, 23 * kSecond + kSecond / 2);
  // The GPU has as much of D as host memory: nothing is loaded.
  EXPECT_EQ(result.requests[3].finished, 31 * kSecond);
  EXPECT_EQ(result.use.prefill_tokens, 512 + 600 + 10 + 10);
}

// A and B, 512 tokens each, fill 256 of 258 blocks in a step of 1 s and 4 s for their chunks; with
// the fifth token B, which is newer, is preempted at 9 s. A's last 35 tokens take the ends of 9 of
// its blocks. When A is finished, at 44 s, the GPU has 480 tokens of B and host memory 512: vLLM
// loads none of them, computes the 5 that are left and then 34 more, a second each.
TEST(LmCache, LoadsNothingForARequestThatWasPreempted) {
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(replica_of(with_lmcache(100), step_time, 258, 4),
                               batch_of({{512, 40}, {512, 40}}), {});
  EXPECT_EQ(result.requests[1].preemptions, 1);
  EXPECT_EQ(result.requests[0].finished, 44 * kSecond);
  EXPECT_EQ(result.requests[1].finished, 79 * kSecond);
  EXPECT_EQ(result.use.offload_hits, 0);
}

TEST(LmCache, KeepsTheLastChunks) {
  // Of A's and B's two chunks each, room for three leaves A's second, which is nothing without the
  // first: C computes 522 tokens less the GPU's 40.
  const FakeStepTime step_time(Seconds{1});
  const auto result =
      simulate(replica_of(with_lmcache(3), step_time, 160, 4), asked_again_in_chunks(), {});
  EXPECT_EQ(result.requests[2].cached_tokens, 40);
}

TEST(LmCache, OneTokenAtLeastIsComputed) {
  Workload workload = asked_again_in_chunks();
  workload.requests.resize(3);
  workload.requests[2].input_tokens = 512;
  const FakeStepTime step_time(Seconds{1});
  const auto result = simulate(replica_of(with_lmcache(100), step_time, 160, 4), workload, {});
  EXPECT_EQ(result.requests[2].cached_tokens, 511);
  EXPECT_EQ(result.use.prefill_tokens, 512 + 600 + 1);
}

}  // namespace
}  // namespace roofcast::test
