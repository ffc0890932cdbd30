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
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "roofcast/arguments.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/stored_runs.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

struct SimulateOptions {
  SimulationArguments asked{};
  std::string from_command{};  // the command that starts the engine; empty: only flags
  StoreOptions store{};
  std::string requests_out{};
  bool no_intervals = false;
};

Usage simulate_usage(SimulateOptions& target) {
  Usage usage{.synopsis = "roofcast simulate [SCENARIO.json] [--from-cmd LINE] [options]",
              .example =
                  "roofcast simulate --model llama-3.1-8b --gpu h100 --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = option_group("Result"),
              .unlisted = {},
              .positional = {}};
  add_scenario_file(usage, target.asked.load.scenario);
  add_store_options(usage.options, target.store);
  add_keep_requests(usage.options, target.store);
  usage.options.add_options()("requests-out", po::value(&target.requests_out)->value_name("FILE"),
                              "one row per request, .csv or .jsonl");
  usage.unlisted.add_options()("no-intervals", po::bool_switch(&target.no_intervals),
                               "skip intervals and probability (13 to 20 simulations)");
  SimulationQuestion& question = target.asked.question;
  question.intervals = Intervals::of_small_loads;
  add_flags(usage.options, simulation_flags(), question);
  add_flags(usage.unlisted, interval_flags(), question);
  add_scenario_options(target.asked.load.options, target.from_command, usage.options,
                       usage.unlisted);
  usage.more =
      "More: --from-cmd LINE, load shapes (--stages, --turns ...), trace formats, scheduler "
      "knobs,\n"
      "speculative decoding, LoRA adapters, KV offloading to host memory";
  return usage;
}

/// One line about what was done and what was not.
std::string interruption(const SimulationRun& run, const SimulateOptions& options) {
  const std::vector<RequestRecord>& records = run.result.requests;
  const auto finished =
      std::count_if(records.begin(), records.end(),
                    [](const RequestRecord& record) { return record.finished != kNever; });
  std::string line = fmt::format("interrupted: {} of {} had finished", with_separators(finished),
                                 counted(std::ssize(records), "request"));
  if (!options.requests_out.empty()) line += "; " + options.requests_out + " says which";
  if (options.store.on) line += "; nothing was stored";
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
        store_simulation(*store, outcome.run, context.command_line, options.store.keep_requests);
    context.err << "run " << id << " stored in " << options.store.path << " (roofcast runs " << id
                << " --store " << options.store.path << ")\n";
  }
}

/// Every file that the run reads or stores its result in.
std::vector<std::string> files_used(const SimulateOptions& options, const Scenario& scenario) {
  std::vector<std::string> files = input_files(scenario);
  files.push_back(options.asked.load.scenario);
  if (options.store.on) files.push_back(options.store.path);
  return files;
}

}  // namespace

int run_simulate(CommandContext& context) {
  SimulateOptions options;
  const auto common = parse(context, simulate_usage(options));
  if (!common) return kExitDone;
  check(options.store);
  take_from_command(options.asked.load.served, options.from_command, context.err);
  if (options.no_intervals) options.asked.question.intervals = Intervals::none;
  const SimulationQuestion question = question_of(options.asked);
  if (!options.requests_out.empty()) {
    check_not_among(options.requests_out, "--requests-out", files_used(options, question.scenario));
  }
  std::optional<Store> store;
  std::optional<ProgressBar> bar;
  const auto show = [&](std::int64_t done, std::int64_t total) { return bar->show(done, total); };
  const SimulationOutcome outcome =
      simulate_in_steps(question, {.ready =
                                       [&](const SimulationRun&) {
                                         if (!options.requests_out.empty())
                                           check_writable(options.requests_out);
                                         if (can_store(options.store, context.err))
                                           store.emplace(options.store.path, Store::Mode::write);
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
