#include "simulator/io/scenario_workload.hpp"

#include "simulator/io/length_table_reader.hpp"
#include "simulator/io/trace_reader.hpp"

namespace roofcast {
namespace {

Workload draw_workload(const SyntheticWorkload& synthetic, std::uint64_t seed) {
  return generate(synthetic, seed, read_length_tables(synthetic));
}

}  // namespace

Workload load_workload(const Scenario& scenario) {
  const auto* trace = std::get_if<TraceWorkload>(&scenario.workload);
  Workload workload =
      trace != nullptr
          ? read_trace(*trace)
          : draw_workload(std::get<SyntheticWorkload>(scenario.workload), scenario.seed);
  assign_slo_classes(workload, scenario.slo, scenario.seed);
  return workload;
}

}  // namespace roofcast
