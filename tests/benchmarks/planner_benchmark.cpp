// Duration of a plan: 10,240 candidates of one model, every simulation with 2,000 requests.
#include <benchmark/benchmark.h>

#include "planner/search/plan.hpp"

namespace roofcast {
namespace {

/// 4 GPUs x 4 degrees x 2 cache formats x 5 batches x 4 token budgets give 640 shapes, each with up
/// to 16 units.
PlanTask question_of_10240() {
  SyntheticWorkload chat;
  chat.num_prompts = 2000;
  chat.request_rate = 5.5;  // as the Azure conversation trace, and lengths like its own
  chat.input = parse_length_distribution("lognormal:900:0.9");
  chat.output = parse_length_distribution("lognormal:150:0.8");
  PlanTask question;
  question.base.deployment.model = "llama-3.1-70b";
  question.base.workload = chat;
  question.base.slo.targets = {parse_percentile_target("p95:ttft:1s"),
                               parse_percentile_target("p95:tpot:50ms")};
  question.space = {.gpus = {"h100", "h200", "l40s", "a100"},
                    .dimensions = completed({parse_dimension("kv=default,fp8"),
                                             parse_dimension("max_num_seqs=32-512*2"),
                                             parse_dimension("max_num_batched_tokens=1024-8192*2")},
                                            false),
                    .base = {.engine = kDefaultEngine},
                    .max_units = 16};
  return question;
}

void tenThousandCandidates(benchmark::State& state) {
  PlanTask question = question_of_10240();
  const int threads = static_cast<int>(state.range(0));
  PlanFindings answer;
  for (auto _ : state) {
    const PlanCatalogue catalogue = load_catalogue(question.base, question.space);
    const std::vector<PlannedShape> shapes = *plan_shapes(catalogue, question, threads, {});
    Evaluations evaluations(plan_evaluator(catalogue, question, shapes), {.threads = threads});
    answer = make_plan(question, shapes, evaluations, {});
  }
  state.counters["candidates"] = static_cast<double>(answer.candidates);
  state.counters["simulated"] = static_cast<double>(answer.simulations);
  state.counters["of_finalists"] = static_cast<double>(answer.finalist_simulations);
}
BENCHMARK(tenThousandCandidates)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kSecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace roofcast
