// Small engines for tests: step times that need no GPU, and KV caches of a few blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/engine/plain_engine.hpp"
#include "simulator/simulate.hpp"

namespace roofcast::test {

/// Each step takes the time returned by a function of its batch.
class FakeStepTime : public StepTime {
 public:
  using Function = std::function<Seconds(const StepBatch&)>;

  explicit FakeStepTime(Function function, std::vector<AttentionSpan> spans = {AttentionSpan{}})
      : function_(std::move(function)), spans_(std::move(spans)) {}
  explicit FakeStepTime(Seconds constant)
      : FakeStepTime([constant](const StepBatch&) { return constant; }) {}

  const std::vector<AttentionSpan>& spans() const override { return spans_; }
  Seconds seconds(const StepBatch& batch) const override { return function_(batch); }

 private:
  Function function_;
  std::vector<AttentionSpan> spans_;
};

/// A layout of one group of full attention.
inline CacheLayout uniform_layout(std::int64_t block_tokens) {
  CacheLayout layout;
  layout.block_tokens = block_tokens;
  layout.page = Bytes{1};
  layout.layers_per_row = 1;
  layout.groups.resize(1);
  layout.groups[0].layers = 1;
  return layout;
}

/// An engine without limits except those a test sets: no host time, no length limit, no prefix
/// caching, synchronous scheduling.
inline Engine plain_engine() {
  Engine engine;
  engine.max_num_seqs = 1000;
  engine.max_num_batched_tokens = 100'000;
  engine.max_model_len = 0;
  engine.host.per_request = engine.host.per_prompt_token = Seconds{0};
  engine.prefix_caching = false;
  engine.async_scheduling = false;
  return engine;
}

/// A replica with `usable` blocks of `block_tokens` tokens, plus the null block.
inline Replica replica_of(const Engine& engine, const StepTime& step_time, std::int64_t usable,
                          std::int64_t block_tokens) {
  return {.engine = engine,
          .layout = uniform_layout(block_tokens),
          .kv_blocks = usable + 1,
          .step_time = &step_time};
}

inline Replica roomy_replica(const Engine& engine, const StepTime& step_time) {
  return replica_of(engine, step_time, 1'000'000, 16);
}

struct Lengths {
  std::int64_t input = 0;
  std::int64_t output = 0;
};

/// All requests arrive at time 0.
inline Workload batch_of(const std::vector<Lengths>& lengths) {
  Workload workload;
  for (const Lengths& l : lengths) {
    workload.requests.push_back({.input_tokens = l.input, .output_tokens = l.output});
  }
  return workload;
}

/// The workload with every client declaring that limit, or kNoMaxTokens.
inline Workload declaring(Workload workload, std::int64_t max_tokens) {
  declare_max_tokens(workload, max_tokens);
  return workload;
}

inline std::vector<ContentSpan> contents_of(const Workload& workload, const Request& request) {
  const auto begin = workload.contents.begin() + request.contents_begin;
  return {begin, begin + request.contents_count};
}

/// The number at the start of a note: "3,170 input lengths ...".
inline double count_in(std::string note) {
  std::erase(note, ',');
  return std::stod(note);
}

inline std::vector<RequestRecord> records_of(const Workload& workload) {
  std::vector<RequestRecord> records;
  for (const Request& request : workload.requests) {
    records.push_back({.request = request});
    records.back().sent = records.back().queued = request.arrival;
  }
  return records;
}

}  // namespace roofcast::test
