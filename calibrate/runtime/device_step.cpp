#include "calibrate/runtime/device_step.hpp"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cassert>
#include <chrono>
#include <string>
#include <utility>

#include "simulator/random.hpp"

namespace roofcast::runtime {

DeviceStep::DeviceStep(Executor& executor, std::vector<AttentionSpan> spans, std::uint64_t seed)
    : executor_(executor),
      spans_(std::move(spans)),
      seed_(seed),
      pages_(executor.limits().pages, executor.limits().page_size, seed) {}

void DeviceStep::attach(const ReplicaEngine& engine, const RequestTable& requests) {
  engine_ = dynamic_cast<const PlainEngine*>(&engine);
  assert(engine_ != nullptr);
  assert(!engine_->state().engine.async_scheduling && !engine_->state().engine.prefix_caching);
  requests_ = &requests;
}

Seconds DeviceStep::seconds(const StepBatch& batch) const {
  assert(engine_ != nullptr);
  give_back_pages();
  std::vector<SequenceRows> sequences;
  for (const ScheduledTokens& scheduled : engine_->plan().scheduled) {
    sequences.push_back(rows_of(scheduled));
  }
  const auto began = std::chrono::steady_clock::now();
  const StepRows rows = step_rows(sequences, pages_, executor_.limits().pages_per_sequence());
  const auto laid_out = std::chrono::steady_clock::now();
  executor_.prepare(rows);
  const auto prepared = std::chrono::steady_clock::now();
  const std::vector<std::int32_t> next = executor_.run(rows);
  const auto ended = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < next.size(); ++i) {
    sequence_of(rows.sampled_request[i]).push_back(next[i]);
  }
  const std::chrono::duration<double> took = (laid_out - began) + (ended - prepared);
  steps_.push_back({.batch = batch, .time = Seconds{took.count()}});
  return steps_.back().time;
}

/// Releases pages of requests that have left, and of those that start over from their first token.
void DeviceStep::give_back_pages() const {
  const std::vector<RequestId>& running = engine_->state().running;
  std::erase_if(holding_, [&](RequestId id) {
    if (std::find(running.begin(), running.end(), id) != running.end()) return false;
    pages_.release(id);
    return true;
  });
}

SequenceRows DeviceStep::rows_of(const ScheduledTokens& scheduled) const {
  const RequestId id = scheduled.request;
  const RequestState& state = (*requests_)[id];
  if (std::find(holding_.begin(), holding_.end(), id) == holding_.end()) holding_.push_back(id);
  // The plan is committed, so its tokens already count as computed.
  const std::int64_t cached = state.computed - scheduled.tokens;
  const std::vector<std::int32_t>& sequence = sequence_of(id);
  const std::vector<ScheduledTokens>& sampled = engine_->plan().sampled;
  return {.request = id,
          .cached = cached,
          .tokens = std::span(sequence).subspan(static_cast<std::size_t>(cached),
                                                static_cast<std::size_t>(scheduled.tokens)),
          .samples = std::ranges::find(sampled, id, &ScheduledTokens::request) != sampled.end(),
          .decodes = scheduled.tokens == 1 && cached >= state.input_tokens};
}

/// The request's tokens so far; its prompt is drawn on first use.
std::vector<std::int32_t>& DeviceStep::sequence_of(RequestId id) const {
  const auto found = sequences_.find(id);
  if (found != sequences_.end()) return found->second;
  const RequestState& state = (*requests_)[id];
  // Reserves the whole length, because rows_of() returns spans.
  std::vector<std::int32_t>& sequence = sequences_[id];
  sequence.reserve(static_cast<std::size_t>(state.input_tokens + state.output_tokens + 1));
  RandomStream random = random_stream(seed_, "prompt " + std::to_string(id));
  boost::random::uniform_int_distribution<std::int32_t> token(0, executor_.model().vocabulary - 1);
  for (std::int64_t i = 0; i < state.input_tokens; ++i) sequence.push_back(token(random));
  return sequence;
}

}  // namespace roofcast::runtime
