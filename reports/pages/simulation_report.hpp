// The report on a simulation.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "planner/scenario_run.hpp"
#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// How much is simulated for a report beside the run itself.
struct ReportEffort {
  int threads = 1;
  ProgressFunction progress{};
  bool opens_files = true;  // traces, models and profiles that a stored scenario names
  // Drawn and placed before anything can end the work: of a stored scenario at most so many.
  std::int64_t max_requests = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_replicas = std::numeric_limits<std::int64_t>::max();  // of a pool
};

/// Of a run with its result, which came out as stored.
Report simulation_report(const Run& stored, const SimulationRun& run, const ReportEffort& effort);

/// Figures of the run itself: latencies, levels over time, memory, typical steps. A run that was
/// refused has its memory alone. Simulates again for the levels; throws Error if `progress`
/// cancels.
std::vector<Figure> run_figures(const SimulationRun& run, const ProgressFunction& progress = {});

/// "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19: the SLO does not hold: p95 TTFT is 1.30 s of 1 s
/// (missed), p95 TPOT 43.1 ms of 50 ms."
std::string simulation_answer(const SimulationRun& run);

}  // namespace roofcast
