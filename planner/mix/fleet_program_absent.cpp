// A build without GLPK.
#include "base/error.hpp"
#include "planner/mix/fleet_program.hpp"

namespace roofcast {

bool has_fleet_solver() { return false; }

void require_fleet_solver() {
  throw Error("this build has no GLPK (Debian: libglpk-dev), which `mix` needs");
}

std::optional<FleetChoice> solve(const FleetProgram& /*program*/) {
  require_fleet_solver();
  return std::nullopt;
}

}  // namespace roofcast
