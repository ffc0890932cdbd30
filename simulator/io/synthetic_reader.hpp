// Reads and writes the synthetic workload of a scenario file.
#pragma once

#include "simulator/io/json_object.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// `object` has the keys of scenario_keys::kSynthetic. Throws Error naming file and key.
SyntheticWorkload read_synthetic(const JsonObject& object);

/// The workload as JSON that read_synthetic reads to the same value; without unset keys.
nlohmann::ordered_json synthetic_json(const SyntheticWorkload& workload);

}  // namespace roofcast
