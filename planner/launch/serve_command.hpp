// Reads command lines that start engines as deployments, and lists what they set that is not
// modelled.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/launch/serve_flags.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

struct ServeCommand {
  ServeEngine engine = ServeEngine::vllm;
  DeploymentOptions deployment{};           // no GPU: engines take no such flag
  std::vector<std::string> ignored{};       // flags and variables without effect on performance
  std::vector<std::string> not_modelled{};  // those that may affect it
  std::vector<std::string> unknown{};       // those that no table here lists
  std::vector<std::string> notes{};         // sentences
};

/// The text of a file that a flag names; nullopt if it is not available.
using ReadTextFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Reads the command that starts one server: vLLM, SGLang, TensorRT-LLM or ATOM, under wrappers, in
/// a container, in a script with variables and here-documents. Throws a one-line UsageError naming
/// flag and value.
ServeCommand read_serve_command(const std::string& text, const ReadTextFile& read_file = {});

}  // namespace roofcast
