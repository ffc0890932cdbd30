// roofcast simulate: simulates a workload and checks it against an SLO; stores the run.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/default_store.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/simulate_command_options.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "reports/pages/answer_documents.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/stored_runs.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

/// One line about what was done and what was not.
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

/// Writes the requests and stores the run, and says so.
void keep(const SimulationOutcome& outcome, const SimulateOptions& options,
          std::optional<Store>& store, const CommandContext& context) {
  if (!options.requests_out.empty()) write_requests(outcome.run, options.requests_out);
  if (outcome.answer.stopped) {
    context.err << interruption(outcome.run, options);
  } else if (store) {
    const auto id =
        store_simulation(*store, outcome.run, context.command_line, options.keep_requests);
    context.err << "run " << id << " stored in " << options.store_path << " (roofcast runs " << id
                << " --store " << options.store_path << ")\n";
  }
}

/// Every file that the run reads or stores its result in.
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

  if (options.keep_requests && !options.store) {
    throw UsageError("--keep-requests and --no-store are mutually exclusive");
  }
  const ScenarioOptions given = scenario_options(options);
  take_from_command(options.deployment, options.from_command, context.err);
  SimulationQuestion question = simulation_question(options.question, simulate_scenario(options),
                                                    given, has_free_length(options));
  if (!options.requests_out.empty()) {
    check_not_among(options.requests_out, "--requests-out", files_used(options, question.scenario));
  }
  if (options.no_intervals) question.intervals = Intervals::none;
  std::optional<Store> store;
  std::optional<ProgressBar> bar;
  const auto show = [&](std::int64_t done, std::int64_t total) { return bar->show(done, total); };
  const SimulationOutcome outcome = simulate_in_steps(
      question, {.ready =
                     [&](const SimulationRun&) {
                       if (!options.requests_out.empty()) check_writable(options.requests_out);
                       if (options.store && can_be_kept_in(options.store_path, context.err))
                         store.emplace(options.store_path, Store::Mode::write);
                       bar.emplace(context.err, "requests");
                     },
                 .simulated =
                     [&](const SimulationOutcome& simulated) {
                       bar.reset();
                       keep(simulated, options, store, context);
                       bar.emplace(context.err, "simulations");
                     },
                 .requests = show,
                 .simulations = show});
  bar.reset();
  print(simulation_document(outcome.answer), common->output, context);
  if (outcome.answer.stopped) return kExitFailed;
  return code_of(is_yes(outcome.answer));
}

}  // namespace roofcast
