// When the prompts of data-parallel ranks that share experts start.
#pragma once

#include <cstdint>
#include <span>

#include "model/engines/engine.hpp"
#include "simulator/engine/replica_engine.hpp"

namespace roofcast {

/// TensorRT-LLM's balance of attention data parallelism (attention_dp_config; 1.1 and 1.2,
/// pyexecutor/py_executor.py, _balance_adp_requests), asked once for each step that the ranks
/// decide. While all ranks generate, prompts wait until every rank has one that it could compute
/// and room for it, for `attention_dp_timeout_iters` steps at most; then they wait
/// `attention_dp_batching_wait_iters` steps for further ones. The steps count from when prompts
/// last started or could have, not from their arrival.
class PromptBalance {
 public:
  explicit PromptBalance(const Engine& engine)
      : most_sequences_(engine.max_num_seqs),
        timeout_(engine.attention_dp_timeout_iters),
        wait_(engine.attention_dp_batching_wait_iters) {}

  /// Whether the ranks' prompts stay out of the step that is decided now.
  bool holds(std::span<const StepOffer> ranks);

 private:
  std::int64_t most_sequences_ = 0;
  std::int64_t timeout_ = 0;
  std::int64_t wait_ = 0;
  std::int64_t waited_ = 0;           // steps without prompts on all ranks
  std::int64_t waited_for_more_ = 0;  // steps with prompts on all ranks
};

}  // namespace roofcast
