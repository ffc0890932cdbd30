// What any run's report has of the store alone.
#pragma once

#include <string>

#include "reports/pages/report.hpp"
#include "reports/store.hpp"

namespace roofcast {

/// "NVIDIA H100 SXM" of "nvidia-h100-sxm"; names that are no built-in profile's as they are.
std::string gpu_title(const std::string& gpu);

/// "llama-3.1-8b on NVIDIA H100 SXM: simulation (run 1)"
std::string report_title(const RunRow& row);

/// Which run, of what kind, made when, by what: beside the sections in JSON.
Json report_machine(const RunRow& row);

/// Of what the store holds alone: any kind of run.
Report stored_report(const Run& stored);

/// Command line, scenario, seed and version.
ReportSection input_section(const RunRow& row);

/// What made the report, and when the run was made.
std::string report_footer(const RunRow& row);

}  // namespace roofcast
