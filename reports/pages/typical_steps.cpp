#include "reports/pages/typical_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/numbers.hpp"
#include "reports/pages/figures/roofline_figures.hpp"

namespace roofcast {

TypicalLoad typical_load(const SimulationRun& run) {
  double input = 0, output = 0;
  for (const Request& request : run.workload.requests) {
    input += static_cast<double>(request.input_tokens);
    output += static_cast<double>(request.output_tokens);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, run.workload.requests.size()));
  std::int64_t replicas = 0;  // that decode
  for (const PoolRun& pool : run.pools) {
    if (pool.role != PoolRole::prefill) replicas += pool.replicas;
  }
  const auto engines = static_cast<double>(std::max<std::int64_t>(1, replicas));
  const auto whole = [](double number) { return std::max<std::int64_t>(1, std::llround(number)); };
  return {.input_tokens = whole(input / count),
          .output_tokens = whole(output / count),
          .prefill_tokens = std::min(whole(input / count),
                                     run.pools.front().deployment.engine.max_num_batched_tokens),
          .batch = whole(run.result.use.mean_running / engines)};
}

GenerationEstimate typical_steps(const SimulationRun& run, const TypicalLoad& load) {
  const PoolRun& first = run.pools.front();
  const auto decodes = std::find_if(run.pools.begin(), run.pools.end(), [](const PoolRun& pool) {
    return pool.role != PoolRole::prefill;
  });
  const PoolRun& decoding = decodes == run.pools.end() ? first : *decodes;
  GenerationEstimate estimate =
      estimate_generation(decoding.deployment, load.batch, load.input_tokens, load.output_tokens);
  const GenerationEstimate prompt =
      estimate_generation(first.deployment, 1, load.prefill_tokens, load.output_tokens);
  estimate.prefill = prompt.prefill;
  estimate.prefill_time = prompt.prefill_time;
  return estimate;
}

Figure steps_figure(const SimulationRun& run, const TypicalLoad& load,
                    const GenerationEstimate& estimate) {
  const std::string prefill =
      fmt::format("prefill, 1 x {} tokens", with_separators(load.prefill_tokens));
  const std::string decode =
      fmt::format("decode, {} at {} tokens", with_separators(load.batch),
                  with_separators(load.input_tokens + load.output_tokens / 2));
  return roofline_figure(run.pools.front().deployment.gpu,
                         {{prefill, estimate.prefill}, {decode, estimate.decode}});
}

}  // namespace roofcast
