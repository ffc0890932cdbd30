#include "reports/pages/scenario_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "base/wording.hpp"
#include "model/io/engine_profile.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "planner/scenario/simulation_run.hpp"
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

/// Whether it has more requests than `most`; turns that are drawn may be any number.
bool has_more_requests(const WorkloadSpec& workload, std::int64_t recorded, std::int64_t most) {
  if (const auto* trace = std::get_if<TraceWorkload>(&workload)) {
    return (trace->max_requests == 0 ? recorded : std::min(recorded, trace->max_requests)) > most;
  }
  const auto& drawn = std::get<SyntheticWorkload>(workload);
  if (drawn.num_prompts > most) return true;
  if (!drawn.sessions || most == std::numeric_limits<std::int64_t>::max()) return false;
  const LengthDistribution& turns = drawn.sessions->turns;
  return turns.kind != LengthDistribution::Kind::fixed ||
         static_cast<double>(drawn.num_prompts) * static_cast<double>(turns.a) >
             static_cast<double>(most);
}

}  // namespace

bool opens_files(const Scenario& scenario) {
  if (!is_built_in(scenario.deployment.model) || is_profile_path(scenario.deployment.gpu) ||
      is_engine_profile_path(scenario.deployment.engine) || opens_workload(scenario.workload)) {
    return true;
  }
  if (!scenario.cluster) return false;
  const auto& pools = scenario.cluster->pools;
  return std::any_of(pools.begin(), pools.end(), [](const PoolScenario& pool) {
    return is_profile_path(pool.own.gpu) || is_engine_profile_path(pool.own.engine);
  });
}

std::string beyond_effort(const Scenario& scenario, const ReportEffort& effort,
                          std::int64_t recorded) {
  if (!effort.opens_files && opens_files(scenario)) {
    return "The run's scenario names files, which are not opened here; roofcast report opens them.";
  }
  const std::vector<PoolScenario> pools = pools_of(scenario);
  const bool many_requests = has_more_requests(scenario.workload, recorded, effort.max_requests);
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
