// What `roofcast gpus` tells of a device that was calibrated.
#pragma once

#include "model/hardware/gpu.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// How and when it was measured, the roofline as it was reached, and every curve with its distance
/// from that roofline. Adds `measured` to the machine's answer. Precondition: gpu.measured.
void add_measured(Document& document, const Gpu& gpu);

}  // namespace roofcast
