// Assigns LoRA adapters to requests.
#pragma once

#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Draws an adapter for every request from stream "adapters"; all turns of a session use the same
/// one. Throws Error naming the parameter that is out of range.
void assign_adapters(Workload& workload, const LoraAdapters& lora, std::uint64_t seed);

}  // namespace roofcast
