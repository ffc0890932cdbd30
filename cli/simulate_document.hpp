// What `roofcast simulate` answers, and what it keeps in the store.
#pragma once

#include <string>
#include <vector>

#include "model/deployment.hpp"
#include "model/memory_plan.hpp"
#include "reports/document.hpp"
#include "reports/store.hpp"
#include "simulator/results/result.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// What one pool of a cluster runs on.
struct PoolRun {
  std::string name;
  PoolRole role = PoolRole::both;
  std::int32_t replicas = 1;
  Deployment deployment;
  std::string profile_hash;
  MemoryPlan plan;
  /// Of the steps that its engines ran: one standard deviation of their times, relative. Filled in
  /// by run_simulation.
  double step_uncertainty = 0;
};

/// A simulation with all that decided it.
struct SimulationRun {
  Scenario scenario;
  std::vector<PoolRun> pools = std::vector<PoolRun>(1);  // one at least
  std::string refusal;  // why it cannot run: what does not fit; empty when all fits
  Workload workload;
  SimulationResult result;
  std::vector<std::string> notes;  // what the numbers rest on, for the user to read
};

/// The SLO is met, or there is none.
bool slo_met(const SimulationResult& result);

/// The answer is "yes": requests were served, and the SLO is met.
bool holds(const SimulationResult& result);

/// The answer to a deployment that does not fit.
Document refusal_document(const SimulationRun& run);

Document simulation_document(const SimulationRun& run);

/// The figures of the result, as the store names them.
std::vector<MetricRow> simulation_metrics(const SimulationRun& run);

/// `keep_requests`: one row per request as well.
Run simulation_row(const SimulationRun& run, const std::string& command_line, bool keep_requests);

/// One row per request, empty times for what has not happened; JSONL for a path that ends in
/// .jsonl, else CSV. Throws Error when the file cannot be written whole.
void write_requests(const SimulationRun& run, const std::string& path);

}  // namespace roofcast
