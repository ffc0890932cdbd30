#include "simulator/io/scenario_workload.hpp"

#include "simulator/io/trace_reader.hpp"

namespace roofcast {

Workload load_workload(const Scenario& scenario) {
  const auto* trace = std::get_if<TraceWorkload>(&scenario.workload);
  Workload workload = trace != nullptr
                          ? read_trace(*trace)
                          : generate(std::get<SyntheticWorkload>(scenario.workload), scenario.seed);
  assign_slo_classes(workload, scenario.slo, scenario.seed);
  return workload;
}

}  // namespace roofcast
