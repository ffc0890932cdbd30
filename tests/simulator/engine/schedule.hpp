// Checks schedules step by step, as text. Requests are named A, B, C = 0, 1, 2; "A4" means four
// tokens of A are computed in the step.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/simulator/support.hpp"

namespace roofcast::test {

/// One engine, advanced step by step; each step takes one second.
class Schedule {
 public:
  Schedule(const Engine& engine, std::int64_t usable_blocks, std::int64_t block_tokens,
           const Workload& workload)
      : Schedule(engine, usable_blocks, uniform_layout(block_tokens), workload) {}

  Schedule(const Engine& engine, std::int64_t usable_blocks, const CacheLayout& layout,
           const Workload& workload)
      : step_time_(Seconds{1}),
        contents_(workload.contents),
        records_(records_of(workload)),
        gaps_(1),
        table_(records_, contents_),
        engine_({.engine = engine,
                 .layout = layout,
                 .kv_blocks = usable_blocks + 1,
                 .step_time = &step_time_},
                table_, gaps_) {}

  /// Runs a step and returns "A4 B6", with "-B" for a request preempted in it. Empty if nothing can
  /// run.
  std::string step() {
    for (; arrived_ < records_.size() && records_[arrived_].queued <= now_; ++arrived_) {
      table_.enter(static_cast<RequestId>(arrived_));
      engine_.enqueue(static_cast<RequestId>(arrived_));
    }
    if (!engine_.start_step(now_)) return "";
    std::string text;
    for (const auto& [id, tokens] : engine_.plan().scheduled) {
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", name(id), tokens);
    }
    for (RequestId id : engine_.plan().preempted) text += fmt::format(" -{}", name(id));
    chunks_ = engine_.batch().prefills;
    used_ = engine_.state().blocks.used();
    engine_.finish_step();
    now_ += kSecond;
    return text;
  }

  /// step(); a second passes if nothing can run.
  std::string step_or_idle() {
    std::string text = step();
    if (text.empty()) now_ += kSecond;
    return text;
  }

  std::vector<std::string> steps_to_end() {
    std::vector<std::string> all;
    for (std::string text = step(); !text.empty(); text = step()) all.push_back(text);
    return all;
  }

  const RequestRecord& operator[](std::size_t id) const { return records_[id]; }
  const std::vector<PrefillChunk>& chunks() const { return chunks_; }
  /// Blocks used during the last step; with asynchronous scheduling including those of the next
  /// step.
  std::int64_t used_blocks() const { return used_; }
  const PlainEngine& engine() const { return engine_; }

 private:
  static char name(RequestId id) { return static_cast<char>('A' + id); }

  FakeStepTime step_time_;
  std::vector<ContentSpan> contents_;
  std::vector<RequestRecord> records_;
  TokenGaps gaps_;
  RequestTable table_;
  PlainEngine engine_;
  std::size_t arrived_ = 0;
  Nanoseconds now_ = 0;
  std::vector<PrefillChunk> chunks_;
  std::int64_t used_ = 0;
};

}  // namespace roofcast::test
