// roofcast whatif: a scenario with one or more knobs varied, and the effect of each change.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/wording.hpp"
#include "cli/default_store.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/stacked_svg.hpp"
#include "reports/pages/figures/what_if_figures.hpp"
#include "roofcast/arguments.hpp"
#include "roofcast/store_rows.hpp"
#include "roofcast/what_if.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

struct WhatIfCommandOptions {
  WhatIfArguments asked{};
  std::string from_command{};  // the command that starts the engine; empty: only flags
  StoreOptions store{};
  std::string plot_path{};
};

Usage whatif_usage(WhatIfCommandOptions& target) {
  Usage usage{.synopsis = "roofcast whatif [SCENARIO.json] --vary KEY=VALUES ... [options]",
              .example =
                  "roofcast whatif --model llama-3.1-8b --gpu h100 --request-rate 10 "
                  "--vary gpu=l40s,h200",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  add_scenario_file(usage, target.asked.load.scenario,
                    "the baseline: a scenario file; flags of simulate override it");
  add_flags(usage.options, what_if_flags(), target.asked.what_if);
  usage.options.add_options()("plot", po::value(&target.plot_path)->value_name("FILE.svg"),
                              "write a figure with one panel per metric");
  add_store_options(usage.options, target.store,
                    {.path = "the SQLite store, one run per variant (default roofcast.db)",
                     .off = "do not store the runs"});
  add_scenario_options(target.asked.load.options, target.from_command, usage.unlisted,
                       usage.unlisted);
  usage.more = "Baseline: flags of roofcast simulate";
  return usage;
}

void check_plot_path(const WhatIfCommandOptions& options, const Scenario& baseline) {
  std::vector<std::string> used = input_files(baseline);
  used.push_back(options.asked.load.scenario);
  if (options.store.on) used.push_back(options.store.path);
  check_not_among(options.plot_path, "--plot", used);
  if (!has_charts()) throw Error("--plot: this build cannot draw charts (ROOFCAST_CHARTS=OFF)");
  check_writable(options.plot_path);
}

/// Nullopt if the user interrupted it.
std::optional<WhatIfAnswer> run_with_progress(const WhatIfTask& task, std::ostream& err) {
  ProgressBar bar(err, "simulations");
  return what_if(task,
                 [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
}

void keep(Store& store, const std::string& path, const WhatIfAnswer& answer,
          CommandContext& context) {
  const std::vector<Run> runs = what_if_runs(answer, context.command_line);
  if (!runs.empty()) store.add_answer(runs, to_json(answer).dump());
  context.err << counted(std::ssize(runs), "run") << " stored in " << path
              << " (roofcast runs --store " << path << ")\n";
}

/// One figure per metric that any variant has.
void draw(const std::string& path, const WhatIfAnswer& answer) {
  const std::vector<Figure> figures = what_if_figures(answer);
  if (figures.empty()) throw Error(path + ": nothing to draw: no variant has figures");
  write_whole(path, stacked_svg("What if: " + answer.variants.front().labels.headline, figures));
}

}  // namespace

int run_whatif(CommandContext& context) {
  WhatIfCommandOptions options;
  const auto common = parse(context, whatif_usage(options));
  if (!common) return kExitDone;
  take_from_command(options.asked.load.served, options.from_command, context.err);
  const WhatIfQuestion question = question_of(options.asked);
  const WhatIfTask task = what_if_task(question);
  // Opened before the work: an unwritable file should not cost a simulation.
  if (!options.plot_path.empty()) check_plot_path(options, question.baseline);
  std::optional<Store> store;
  if (can_store(options.store, context.err)) {
    store.emplace(options.store.path, Store::Mode::write);
  }
  const auto answer = run_with_progress(task, context.err);
  if (!answer) {
    context.err << "interrupted; nothing was stored\n";
    return kExitFailed;
  }
  if (store) keep(*store, options.store.path, *answer, context);
  if (!options.plot_path.empty()) {
    draw(options.plot_path, *answer);
  }
  print(what_if_document(*answer), common->output, context);
  return code_of(is_yes(*answer));
}

}  // namespace roofcast
