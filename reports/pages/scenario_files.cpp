#include "reports/pages/scenario_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "base/wording.hpp"
#include "model/io/engine_profile.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "planner/scenario_run.hpp"
#include "simulator/io/length_table_reader.hpp"

namespace roofcast {
namespace {

bool is_built_in(const std::string& model) {
  std::error_code ignored;  // a file of that name takes precedence over the catalogue
  if (std::filesystem::exists(model, ignored)) return false;
  const std::vector<CatalogueEntry> entries = catalogue();
  return std::any_of(entries.begin(), entries.end(), [&](const CatalogueEntry& entry) {
    return entry.name == model ||
           std::find(entry.aliases.begin(), entry.aliases.end(), model) != entry.aliases.end();
  });
}

bool opens_workload(const WorkloadSpec& workload) {
  if (const auto* trace = std::get_if<TraceWorkload>(&workload)) return !trace->bytes;
  return !length_files(std::get<SyntheticWorkload>(workload)).empty();
}

}  // namespace

bool opens_files(const Scenario& scenario) {
  if (!is_built_in(scenario.model) || is_profile_path(scenario.gpu) ||
      is_engine_profile_path(scenario.engine) || opens_workload(scenario.workload)) {
    return true;
  }
  if (!scenario.cluster) return false;
  const auto& pools = scenario.cluster->pools;
  return std::any_of(pools.begin(), pools.end(), [](const PoolScenario& pool) {
    return (pool.gpu && is_profile_path(*pool.gpu)) ||
           (pool.engine && is_engine_profile_path(*pool.engine));
  });
}

std::string beyond_effort(const Scenario& scenario, const ReportEffort& effort) {
  if (!effort.opens_files && opens_files(scenario)) {
    return "The run's scenario names files, which are not opened here; roofcast report opens them.";
  }
  const auto* drawn = std::get_if<SyntheticWorkload>(&scenario.workload);
  const std::vector<PoolScenario> pools = pools_of(scenario);
  const bool many_requests = drawn != nullptr && drawn->num_prompts > effort.max_requests;
  const bool many_replicas = std::any_of(pools.begin(), pools.end(), [&](const PoolScenario& pool) {
    return pool.replicas > effort.max_replicas;
  });
  if (!many_requests && !many_replicas) return "";
  return fmt::format(
      "The run has more than the {} that are simulated again here; roofcast report has no such "
      "limit.",
      many_requests ? counted(effort.max_requests, "request")
                    : counted(effort.max_replicas, "replica"));
}

}  // namespace roofcast
