// Variants beside each other, for the terminal and for their report.
#pragma once

#include "reports/document.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

/// Whether a metric contains the wait in queues of an engine that does not keep up: its figure is
/// that of one length, and grows with it.
bool grows(const VariantAnswer& row, const MetricName& metric);

/// A row for each variant: the compared metrics, whether it holds, utilisation and costs.
Table variant_table(const WhatIfAnswer& answer);

}  // namespace roofcast
