// A build without GLPK.
#include "base/error.hpp"
#include "planner/mix/fleet_program.hpp"

namespace roofcast {

bool has_fleet_solver() { return false; }

std::optional<FleetChoice> solve(const FleetProgram& /*program*/) {
  throw Error("this build has no GLPK (Debian: libglpk-dev), which `mix` needs");
}

}  // namespace roofcast
