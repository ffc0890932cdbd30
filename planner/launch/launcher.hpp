// Finds the command in a script that starts an engine, and its arguments: run directly, under
// wrappers (nohup, env, mpirun, bash -c) or in a container.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/launch/serve_flags.hpp"

namespace roofcast {

struct Launch {
  ServeEngine engine = ServeEngine::vllm;
  std::string version{};                   // "0.11.0" from an image tag or pip install; else empty
  std::vector<std::string> arguments{};    // after the program
  std::vector<std::string> environment{};  // "NAME=value" of variables set for it
  std::map<std::string, std::string> files{};  // written by the script
};

/// The one engine that `script` starts. Throws UsageError if it starts none or several, and as
/// read_shell does.
Launch find_launch(const std::string& script);

}  // namespace roofcast
