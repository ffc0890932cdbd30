// What fit and runs import print.
#pragma once

#include "reports/document.hpp"
#include "roofcast/fit.hpp"
#include "roofcast/import.hpp"

namespace roofcast {

/// The output of `roofcast fit`: the fitted terms and the remaining errors.
Document fit_document(const FitAnswer& answer);

/// The output of `roofcast runs import`.
Document import_document(const ImportAnswer& answer);

}  // namespace roofcast
