// What `roofcast capacity` answers, for machines: SI units in the keys.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/capacity/capacity_answer.hpp"
#include "planner/capacity/growth.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// All but the notes.
Json capacity_json(const CapacityAnswer& answer, const std::optional<GrowthQuestion>& growth,
                   std::int64_t simulations);

Json capacity_refusal_json(const LoadStudy& study);

}  // namespace roofcast
