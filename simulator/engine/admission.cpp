#include "simulator/engine/admission.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/engine/kv_blocks.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

struct Tally {
  std::int64_t requests = 0;
  std::int64_t longest = 0;  // tokens, prompt and output

  void add(std::int64_t tokens) {
    ++requests;
    longest = std::max(longest, tokens);
  }
};

void add_note(std::vector<std::string>& notes, const Tally& tally, const std::string& reason) {
  if (tally.requests == 0) return;
  notes.push_back(fmt::format("{} rejected: {} (longest: {}, prompt and output)",
                              counted(tally.requests, "request"), reason,
                              counted(tally.longest, "token")));
}

}  // namespace

std::vector<std::string> reject_impossible(std::vector<RequestRecord>& records,
                                           const Replica& replica) {
  const Engine& engine = replica.engine;
  const KvBlocks blocks(replica.layout, replica.kv_blocks, engine.max_num_batched_tokens);
  Tally too_long, too_big, too_many_at_once;
  for (RequestRecord& record : records) {
    const std::int64_t tokens = record.request.input_tokens + record.request.output_tokens;
    const std::int64_t cached = tokens - 1;  // the last token is never computed on
    if (engine.max_model_len > 0 && tokens > engine.max_model_len) {
      too_long.add(tokens);
    } else if (blocks.most_needed(cached) > blocks.usable()) {
      too_big.add(tokens);
    } else if (!engine.chunked_prefill && cached > engine.max_num_batched_tokens) {
      too_many_at_once.add(tokens);
    } else {
      continue;
    }
    record.rejected = true;
  }
  std::vector<std::string> notes;
  add_note(notes, too_long, fmt::format("longer than max_model_len {}", engine.max_model_len));
  add_note(notes, too_big,
           fmt::format("larger than the whole KV cache of {} usable blocks", blocks.usable()));
  add_note(notes, too_many_at_once,
           fmt::format("without chunked prefill a step takes at most max_num_batched_tokens {}",
                       engine.max_num_batched_tokens));
  return notes;
}

}  // namespace roofcast
