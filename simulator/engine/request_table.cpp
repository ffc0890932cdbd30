#include "simulator/engine/request_table.hpp"

#include <cassert>

namespace roofcast {

RequestState& RequestTable::enter(RequestId id) {
  std::int32_t& slot = slots_[static_cast<std::size_t>(id)];
  assert(slot == kNone);
  if (vacant_.empty()) {
    slot = static_cast<std::int32_t>(states_.size());
    states_.emplace_back();
  } else {
    slot = vacant_.back();
    vacant_.pop_back();
    states_[static_cast<std::size_t>(slot)] = {};
  }
  RequestState& state = (*this)[id];
  const RequestRecord& from = record(id);
  state.input_tokens = from.request.input_tokens;
  state.output_tokens = from.request.output_tokens;
  state.max_tokens =
      from.request.max_tokens == kExactMaxTokens ? state.output_tokens : from.request.max_tokens;
  state.priority = from.request.priority;
  state.adapter = from.request.adapter;
  state.waiting_since = from.queued;
  return state;
}

void RequestTable::leave(RequestId id) {
  std::int32_t& slot = slots_[static_cast<std::size_t>(id)];
  assert(slot != kNone);
  states_[static_cast<std::size_t>(slot)].keys = {};
  vacant_.push_back(slot);
  slot = kNone;
}

const std::vector<BlockKey>& RequestTable::prompt_keys(RequestId id, std::int64_t block_tokens) {
  if (last_prompt_.id == id && last_prompt_.block_tokens == block_tokens) return last_prompt_.keys;
  last_prompt_.id = id;
  last_prompt_.block_tokens = block_tokens;
  last_prompt_.keys.clear();
  extend_block_keys(last_prompt_.keys, contents(id), block_tokens, record(id).request.adapter);
  return last_prompt_.keys;
}

}  // namespace roofcast
