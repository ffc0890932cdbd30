#include "reports/pages/reports.hpp"

#include <utility>

#include "reports/pages/replay.hpp"
#include "reports/pages/run_reports.hpp"
#include "reports/pages/stored_report.hpp"

namespace roofcast {
namespace {

Report replayed_report(const Store& store, const Run& run, const ReportEffort& effort) {
  const Replay replay = replayed(store, run, effort);
  Report report = replay.run ? simulation_report(run, *replay.run, effort) : stored_report(run);
  ReportSection& said = replay.run ? report.sections.back() : report.sections.front();
  said.lines.push_back(replay.remark);
  return report;
}

}  // namespace

Report run_report(const std::string& store_path, const Store& store, const Run& run,
                  const ReportEffort& effort) {
  const std::string& kind = run.row.kind;
  if (kind == "simulate") return replayed_report(store, run, effort);
  if (kind == "plan") return plan_report(store_path, run);
  if (kind == "capacity") return capacity_report(store, run, effort);
  if (kind == "capacity_table") return stored_capacity_table_report(store, run);
  if (kind == "whatif") return what_if_report(store, run);
  if (kind == "validate") return validation_report(store_path, run);
  if (kind == "calibrate") return calibration_report(store, run, effort.opens_files);
  return stored_report(run);
}

}  // namespace roofcast
