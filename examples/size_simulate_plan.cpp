// Computes what fits, whether a load meets its SLO, and the cheapest deployment that does.
#include <cstdio>
#include <exception>

#include "roofcast/memory.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/simulate.hpp"

int main() try {
  roofcast::MemoryQuestion size;
  size.deployment.model = "llama-3.1-8b";
  size.deployment.gpu = "h100";
  const roofcast::MemoryAnswer memory = roofcast::memory(size);
  std::printf("%lld KV tokens fit\n", static_cast<long long>(memory.kv_tokens));

  roofcast::Scenario chat{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}};
  chat.workload = roofcast::SyntheticWorkload{
      .num_prompts = 500,
      .request_rate = 10,  // per second
      .input = roofcast::parse_length_distribution("lognormal:800:0.9"),
      .output = roofcast::parse_length_distribution("lognormal:200:0.7")};
  chat.slo.targets = {roofcast::parse_percentile_target("p95:ttft:500ms"),
                      roofcast::parse_percentile_target("p95:tpot:50ms")};
  const roofcast::SimulationAnswer run = roofcast::simulate({.scenario = chat});
  std::printf("p95 TTFT %.0f ms: the SLO %s\n", 1e3 * run.load.ttft.p95,
              roofcast::is_yes(run) ? "holds" : "is missed");

  const roofcast::PlanAnswer plan = roofcast::plan({.scenario = chat, .gpus = {"h100", "l40s"}});
  std::puts(plan.headline.c_str());
  return plan.ranked.empty() ? 3 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
