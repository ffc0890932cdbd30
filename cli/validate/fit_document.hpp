// The output of `roofcast fit`: the fitted terms and the remaining errors.
#pragma once

#include <string>
#include <vector>

#include "reports/document.hpp"
#include "validate/run_fit.hpp"

namespace roofcast {

/// `files` are the manifests, `out` where the engine profile was written.
Document fit_document(const EngineFit& fit, const std::vector<std::string>& files,
                      const std::string& out);

}  // namespace roofcast
