// roofcast simulate: a workload through the engine, against an SLO; kept in the store.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/simulate_command_options.hpp"
#include "cli/output_file.hpp"
#include "cli/progress.hpp"
#include "cli/simulate_document.hpp"
#include "planner/evaluate_all.hpp"
#include "reports/pages/limits_section.hpp"
#include "roofcast/limits.hpp"
#include "roofcast/run_simulation.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

/// False when the user interrupted it.
bool run_with_progress(SimulationRun& run, const CommandContext& context) {
  ProgressBar bar(context, "requests");
  run_simulation(run, [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
  return !bar.interrupted();
}

/// The answer with what its limits are. The run is simulated again with each of them wider; an
/// interrupted account is left out, and that is said.
Document explained(const SimulationRun& run, const CommandContext& context) {
  Document document = simulation_document(run);
  ProgressBar bar(context, "simulations");
  SimulationRun counted{.scenario = run.scenario, .pools = run.pools, .workload = run.workload};
  const LimitAccount account =
      simulate_with_account(counted, step_times_of(counted),
                            [&bar](std::int64_t, std::int64_t) { return !bar.interrupted(); });
  const auto without_limits = [&] {
    constexpr const char* kLeftOut = "interrupted: what limits the run is left out";
    document.machine["notes"].push_back(kLeftOut);
    context.err << kLeftOut << "\n";
    return document;
  };
  if (bar.interrupted()) return without_limits();
  const auto report =
      report_limits(counted, account, available_threads(),
                    [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
  if (!report) return without_limits();
  const LimitsAnswer limits = limits_answer(*report, run.pools);
  document.machine["limits"] = to_json(limits);
  document.sections.push_back(limits_section(limits));
  return document;
}

/// What was done and what was not, in a line.
std::string interruption(const SimulationRun& run, const SimulateOptions& options) {
  const std::vector<RequestRecord>& records = run.result.requests;
  const auto finished =
      std::count_if(records.begin(), records.end(),
                    [](const RequestRecord& record) { return record.finished != kNever; });
  std::string line = fmt::format("interrupted: {} of {} had finished", with_separators(finished),
                                 counted(std::ssize(records), "request"));
  if (!options.requests_out.empty()) line += "; " + options.requests_out + " says which";
  if (options.store) line += "; nothing was stored";
  return line + "\n";
}

/// Everything that the run reads or keeps its result in.
std::vector<std::string> files_used(const SimulateOptions& options, const Scenario& scenario) {
  std::vector<std::string> files = input_files(scenario);
  files.push_back(options.scenario_path);
  if (options.store) files.push_back(options.store_path);
  return files;
}

}  // namespace

int run_simulate(CommandContext& context) {
  SimulateOptions options;
  const auto common = parse(context, simulate_usage(options));
  if (!common) return kExitDone;

  take_from_command(options.deployment, options.from_command, context.err);
  const Scenario scenario = simulate_scenario(options);
  if (!options.requests_out.empty()) {
    check_not_among(options.requests_out, "--requests-out", files_used(options, scenario));
  }
  SimulationRun run = prepare_simulation(scenario);
  if (!run.refusal.empty()) {
    write(refusal_document(run), common->output, context.out);
    return kExitNo;
  }
  // Opened before the work: a file that cannot be written should not cost a simulation.
  if (!options.requests_out.empty()) check_writable(options.requests_out);
  std::optional<Store> store;
  if (options.store) store.emplace(options.store_path, Store::Mode::write);
  const bool complete = run_with_progress(run, context);
  if (!options.requests_out.empty()) write_requests(run, options.requests_out);
  if (!complete) {
    context.err << interruption(run, options);
    write(simulation_document(run), common->output, context.out);
    return kExitFailed;
  }
  if (store) {
    Run row = simulation_row(run, context.command_line, options.keep_requests);
    const std::vector<MetricRow> costs = cost_metrics(run);
    row.metrics.insert(row.metrics.end(), costs.begin(), costs.end());
    const auto id = store->add(row);
    context.err << "run " << id << " kept in " << options.store_path << " (roofcast runs " << id
                << " --store " << options.store_path << ")\n";
  }
  write(options.explain ? explained(run, context) : simulation_document(run), common->output,
        context.out);
  return holds(run.result) ? kExitDone : kExitNo;
}

}  // namespace roofcast
