// A deployment as the command that starts it: vllm serve, python -m sglang.launch_server,
// trtllm-serve with the YAML that completes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/deploy.hpp"
#include "planner/launch/serve_flags.hpp"

namespace roofcast {

struct ServeLine {
  std::string text{};                // one command, or a here-document and one; what a shell and
                                     // read_serve_command take
  std::vector<std::string> notes{};  // what no flag says, and what is left to fill in
};

/// Whose line an engine preset has ("vllm-0.19"); nothing for textbook, static, naive, roofcast.
std::optional<ServeEngine> serve_engine_of(std::string_view preset);

/// The line that starts `options` (its GPU is not said): what is given is written, the rest is left
/// to the engine. `has_experts`: whether the model has routed experts. Throws UsageError for an
/// engine that no line starts.
ServeLine serve_command_line(const DeploymentOptions& options, bool has_experts);

}  // namespace roofcast
