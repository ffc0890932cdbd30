// Writes the command that starts a deployment: vllm serve, python -m sglang.launch_server, or
// trtllm-serve with the YAML that completes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/launch/serve_flags.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

struct ServeLine {
  std::string text{};  // one command, optionally after a here-document; accepted by a shell and by
                       // read_serve_command
  std::vector<std::string> notes{};  // what no flag can express, and what is left to fill in
};

/// The engine of a preset ("vllm-0.19"); nullopt for textbook, static, naive, roofcast.
std::optional<ServeEngine> serve_engine_of(std::string_view preset);

/// The line that starts `options`, whose GPU it does not name: writes what is given and leaves the
/// rest to the engine. `has_experts`: whether the model has routed experts. Throws UsageError for
/// an engine without a launch command.
ServeLine serve_command_line(const DeploymentOptions& options, bool has_experts);

}  // namespace roofcast
