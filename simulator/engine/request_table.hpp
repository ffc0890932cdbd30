// All requests of a simulation, shared by its engines; each request is in at most one engine. Only
// requests inside an engine have a state, so memory grows with requests in flight.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/kv_blocks.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

/// A request inside an engine. Its sequence is the prompt and the generated tokens. Tokens count as
/// computed and generated when their step is decided; the client has them when it ends. Lengths,
/// priority and adapter repeat its record's, because every step reads them.
struct RequestState {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  /// Output for which engines reserve K and V ahead: what the client declared (kNoMaxTokens if
  /// nothing); once enqueued what is reserved (reserved_output()).
  std::int64_t max_tokens = 0;
  std::int64_t priority = 0;
  std::int32_t adapter = -1;  // LoRA adapter; -1: the base model
  std::int64_t computed =
      0;  // tokens whose K and V are cached, including those of steps in progress
  std::int64_t generated = 0;  // sampled, or to be sampled by steps in progress
  std::int64_t emitted = 0;    // tokens the client has, or the server holds for the next chunk
  std::int64_t streamed = 0;   // of these, those that the client has
  std::int64_t received = 0;   // tokens whose K and V come from a prefill replica
  Nanoseconds loaded = -1;     // when the load of K and V from host memory ends; -1: none
                               // requested
  std::int64_t offloaded = 0;  // full blocks kept in host memory
  KvHolding kv{};
  std::vector<BlockKey> keys{};  // of the full blocks that others may share; empty until computed
  Nanoseconds last_token = 0;    // that the client has received
  Nanoseconds waiting_since = 0;
  std::int64_t slot = 0;     // micro-batch of a pipeline it belongs to (EngineState::slot)
  std::int64_t joined = -1;  // tick of the DecodeBatch at which it joined; -1: not in one

  std::int64_t tokens() const { return input_tokens + generated; }
  std::int64_t uncomputed() const { return tokens() - computed; }
  bool decoding() const { return generated > 0 && uncomputed() == 1; }
  /// Nothing is left to schedule: the last token is sampled, or will be by a step in progress.
  bool complete() const { return generated == output_tokens; }
};

class RequestTable {
 public:
  /// `records` and `contents` (Workload::contents) must outlive the table.
  explicit RequestTable(std::vector<RequestRecord>& records,
                        std::span<const ContentSpan> contents = {})
      : records_(records), contents_(contents), slots_(records.size(), kNone) {
    for (const RequestRecord& r : records) any_adapters_ |= r.request.adapter >= 0;
  }

  /// Creates the state of a request that enters an engine, from its record. It counts as waiting
  /// since the record's `queued`, unless the caller changes that.
  RequestState& enter(RequestId id);
  /// Call when the request has left its engine.
  void leave(RequestId id);

  RequestState& operator[](RequestId id) { return states_[slot(id)]; }
  const RequestState& operator[](RequestId id) const { return states_[slot(id)]; }

  /// Whether any request of the simulation uses a LoRA adapter.
  bool any_adapters() const { return any_adapters_; }

  RequestRecord& record(RequestId id) { return records_[static_cast<std::size_t>(id)]; }
  const RequestRecord& record(RequestId id) const { return records_[static_cast<std::size_t>(id)]; }

  /// Content spans of the prompt; empty if it shares none of it.
  std::span<const ContentSpan> contents(RequestId id) const {
    const Request& request = record(id).request;
    return contents_.subspan(request.contents_begin, request.contents_count);
  }

  /// Keys of the full blocks of the prompt's contents, until those of another request are asked
  /// for: a router asks every replica for the same prompt, and then one of them looks it up.
  const std::vector<BlockKey>& prompt_keys(RequestId id, std::int64_t block_tokens);

 private:
  static constexpr std::int32_t kNone = -1;

  std::size_t slot(RequestId id) const {
    assert(slots_[static_cast<std::size_t>(id)] != kNone);
    return static_cast<std::size_t>(slots_[static_cast<std::size_t>(id)]);
  }

  std::vector<RequestRecord>& records_;
  std::span<const ContentSpan> contents_;
  std::vector<std::int32_t> slots_;  // by RequestId
  bool any_adapters_ = false;
  std::vector<RequestState> states_;
  std::vector<std::int32_t> vacant_;
  struct {
    RequestId id = kNoRequest;
    std::int64_t block_tokens = 0;
    std::vector<BlockKey> keys{};
  } last_prompt_;
};

}  // namespace roofcast
