// The limits of a deployment, as text.
#pragma once

#include <string>
#include <vector>

#include "planner/scenario/simulation_run.hpp"
#include "reports/document.hpp"
#include "roofcast/limits.hpp"

namespace roofcast {

/// "KV memory", "token budget", ...
std::string title_of(LimitKind kind);

/// Effect of raising a limit: "-3.2 %", a gain being a reduction.
Cell gain_cell(double gain);

/// "14.8 %"; of several pools "14.8 %, 3.1 %", in their order; "-" of none.
Cell mfu_cell(const std::vector<PoolUtilisation>& pools);
Cell mbu_cell(const std::vector<PoolUtilisation>& pools);

/// "While a step is in progress, 14.8 % of the FLOP/s are used (MFU) and 62.0 % of the memory
/// bandwidth (MBU)." Precondition: `pools` is not empty.
std::string utilisation_line(const std::vector<PoolUtilisation>& pools);

/// One row per limit; a line above the table names the binding one.
Section limits_section(const LimitsAnswer& limits);

/// The changes that were simulated, the largest gain first, each with its cost. Precondition: there
/// is advice.
Section advice_section(const LimitsAnswer& limits);

}  // namespace roofcast
