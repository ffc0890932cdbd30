// The module of `roofcast serve`, which open_serve_module.cpp opens.
#include "cli/command.hpp"

extern "C" int roofcast_run_serve(roofcast::CommandContext& context) {
  return roofcast::run_serve(context);
}
