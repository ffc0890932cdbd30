#include "calibrate/runtime/serve.hpp"

#include <iterator>

namespace roofcast::runtime {

ServedRun serve(Executor& executor, const Workload& workload, const ServeOptions& options) {
  DeviceStep step(executor, options.spans, options.seed);
  CacheLayout layout{.block_tokens = executor.limits().page_size};
  layout.groups.push_back({.layers = std::ssize(executor.model().layers)});
  Replica replica{.engine = options.engine,
                  .layout = layout,
                  .kv_blocks = executor.limits().pages + 1,  // the null block is never a page
                  .step_time = &step,
                  .seed = options.seed};
  replica.engine.async_scheduling = false;
  replica.engine.prefix_caching = false;
  replica.engine.speculation = {};
  SimulationOptions simulation = options.simulation;
  simulation.engine_kind = EngineKind::plain;
  simulation.attach = [&](const ReplicaEngine& engine, const RequestTable& requests) {
    step.attach(engine, requests);
  };
  ServedRun run;
  run.result = simulate(replica, workload, simulation);
  run.steps = step.steps();
  run.sequences = step.sequences();
  return run;
}

}  // namespace roofcast::runtime
