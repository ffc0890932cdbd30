// --meta KEY=VALUE of commands that read results of benchmarks.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "reports/importers/importer.hpp"

namespace roofcast {

/// Throws UsageError for a pair without a key or without "=".
inline void take_meta(ImportOptions& options, const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--meta: '" + pair + "' is not KEY=VALUE, such as gpu=h100");
    }
    options.meta[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
}

}  // namespace roofcast
