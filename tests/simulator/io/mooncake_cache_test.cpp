// Runs Mooncake's traces through an engine whose KV cache never evicts: it must find exactly the
// cached blocks that the trace's hashes allow.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <unordered_set>

#include "simulator/io/trace_reader.hpp"
#include "tests/simulator/support.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

constexpr std::int64_t kBlock = 512;  // tokens of one hash id

struct Oracle {
  std::int64_t blocks = 0, hit_blocks = 0;  // partial last blocks included, as published
  std::int64_t hit_tokens = 0;              // of full blocks before a prompt's last token
};

/// Each hash id depends on those before it, so the set of all ids seen is an unlimited cache.
Oracle oracle_of(const Workload& workload) {
  Oracle oracle;
  std::unordered_set<std::uint64_t> seen;
  for (const Request& request : workload.requests) {
    std::int64_t leading = 0;
    bool all_hit = true;
    for (std::uint32_t i = 0; i < request.contents_count; ++i) {
      const bool hit = !seen.insert(workload.contents[request.contents_begin + i].content).second;
      all_hit &= hit;
      if (all_hit) ++leading;
    }
    oracle.blocks += request.contents_count;
    oracle.hit_blocks += leading;
    oracle.hit_tokens += std::min(leading, (request.input_tokens - 1) / kBlock) * kBlock;
  }
  return oracle;
}

/// Steps without limits, so short that every prompt is computed before the next one arrives.
std::int64_t hit_tokens_of(const Workload& workload) {
  const FakeStepTime step_time(Seconds{1e-9});
  Engine engine = plain_engine();
  engine.prefix_caching = true;
  engine.max_num_seqs = 1'000'000;
  engine.max_num_batched_tokens = 1'000'000'000;
  const auto result = simulate(replica_of(engine, step_time, 10'000'000, kBlock), workload, {});
  EXPECT_EQ(result.completed, std::ssize(workload.requests));
  return result.use.prefix_hits;
}

void expect_share(const char* file, double published_percent) {
  const std::string path = std::string("traces/mooncake/") + file;
  SKIP_WITHOUT_SHARED_DATA(path);
  const Workload workload = read_trace({.path = shared_data(path).string()});
  const Oracle oracle = oracle_of(workload);
  const double percent =
      100.0 * static_cast<double>(oracle.hit_blocks) / static_cast<double>(oracle.blocks);
  std::cout << file << ": " << percent << " % of blocks hit\n";
  EXPECT_NEAR(percent, published_percent, 0.05);  // published with one decimal
  EXPECT_EQ(hit_tokens_of(workload), oracle.hit_tokens);
}

// Upper bounds of the two traces: Mooncake's FAST 2025 release, counted over all rows.
TEST(MooncakeCache, AnEngineThatForgetsNothingFindsWhatTheConversationRepeats) {
  expect_share("conversation_trace.jsonl.gz", 36.6);
}

TEST(MooncakeCache, AnEngineThatForgetsNothingFindsWhatTheSyntheticTraceRepeats) {
  expect_share("synthetic_trace.jsonl.gz", 64.0);
}

}  // namespace
}  // namespace roofcast::test
