// The cluster of a scenario file, read and written, and the parts of a scenario that its pools may
// have of their own.
#pragma once

#include <nlohmann/json.hpp>

#include "simulator/io/engine_options.hpp"
#include "simulator/io/json_object.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws Error naming the key. Failures name pools; what only a whole cluster can tell
/// (check_cluster) is not checked.
ClusterScenario read_cluster(const JsonObject& object);
nlohmann::ordered_json cluster_json(const ClusterScenario& cluster);

/// "both", "prefill" or "decode".
const char* name_of(PoolRole role);

// In scenario_reader.cpp and scenario_writer.cpp.
Parallelism read_parallel(const JsonObject& object);
nlohmann::ordered_json parallel_json(const Parallelism& parallel);

}  // namespace roofcast
