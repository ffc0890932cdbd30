#include "simulator/engine/replica_engine.hpp"

#include "simulator/engine/fast_engine.hpp"
#include "simulator/engine/pipelined_engine.hpp"
#include "simulator/engine/plain_engine.hpp"

namespace roofcast {

std::unique_ptr<ReplicaEngine> make_replica_engine(EngineKind kind, const Replica& replica,
                                                   RequestTable& table, TokenGaps& gaps,
                                                   GapCounting counting) {
  if (replica.step_time->stages() > 1) {
    return std::make_unique<PipelinedEngine>(replica, table, gaps, counting);
  }
  auto policy = make_policy(replica.engine);
  // A batch in aggregate does not know which adapters decode.
  const bool aggregate = policy->schedules_in_aggregate() && !table.any_adapters();
  if (kind == EngineKind::fast && aggregate && counting == GapCounting::at_once) {
    return std::make_unique<FastEngine>(replica, table, gaps, std::move(policy));
  }
  return std::make_unique<PlainEngine>(replica, table, gaps, counting);
}

void set_mean_kv_use(EngineUse& use, const EngineCounters& counters, double block_time) {
  use.mean_kv_use = counters.block_time / block_time;
  use.mean_kv_empty = counters.empty_time / block_time;
  use.mean_kv_unused = counters.unused_time / block_time;
  use.mean_kv_stranded = counters.stranded_time / block_time;
}

EngineUse engine_use(const EngineCounters& counters, std::int64_t usable_blocks,
                     Nanoseconds makespan) {
  EngineUse use;
  static_cast<EngineCounts&>(use) = static_cast<const EngineCounts&>(counters);
  if (counters.decodes_with_drafts > 0) {
    const auto accepted = static_cast<double>(counters.accepted_tokens);
    use.mean_acceptance_length = 1.0 + accepted / static_cast<double>(counters.decodes_with_drafts);
    use.draft_acceptance = accepted / static_cast<double>(counters.drafted_tokens);
  }
  const auto usable = static_cast<double>(usable_blocks);
  if (usable > 0) {
    use.peak_kv_use = static_cast<double>(counters.peak_blocks) / usable;
    use.peak_kv_empty = counters.peak_empty / usable;
  }
  if (makespan <= 0) return use;
  const auto time = static_cast<double>(makespan);
  if (usable > 0) set_mean_kv_use(use, counters, time * usable);
  use.mean_running = counters.running_time / time;
  use.mean_waiting = counters.waiting_time / time;
  use.busy_share = static_cast<double>(counters.busy) / time;
  if (counters.busy > 0)
    use.steps_at_once = counters.pass_time / static_cast<double>(counters.busy);
  return use;
}

}  // namespace roofcast
