// The seam between hardware and everything that schedules: how long does one engine step take? All
// else that the simulator knows of hardware is sizes: of the KV cache, and of links between pools.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/transformer.hpp"
#include "model/step/attention_tail.hpp"

namespace roofcast {

/// Tokens of one prompt computed in one step.
struct PrefillChunk {
  std::int64_t new_tokens = 0;
  std::int64_t context_tokens = 0;  // already cached: earlier chunks and prefix hits
  bool emits_token = true;          // the last chunk of its prompt: runs LM head and sampling
};

/// The sequences of one step. Decode sequences are aggregated, so that a run of decode steps can
/// advance without touching each sequence.
struct StepBatch {
  std::vector<PrefillChunk> prefills{};
  std::int64_t decode_sequences = 0;
  /// For each of StepTime::spans(): tokens attended (including the new one), summed over the decode
  /// sequences.
  std::vector<std::int64_t> decode_attended{};
  /// New tokens per decode sequence: 1, or 1 + drafts when a speculative step verifies them.
  std::int64_t decode_new_tokens = 1;
  /// Contexts (including the new token) of the longest decode sequences, longest first; 0: no more,
  /// or unknown.
  std::array<std::int64_t, kLongestKept> decode_longest{};
  /// Images of the prompts that are encoded first, and the prompt's tokens for each.
  std::int64_t images = 0;
  std::int64_t image_tokens = 0;
  /// In a pipeline: requests of the engine that are not in this step, but in another micro-batch or
  /// waiting for room.
  std::int64_t other_requests = 0;
};

/// Inserts a decode sequence's context among the longest, in order.
inline void keep_longest(StepBatch& batch, std::int64_t context) {
  for (std::int64_t& kept : batch.decode_longest) {
    if (context > kept) std::swap(context, kept);
    if (context == 0) return;
  }
}

/// What the host thread of one stage does for a step, and one step after the other: it prepares the
/// stage's part, then launches the kernels that no graph holds.
struct StageHost {
  Seconds prepares{};
  Seconds launches{};
};

/// A step divided among the stages of a pipeline. What it takes to pass through when no other step
/// is in progress is its StepTime::seconds().
struct StagedTime {
  Seconds before{};               // host work before the first stage starts
  std::vector<Seconds> stages{};  // of each stage in turn, sending to the next included
  /// Of each stage, where each has a host thread of its own, which begins as soon as the step is
  /// decided; else empty.
  std::vector<StageHost> hosts{};
  /// Each of these hosts but the last waits for its stage before it prepares the next step.
  bool hosts_wait = false;

  /// From the decision of a step to its end when all stages and their hosts are idle.
  Seconds path() const {
    Seconds at = before;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const StageHost host = hosts.empty() ? StageHost{} : hosts[i];
      at = std::max(at, host.prepares) + stages[i];
      at = std::max(at, host.prepares + host.launches);
    }
    return at;
  }

  /// What keeps the stage from the next step, or its host, whichever takes longer.
  Seconds period(std::size_t stage) const {
    if (hosts.empty()) return stages[stage];
    const StageHost& host = hosts[stage];
    if (hosts_wait && stage + 1 < stages.size()) {
      return host.prepares + std::max(stages[stage], host.launches);
    }
    return std::max(stages[stage], host.prepares + host.launches);
  }

  void scale(double factor) {
    before = before * factor;
    for (Seconds& stage : stages) stage = stage * factor;
    for (StageHost& host : hosts) {
      host.prepares = host.prepares * factor;
      host.launches = host.launches * factor;
    }
  }
};

class StepTime {
 public:
  virtual ~StepTime() = default;

  /// The distinct attention spans of the model, in the order of StepBatch::decode_attended.
  virtual const std::vector<AttentionSpan>& spans() const = 0;

  /// Time from the start of this step to the start of the next, including host work.
  virtual Seconds seconds(const StepBatch& batch) const = 0;

  /// Number of pipeline stages: as many steps can be in progress at once.
  virtual int stages() const { return 1; }

  /// seconds() divided among the stages.
  virtual void divide(const StepBatch& batch, StagedTime& time) const {
    time.before = {};
    time.stages.assign(1, seconds(batch));
    time.hosts.clear();
  }

  /// Whether seconds() uses StepBatch::decode_longest; if not, callers need not maintain it.
  virtual bool asks_for_longest() const { return true; }
};

}  // namespace roofcast
