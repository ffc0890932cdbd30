// The output of `roofcast fit`: the fitted terms and the remaining errors.
#pragma once

#include "reports/document.hpp"
#include "roofcast/fit.hpp"

namespace roofcast {

Document fit_document(const FitAnswer& answer);

}  // namespace roofcast
