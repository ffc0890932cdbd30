// Drafts, adapters and host memory combined, on random small workloads: every request is served,
// every token is computed, and both engines agree.
#include <gtest/gtest.h>

#include "tests/simulator/engine/engine_cases.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

/// Keeps K and V by LMCache, with prompts and caches so much longer that some fill its chunks.
void use_chunks(EngineCase& c) {
  constexpr std::int64_t kLonger = 24;
  c.engine.kv_offloading.backend = OffloadingBackend::lmcache;
  c.engine.kv_offloading.size = c.engine.kv_offloading.size * static_cast<double>(kLonger);
  c.engine.chunked_prefill = true;
  c.engine.max_model_len = 0;
  c.usable_blocks *= kLonger;
  for (Request& request : c.workload.requests) {
    request.input_tokens *= kLonger;
    if (request.max_tokens > 0) request.max_tokens *= kLonger;
  }
  for (ContentSpan& span : c.workload.contents) span.tokens *= kLonger;
}

EngineCase case_with_features(std::uint64_t seed) {
  EngineCase c = random_engine_case(seed);
  c.engine.scheduler = SchedulerKind::vllm_v1;
  RandomStream random = random_stream(seed, "features");
  if (one_in(random, 2)) {
    Speculation& speculation = c.engine.speculation;
    speculation.method = one_in(random, 2) ? DraftMethod::eagle : DraftMethod::ngram;
    speculation.draft_tokens = draw(random, 1, 4);
    speculation.acceptance.assign(static_cast<std::size_t>(speculation.draft_tokens), 0.6);
    if (speculation.method == DraftMethod::ngram) c.engine.async_scheduling = false;
  }
  if (one_in(random, 2)) {
    c.engine.lora = {.max_loras = draw(random, 1, 2), .adapter = Seconds{0.001}};
    for (Request& request : c.workload.requests) {
      request.adapter = static_cast<std::int32_t>(draw(random, -1, 3));
    }
  }
  if (one_in(random, 2) && !c.layout.groups.back().recurrent) {  // vLLM has no such combination
    c.engine.prefix_caching = true;
    c.engine.kv_reservation = KvReservation::paged;  // contiguous ranges are not shared
    c.engine.kv_offloading = {.size = Bytes{static_cast<double>(draw(random, 1, 60))},
                              .bandwidth = BytesPerSecond{4},
                              .latency = Seconds{0.1}};
    if (one_in(random, 2)) use_chunks(c);
  }
  meet_alignment(c);
  return c;
}

TEST(VllmFeatures, ServeEverybodyOnRandomSmallWorkloads) {
  std::int64_t loaded = 0, in_chunks = 0, preemptions = 0, drafted = 0;
  for (std::uint64_t seed = 0; seed < trials(1000U); ++seed) {
    SCOPED_TRACE(seed);
    const EngineCase c = case_with_features(seed);
    const FakeStepTime step_time(telling_time, c.spans);
    const Replica replica{.engine = c.engine,
                          .layout = c.layout,
                          .kv_blocks = c.usable_blocks + 1,
                          .step_time = &step_time};
    const auto run = [&](EngineKind kind) {
      return simulate(replica, c.workload,
                      {.max_concurrency = c.max_concurrency, .engine_kind = kind});
    };
    const SimulationResult plain = run(EngineKind::plain);
    ASSERT_EQ(plain.completed + plain.rejected, std::ssize(c.workload.requests));
    std::int64_t needed = 0;
    for (const RequestRecord& r : plain.requests) {
      if (!r.rejected) needed += r.request.input_tokens + r.request.output_tokens - 1;
    }
    const std::int64_t computed = plain.use.prefill_tokens + plain.use.decode_tokens;
    if (!c.engine.prefix_caching) {
      ASSERT_EQ(computed, needed + plain.use.recomputed_tokens);
    }
    const SimulationResult fast = run(EngineKind::fast);
    for (std::size_t i = 0; i < plain.requests.size(); ++i) {
      ASSERT_EQ(fast.requests[i].first_token, plain.requests[i].first_token) << i;
      ASSERT_EQ(fast.requests[i].finished, plain.requests[i].finished) << i;
    }
    const bool chunks = c.engine.kv_offloading.backend == OffloadingBackend::lmcache;
    (chunks ? in_chunks : loaded) += plain.use.offload_hits;
    preemptions += plain.use.preemptions;
    drafted += plain.use.draft_acceptance > 0 ? 1 : 0;
  }
  EXPECT_GT(loaded, often(1'000));
  EXPECT_GT(in_chunks, often(1'000));
  EXPECT_GT(preemptions, often(1'000));
  EXPECT_GT(drafted, often(100));
}

}  // namespace
}  // namespace roofcast::test
