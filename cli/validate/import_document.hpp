// The output of `roofcast runs import`, and its rows in the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/document.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// The known settings; an infinite rate is "inf".
Json setting_json(const MeasuredSetting& setting);

/// A measured run as a row of kind `measured`: its setting is the scenario.
Run measured_row(const MeasuredRun& run, const std::string& command_line, bool keep_requests);

struct ImportedRun {
  MeasuredRun run;
  std::optional<std::int64_t> id{};  // in the store; unset: not stored
};

Document import_document(const std::vector<ImportedRun>& runs, Json inputs);

}  // namespace roofcast
