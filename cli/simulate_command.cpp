// roofcast simulate: a workload through the engine, against an SLO; kept in the store.
#include <optional>
#include <ostream>

#include "cli/progress.hpp"
#include "cli/run_simulation.hpp"
#include "cli/simulate_command_options.hpp"

namespace roofcast {
namespace {

/// False when the user interrupted it.
bool run_with_progress(SimulationRun& run, std::ostream& err) {
  ProgressBar bar(err, "requests");
  run_simulation(run, [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
  return !bar.interrupted();
}

}  // namespace

int run_simulate(CommandContext& context) {
  SimulateOptions options;
  const auto common = parse(context, simulate_usage(options));
  if (!common) return kExitDone;

  SimulationRun run = prepare_simulation(simulate_scenario(options));
  // Opened before the work: a file that cannot be written should not cost a simulation.
  if (!options.requests_out.empty()) check_writable(options.requests_out);
  std::optional<Store> store;
  if (options.store) store.emplace(options.store_path, Store::Mode::write);
  if (!run_with_progress(run, context.err)) {
    context.err << "interrupted: " << run.result.completed << " of " << run.workload.requests.size()
                << " requests had finished; nothing was stored\n";
    write(simulation_document(run), common->output, context.out);
    return kExitFailed;
  }
  if (!options.requests_out.empty()) write_requests(run, options.requests_out);
  if (store) {
    const auto id = store->add(simulation_row(run, context.command_line, options.keep_requests));
    context.err << "run " << id << " kept in " << options.store_path << " (roofcast runs " << id
                << " --store " << options.store_path << ")\n";
  }
  write(simulation_document(run), common->output, context.out);
  return slo_met(run.result) ? kExitDone : kExitNo;
}

}  // namespace roofcast
