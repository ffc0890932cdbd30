// The terminal output of `roofcast whatif`.
#pragma once

#include "reports/document.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {

Document what_if_document(const WhatIfAnswer& answer);

}  // namespace roofcast
