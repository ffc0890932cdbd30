// Random small engines and workloads that reach rare situations: preemption, windows, shared
// prefixes, asynchronous scheduling, classes. Step times depend on everything in a step, so that
// any difference between two schedules shows as a difference in time.
#pragma once

#include <boost/random/uniform_int_distribution.hpp>
#include <tuple>

#include "simulator/random.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {

inline std::int64_t draw(RandomStream& random, std::int64_t low, std::int64_t high) {
  return boost::random::uniform_int_distribution<std::int64_t>(low, high)(random);
}

inline bool one_in(RandomStream& random, std::int64_t n) { return draw(random, 1, n) == 1; }

/// A time in milliseconds that differs between batches.
inline Seconds telling_time(const StepBatch& batch) {
  std::int64_t ms = 1 + 3 * batch.decode_sequences + 13 * batch.images;
  std::int64_t weight = 1;
  for (const std::int64_t context : batch.decode_longest) ms += (weight += 2) * context;
  for (const std::int64_t attended : batch.decode_attended) ms += (weight += 4) * attended;
  for (const PrefillChunk& chunk : batch.prefills) {
    ms += 7 * chunk.new_tokens + 11 * chunk.context_tokens + (chunk.emits_token ? 2 : 0);
  }
  return Seconds{1e-3 * static_cast<double>(ms)};
}

struct EngineCase {
  Engine engine{};
  CacheLayout layout{};
  std::int64_t usable_blocks = 0;
  std::vector<AttentionSpan> spans{};
  std::optional<std::int64_t> max_concurrency{};
  Workload workload{};
};

/// Draws a layout: one group that keeps all tokens, alone or with a window, a chunked window or
/// recurrent state.
inline void draw_layout(RandomStream& random, EngineCase& c) {
  using Kind = AttentionSpan::Kind;
  c.layout = uniform_layout(draw(random, 1, 16));
  c.spans = {AttentionSpan{}};
  const std::int64_t kind = draw(random, 0, 7);
  if (kind < 4) return;
  if (kind == 7) {
    c.layout.groups.push_back({.layers = 1, .recurrent = true, .rows_per_sequence = 2});
    return;
  }
  const AttentionSpan span{kind == 4   ? Kind::sliding
                           : kind == 5 ? Kind::chunked
                                       : Kind::sparse,
                           draw(random, 2, 24)};
  c.layout.groups.push_back({.layers = 1, .span = span});
  if (one_in(random, 4)) c.layout.groups.back().block_tokens = 2 * c.layout.block_tokens;
  c.spans.push_back(span);
  if (one_in(random, 4)) c.layout.groups.erase(c.layout.groups.begin());
}

inline void draw_engine(RandomStream& random, Engine& engine) {
  engine = plain_engine();
  engine.max_num_seqs = draw(random, 1, 8);
  engine.max_num_batched_tokens = engine.max_num_seqs + draw(random, 0, 60);
  engine.chunked_prefill = draw(random, 0, 4) > 0;
  engine.reserve_full_sequence = one_in(random, 2);
  engine.long_prefill_token_threshold = one_in(random, 4) ? draw(random, 1, 20) : 0;
  engine.watermark = one_in(random, 4) ? 0.1 : 0.0;
  engine.order = one_in(random, 3) ? QueueOrder::priority : QueueOrder::fcfs;
  engine.max_model_len = one_in(random, 2) ? 80 : 0;
  engine.host.per_request = Seconds{one_in(random, 2) ? 0.3 : 0.0};
  engine.async_scheduling = one_in(random, 2);
  engine.prefix_caching = one_in(random, 2);
}

/// In a fifth of the cases, K and V in contiguous ranges.
inline void draw_reservation(RandomStream& random, Engine& engine) {
  if (engine.scheduler != SchedulerKind::vllm_v1 || !one_in(random, 5)) return;
  const bool limited = engine.max_model_len > 0;
  const std::int64_t kind = draw(random, limited ? 0 : 1, 2);
  engine.kv_reservation = kind == 0   ? KvReservation::max
                          : kind == 1 ? KvReservation::pow2
                                      : KvReservation::oracle;
  engine.prefix_caching = false;
}

/// In a third of the cases, draws a scheduler other than vLLM's.
inline void draw_scheduler(RandomStream& random, Engine& engine) {
  if (!one_in(random, 3)) return;
  if (one_in(random, 3)) {
    engine.scheduler = one_in(random, 2) ? SchedulerKind::static_batch : SchedulerKind::naive;
    engine.async_scheduling = engine.prefix_caching = false;
    return;
  }
  engine.order = QueueOrder::fcfs;
  engine.long_prefill_token_threshold = 0;
  if (one_in(random, 2)) {
    engine.scheduler = SchedulerKind::atom;
    return;
  }
  engine.scheduler = SchedulerKind::tensorrt_llm;
  const std::int64_t capacity = draw(random, 0, 2);
  engine.capacity_scheduler_policy = capacity == 0   ? CapacityPolicy::guaranteed_no_evict
                                     : capacity == 1 ? CapacityPolicy::max_utilization
                                                     : CapacityPolicy::static_batch;
  engine.context_chunking_policy =
      one_in(random, 2) ? ChunkingPolicy::first_come_first_served : ChunkingPolicy::equal_progress;
}

/// Draws prompts some of which share a prefix: the first spans come from a small tree of contents.
inline void draw_contents(RandomStream& random, Request& request, std::vector<ContentSpan>& spans) {
  request.contents_begin = static_cast<std::uint32_t>(spans.size());
  std::int64_t left = request.input_tokens;
  for (std::uint64_t level = 1; level <= 3 && left > 0; ++level) {
    const auto branch = static_cast<std::uint64_t>(draw(random, 0, 1));
    const std::int64_t tokens = std::min<std::int64_t>(left, branch == 0 ? 12 : 7);
    spans.push_back({.content = 2 * level + branch, .tokens = tokens});
    ++request.contents_count;
    left -= tokens;
  }
}

inline void draw_requests(RandomStream& random, Workload& workload) {
  const std::int64_t requests = draw(random, 1, 40);
  const std::int64_t pace = draw(random, 0, 2);  // 0 for all at once, 2 for mostly idle
  const bool shared = one_in(random, 2);
  const bool declared = one_in(random, 6);
  Nanoseconds arrival = 0;
  for (std::int64_t i = 0; i < requests; ++i) {
    arrival += pace * draw(random, 0, 3) * kSecond / 4;
    Request request{.arrival = arrival,
                    .input_tokens = draw(random, 1, 60),
                    .output_tokens = draw(random, 1, 30),
                    .slo_class = static_cast<std::int32_t>(draw(random, 0, 1)),
                    .priority = draw(random, 0, 2)};
    if (declared) {
      request.max_tokens =
          one_in(random, 3) ? kNoMaxTokens : request.output_tokens + draw(random, 0, 40);
    }
    if (shared && !one_in(random, 5)) draw_contents(random, request, workload.contents);
    workload.requests.push_back(request);
  }
}

/// In a quarter of the cases, images somewhere in some prompts.
inline void draw_images(std::uint64_t seed, Workload& workload) {
  RandomStream random = random_stream(seed, "images");
  if (!one_in(random, 4)) return;
  for (Request& request : workload.requests) {
    if (one_in(random, 3)) continue;
    const std::int64_t count = draw(random, 1, std::min<std::int64_t>(3, request.input_tokens));
    const std::int64_t tokens = draw(random, 1, request.input_tokens / count);
    request.images = static_cast<std::uint16_t>(count);
    request.image_tokens = static_cast<std::uint16_t>(tokens);
    request.images_begin =
        static_cast<std::int32_t>(draw(random, 0, request.input_tokens - count * tokens));
  }
}

/// In a quarter of the cases each: tokens sent in chunks, prompts that wait for more of them
/// (TensorRT-LLM); in half of TensorRT-LLM's, cached prefixes that count.
inline void draw_intervals(std::uint64_t seed, Engine& engine) {
  RandomStream random = random_stream(seed, "intervals");
  if (one_in(random, 4)) engine.stream_interval = draw(random, 2, 9);
  if (engine.scheduler != SchedulerKind::tensorrt_llm) return;
  engine.counts_cached = one_in(random, 2);
  if (!one_in(random, 4)) return;
  engine.batch_wait_timeout_iters = draw(random, 1, 8);
  engine.batch_wait_max_tokens_ratio = 0.25 * static_cast<double>(draw(random, 1, 4));
}

/// In a fifth of the cases.
inline void draw_drafts(RandomStream& random, Engine& engine) {
  if (!one_in(random, 5)) return;
  Speculation& speculation = engine.speculation;
  speculation.method = DraftMethod::eagle;
  speculation.draft_tokens = draw(random, 1, 3);
  speculation.acceptance.assign(static_cast<std::size_t>(speculation.draft_tokens), 0.6);
  engine.max_num_batched_tokens =
      std::max(engine.max_num_batched_tokens, 1 + speculation.draft_tokens);
}

/// Meets what vLLM demands of an engine that caches prefixes of recurrent layers: a step reaches
/// the end of a block.
inline void meet_alignment(EngineCase& c) {
  const bool aligned = c.engine.scheduler == SchedulerKind::vllm_v1 && c.engine.prefix_caching &&
                       c.layout.groups.back().recurrent;
  if (!aligned) return;
  c.engine.chunked_prefill = true;
  c.engine.long_prefill_token_threshold = 0;
  c.engine.max_num_batched_tokens += c.layout.block_tokens;
}

inline EngineCase random_engine_case(std::uint64_t seed) {
  RandomStream random = random_stream(seed, "engine_case");
  EngineCase c;
  draw_engine(random, c.engine);
  draw_scheduler(random, c.engine);
  draw_reservation(random, c.engine);
  draw_layout(random, c);
  meet_alignment(c);
  c.usable_blocks = draw(random, 4, 40);
  if (one_in(random, 3)) c.max_concurrency = draw(random, 1, 6);
  draw_requests(random, c.workload);
  draw_intervals(seed, c.engine);
  draw_images(seed, c.workload);
  return c;
}

inline SimulationResult run(const EngineCase& c, EngineKind kind) {
  const FakeStepTime step_time(telling_time, c.spans);
  const Replica replica{.engine = c.engine,
                        .layout = c.layout,
                        .kv_blocks = c.usable_blocks + 1,
                        .step_time = &step_time};
  return simulate(replica, c.workload, {.max_concurrency = c.max_concurrency, .engine_kind = kind});
}

/// What two schedules of a request are compared by.
inline auto life_of(const RequestRecord& r) {
  return std::tuple(r.sent, r.queued, r.scheduled, r.first_token, r.finished, r.largest_gap,
                    r.cached_tokens, r.preemptions, r.rejected);
}

}  // namespace roofcast::test
