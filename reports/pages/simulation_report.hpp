// The report on a simulation.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// How much a report may simulate in addition to the run itself.
struct ReportEffort {
  int threads = 1;
  Progress progress{};
  bool opens_files = true;  // may open the traces, models and profiles that a stored scenario names
  // Limits of a stored scenario: these are drawn and placed before progress can stop the work.
  std::int64_t max_requests = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_replicas = std::numeric_limits<std::int64_t>::max();  // per pool
};

/// `run` must have its result, which must reproduce `stored`.
Report simulation_report(const Run& stored, const SimulationRun& run, const ReportEffort& effort);

/// Figures of the run itself: latencies, levels over time, memory, typical steps. A run that was
/// refused has its memory alone. Simulates again for the levels; throws Error if `progress`
/// cancels.
std::vector<Figure> run_figures(const SimulationRun& run, const Progress& progress = {});

/// "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19: the SLO does not hold: p95 TTFT is 1.30 s of 1 s
/// (missed), p95 TPOT 43.1 ms of 50 ms."
std::string simulation_answer(const SimulationRun& run);

}  // namespace roofcast
