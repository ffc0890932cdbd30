// The output of `roofcast profile import`.
#pragma once

#include <string>
#include <vector>

#include "calibrate/tables/imported_rows.hpp"
#include "model/hardware/gpu.hpp"
#include "reports/document.hpp"

namespace roofcast {

struct ProfileImport {
  std::vector<std::string> files{};  // tables and folders read
  std::string out{};                 // the profile's file
  ImportedRows rows{};
  Gpu gpu{};  // measured
};

Document import_document(const ProfileImport& import);

}  // namespace roofcast
