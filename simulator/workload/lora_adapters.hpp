// Which LoRA adapter a request is for.
#pragma once

#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Draws an adapter for every request from stream "adapters"; the turns of a session share one.
/// Throws Error naming the knob that is out of range.
void assign_adapters(Workload& workload, const LoraAdapters& lora, std::uint64_t seed);

}  // namespace roofcast
