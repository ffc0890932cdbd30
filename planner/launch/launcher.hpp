// Which command of a script starts an engine, and with which arguments: as it is, under wrappers
// (nohup, env, mpirun, bash -c) or in a container.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/launch/serve_flags.hpp"

namespace roofcast {

struct Launch {
  ServeEngine engine = ServeEngine::vllm;
  std::string version{};                 // "0.11.0" of an image's tag or of pip install; else empty
  std::vector<std::string> arguments{};  // after the program
  std::vector<std::string> environment{};      // names of variables set for it
  std::map<std::string, std::string> files{};  // that the script writes
};

/// "vllm", "sglang", "trtllm"
std::string name_of(ServeEngine engine);

/// The one engine that `script` starts. Throws UsageError when it starts none or several, and as
/// read_shell does.
Launch find_launch(const std::string& script);

}  // namespace roofcast
