// The command lines that people start engines with, as deployments: what they decide, and what they
// say that is not modelled.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/deploy.hpp"
#include "planner/launch/serve_flags.hpp"

namespace roofcast {

struct ServeCommand {
  ServeEngine engine = ServeEngine::vllm;
  DeploymentOptions deployment{};           // without a GPU, which no engine is told
  std::vector<std::string> ignored{};       // flags and variables that cannot change performance
  std::vector<std::string> not_modelled{};  // those that may
  std::vector<std::string> unknown{};       // those that no table here lists
  std::vector<std::string> notes{};         // sentences
};

/// The text of a file that a flag names; nothing when it is not at hand.
using ReadTextFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Reads what starts one server: vLLM, SGLang or TensorRT-LLM, under wrappers, in a container, in a
/// script with variables and here-documents. Throws UsageError in a line, naming flag and value.
ServeCommand read_serve_command(const std::string& text, const ReadTextFile& read_file = {});

}  // namespace roofcast
