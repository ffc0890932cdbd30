// roofcast simulate: a workload through the engine, against an SLO; kept in the store.
#include <ostream>

#include "cli/progress.hpp"
#include "cli/run_simulation.hpp"
#include "cli/simulate_command_options.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

/// Stored before anything is printed: a result that was seen can be found again.
void keep(const SimulateOptions& options, const SimulationRun& run, CommandContext& context) {
  if (!options.requests_out.empty()) write_requests(run, options.requests_out);
  if (!options.store) return;
  Store store(options.store_path, Store::Mode::write);
  const std::int64_t id =
      store.add(simulation_row(run, context.command_line, options.keep_requests));
  context.err << "run " << id << " kept in " << options.store_path << " (roofcast runs " << id
              << " --store " << options.store_path << ")\n";
}

}  // namespace

int run_simulate(CommandContext& context) {
  SimulateOptions options;
  const auto common = parse(context, simulate_usage(options));
  if (!common) return kExitDone;
  const Scenario scenario = simulate_scenario(options);

  SimulationRun run;
  bool interrupted = false;
  {
    ProgressBar bar(context.err, "requests");
    run = run_simulation(
        scenario, [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
    interrupted = bar.interrupted();
  }
  if (interrupted) {
    context.err << "interrupted: " << run.result.completed << " of " << run.workload.requests.size()
                << " requests had finished; nothing was stored\n";
  } else {
    keep(options, run, context);
  }
  write(simulation_document(run), common->output, context.out);
  if (interrupted) return kExitFailed;
  return slo_met(run.result) ? kExitDone : kExitNo;
}

}  // namespace roofcast
