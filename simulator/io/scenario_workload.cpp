#include "simulator/io/scenario_workload.hpp"

#include <fmt/format.h>

#include "base/wording.hpp"
#include "simulator/io/length_table_reader.hpp"
#include "simulator/io/trace_reader.hpp"
#include "simulator/results/slo_classes.hpp"

namespace roofcast {
namespace {

Workload draw_workload(const SyntheticWorkload& synthetic, std::uint64_t seed) {
  const std::vector<LengthTable> tables = read_length_tables(synthetic);
  Workload workload = generate(synthetic, seed, tables);
  for (const LengthTable& table : tables) {
    if (table.empty_rows == 0) continue;
    workload.notes.push_back(fmt::format("{}: {} with a length of 0 left out", table.file,
                                         counted(table.empty_rows, "row")));
  }
  return workload;
}

/// A stored run names its trace, which may have changed since.
void note_changed(Workload& workload, const TraceWorkload& trace) {
  if (trace.hash.empty()) return;
  const std::string now = trace_hash(trace);
  if (now.empty() || now == trace.hash) return;
  workload.notes.push_back(
      fmt::format("{} is not the trace of the stored run any more (hash {}, then {}): figures "
                  "computed from it need not be those that are stored",
                  trace.path, now, trace.hash));
}

}  // namespace

Workload load_workload(const Scenario& scenario) {
  const auto* trace = std::get_if<TraceWorkload>(&scenario.workload);
  Workload workload =
      trace != nullptr
          ? read_trace(*trace)
          : draw_workload(std::get<SyntheticWorkload>(scenario.workload), scenario.seed);
  if (trace != nullptr) note_changed(workload, *trace);
  declare_max_tokens(workload, scenario.max_tokens);
  assign_slo_classes(workload, scenario.slo, scenario.seed);
  return workload;
}

std::vector<std::string> input_files(const Scenario& scenario) {
  std::vector<std::string> files{scenario.deployment.model, scenario.deployment.gpu};
  if (scenario.cluster) {
    for (const PoolScenario& pool : scenario.cluster->pools) {
      if (!pool.own.gpu.empty()) files.push_back(pool.own.gpu);
    }
  }
  if (const auto* trace = std::get_if<TraceWorkload>(&scenario.workload)) {
    files.push_back(trace->path);
  } else {
    const auto lengths = length_files(std::get<SyntheticWorkload>(scenario.workload));
    files.insert(files.end(), lengths.begin(), lengths.end());
  }
  return files;
}

}  // namespace roofcast
