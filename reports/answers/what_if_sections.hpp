// Variants beside each other, for the terminal and for their report.
#pragma once

#include "reports/document.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

/// A row for each variant: the compared metrics, whether it holds, utilisation and costs.
Table variant_table(const WhatIfAnswer& answer);

}  // namespace roofcast
