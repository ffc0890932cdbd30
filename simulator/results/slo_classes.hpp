// Which class of the SLO each request has.
#pragma once

#include <cstdint>

#include "simulator/results/slo.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Assigns every request a class of `slo`: by the trace's class names if it has them, otherwise
/// drawn by share from stream "slo_class", with all turns of a session in one class. If `slo` has
/// no classes, those of a trace are kept. Throws Error for a class that `slo` does not list.
void assign_slo_classes(Workload& workload, const Slo& slo, std::uint64_t seed);

}  // namespace roofcast
