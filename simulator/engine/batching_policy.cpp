#include "simulator/engine/batching_policy.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "simulator/engine/block_prefix.hpp"
#include "simulator/engine/policy_naive.hpp"
#include "simulator/engine/policy_sglang.hpp"
#include "simulator/engine/policy_static.hpp"
#include "simulator/engine/policy_tensorrt_llm.hpp"
#include "simulator/engine/policy_vllm_v1.hpp"

namespace roofcast {

std::optional<bool> decode_alone(EngineState& state, const DecodeLoad& load) {
  if (load.sequences == 0 || !load.others.empty()) return std::nullopt;
  if (load.sequences > state.engine.max_num_batched_tokens) return std::nullopt;
  if (!state.blocks.take_rows(load.rows)) return std::nullopt;
  state.blocks.take_rows(-load.rows_back);
  return true;
}

void preempt(EngineState& state, RequestId id) {
  RequestState& request = state[id];
  state.counters.recomputed_tokens += request.computed;
  state.counters.dropped_tokens += request.computed;
  keep_own_blocks(state, id);
  state.blocks.release(request.kv);
  request.computed = 0;
  request.received = 0;
  state.waiting.push_front(id, request.priority);
}

std::unique_ptr<BatchingPolicy> make_policy(const Engine& engine) {
  switch (engine.scheduler) {
    case SchedulerKind::vllm_v1:
      return std::make_unique<VllmV1Policy>(engine);
    case SchedulerKind::tensorrt_llm:
      return std::make_unique<TensorrtLlmPolicy>();
    case SchedulerKind::static_batch:
      return std::make_unique<StaticBatchPolicy>();
    case SchedulerKind::naive:
      return std::make_unique<NaivePolicy>();
    case SchedulerKind::sglang:
      return std::make_unique<SglangPolicy>(engine);
  }
  throw Error(fmt::format("engine '{}': its scheduler is not simulated", engine.name));
}

}  // namespace roofcast
