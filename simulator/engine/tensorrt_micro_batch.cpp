#include "simulator/engine/tensorrt_micro_batch.hpp"

#include <algorithm>
#include <cstddef>

namespace roofcast {
namespace {

void first_come_first_served(std::span<AdmissionCandidate> batch, std::int64_t unit,
                             std::int64_t budget) {
  for (AdmissionCandidate& prompt : batch) {
    if (prompt.generation) continue;
    const bool fits = prompt.computes(prompt.wanted) <= budget;
    prompt.tokens = fits ? prompt.wanted : std::min(prompt.wanted, budget) / unit * unit;
    budget -= prompt.computes(prompt.tokens);
  }
}

void equal_progress(std::span<AdmissionCandidate> batch, std::int64_t unit, std::int64_t budget) {
  const std::int64_t longest = budget;
  for (bool progress = true; progress && budget > 0;) {
    progress = false;
    for (AdmissionCandidate& prompt : batch) {
      const std::int64_t more = std::min(unit, prompt.wanted - prompt.tokens);
      const std::int64_t cost =
          prompt.computes(prompt.tokens + more) - prompt.computes(prompt.tokens);
      if (prompt.generation || more == 0 || cost > budget) continue;
      if (prompt.cached > 0 && prompt.tokens + more > longest) continue;
      prompt.tokens += more;
      budget -= cost;
      progress = true;
    }
  }
}

}  // namespace

void share_tokens(const Engine& engine, std::int64_t chunk_unit,
                  std::span<AdmissionCandidate> fitting) {
  std::int64_t budget = engine.max_num_batched_tokens;
  std::int64_t wanted_by_prompts = 0;  // by prompts that share what the generations leave
  std::size_t count = 0;
  const std::size_t max = std::min(fitting.size(), static_cast<std::size_t>(engine.max_num_seqs));
  for (; count < max; ++count) {
    AdmissionCandidate& candidate = fitting[count];
    if (engine.chunked_prefill && !candidate.generation) {
      wanted_by_prompts += candidate.computes(candidate.wanted);
      continue;
    }
    const std::int64_t cost = candidate.computes(candidate.wanted);
    if (cost > budget) break;
    candidate.tokens = candidate.wanted;
    budget -= cost;
  }
  if (!engine.chunked_prefill) return;
  const std::span<AdmissionCandidate> batch = fitting.first(count);
  if (engine.context_chunking_policy == ChunkingPolicy::first_come_first_served ||
      wanted_by_prompts <= budget) {
    first_come_first_served(batch, chunk_unit, budget);
  } else {
    equal_progress(batch, chunk_unit, budget);
  }
}

}  // namespace roofcast
