// What `roofcast capacity` answers, and what it keeps in the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/capacity/capacity_answer.hpp"
#include "planner/capacity/growth.hpp"
#include "reports/document.hpp"
#include "reports/store.hpp"

namespace roofcast {

Document capacity_document(const CapacityAnswer& answer,
                           const std::optional<GrowthQuestion>& growth, std::int64_t simulations);

/// The answer to a deployment that does not fit.
Document capacity_refusal(const LoadStudy& study);

Run capacity_row(const CapacityAnswer& answer, const std::string& command_line);

}  // namespace roofcast
