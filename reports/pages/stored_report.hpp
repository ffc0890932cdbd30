// The part of any run's report that needs only the store.
#pragma once

#include <string>

#include "base/error.hpp"
#include "reports/pages/report.hpp"
#include "reports/store.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

/// "NVIDIA H100 SXM" for "nvidia-h100-sxm"; names that are not built-in profiles are unchanged.
std::string gpu_title(const std::string& gpu);

/// "llama-3.1-8b on NVIDIA H100 SXM: simulation (run 1)"
std::string report_title(const RunRow& row);

/// Id, kind, time and origin of a run, next to the sections in JSON.
Json report_machine(const RunRow& row);

/// A report from the store alone, for any kind of run.
Report stored_report(const Run& stored);

/// Whether it holds for its requests, which are too few to say so of a longer load.
bool proves_little(const SloVerdict& verdict);

/// "met", "met by these" (requests, where they prove little), "undecided" or "missed".
std::string verdict_word(const SloVerdict& verdict);

/// Why a stored answer is not shown, and what to do: another build wrote it in another form.
std::string unreadable_text(const Error& reason, const RunRow& row);

/// Command line, scenario, seed and version.
ReportSection input_section(const RunRow& row);

/// The program that made the report, and when the run was made.
std::string report_footer(const RunRow& row);

}  // namespace roofcast
