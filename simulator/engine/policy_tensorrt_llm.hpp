// TensorRT-LLM's scheduler, as its PyTorch backend runs it (tensorrt_llm/_torch/pyexecutor/
// scheduler.py and py_executor.py; the algorithms are those of cpp/tensorrt_llm/batch_manager).
// Two stages: which requests may be active, given the KV blocks (tensorrt_capacity.hpp), and which
// of them run in this step, given its token budget (tensorrt_micro_batch.hpp). Generations and
// prompts share a step. A prompt takes the blocks of its whole length when it starts. Prompt blocks
// can be reused once the prompt is fully computed and that step has ended (store_context_blocks in
// resource_manager.py; NVIDIA/TensorRT-LLM pulls 6683 and 12416: one step later with the overlap
// scheduler). A paused request is recomputed, with its generated tokens as part of its prompt. Not
// modelled: partial block reuse (enable_partial_reuse), blocks in host memory, beams, draft tokens,
// the newer option that counts reusable blocks and tokens before a request starts. A paused request
// goes to the front of the queue, where TensorRT-LLM keeps the order of arrival: this differs only
// for requests passed over for reuse.
#pragma once

#include <vector>

#include "simulator/engine/tensorrt_capacity.hpp"

namespace roofcast {

class TensorrtLlmPolicy final : public BatchingPolicy {
 public:
  void schedule(EngineState& state, Nanoseconds now, StepPlan& plan) override;
  std::optional<bool> schedule_around(EngineState& state, Nanoseconds now, const DecodeLoad& load,
                                      StepPlan& plan) override;
  bool schedules_in_aggregate() const override { return true; }
  void finish(EngineState& state, RequestId id) override;
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const override;

 private:
  /// A prompt whose last tokens are computed in a step.
  struct Prompt {
    RequestId request = 0;
    std::int64_t tokens = 0;
    std::int64_t emitted = 0;  // tokens the client has when that step has ended
  };

  void share_computed_prompts(EngineState& state);
  void start(EngineState& state, AdmissionCandidate& candidate, StepPlan& plan);
  void run(EngineState& state, const AdmissionCandidate& candidate, StepPlan& plan);
  void put_back(EngineState& state, const StepPlan& plan) const;

  Candidates candidates_{};
  std::vector<Prompt> ending_{};  // whose blocks cannot be reused yet
};

}  // namespace roofcast
