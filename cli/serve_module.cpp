// The module of `roofcast serve`, which open_serve_module.cpp opens.
#include "build_id.hpp"
#include "cli/command.hpp"

extern "C" const char* roofcast_serve_build() { return roofcast::kBuildId; }

extern "C" int roofcast_run_serve(roofcast::CommandContext& context) {
  return roofcast::run_serve(context);
}
