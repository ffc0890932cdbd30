// Reads and writes the cluster of a scenario file, and the parts of a scenario that each pool can
// override.
#pragma once

#include <nlohmann/json.hpp>

#include "simulator/io/engine_options.hpp"
#include "simulator/io/json_object.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws Error naming the key. Failures must name existing pools; what concerns the whole cluster
/// is left to check_cluster.
ClusterScenario read_cluster(const JsonObject& object);
nlohmann::ordered_json cluster_json(const ClusterScenario& cluster);

/// "both", "prefill" or "decode".
const char* name_of(PoolRole role);

// Defined in scenario_reader.cpp and scenario_writer.cpp.
Parallelism read_parallel(const JsonObject& object);
nlohmann::ordered_json parallel_json(const Parallelism& parallel);

}  // namespace roofcast
