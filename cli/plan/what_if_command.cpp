// roofcast whatif: a scenario with one or more knobs varied, and the effect of each change.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/wording.hpp"
#include "cli/options/simulate_command_options.hpp"
#include "cli/plan/what_if_document.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/stacked_svg.hpp"
#include "reports/pages/what_if_figures.hpp"
#include "roofcast/store_rows.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kMaxSeeds = 1000;
constexpr std::int64_t kMaxThreads = 1024;

struct WhatIfOptions {
  SimulateOptions scenario;
  std::vector<std::string> vary;
  std::vector<std::string> metrics;
  std::optional<std::int64_t> seeds;
  std::optional<std::int64_t> threads;
  bool one_at_a_time = false;
  bool explain = false;
  std::string plot_path;
};

auto count_up_to(std::int64_t max) {
  return [max](const std::string& text, const std::string& flag) {
    return parse_count_by({.what = "count above zero", .examples = "1, 5", .min = 1, .max = max},
                          text, flag);
  };
}

Usage whatif_usage(WhatIfOptions& target) {
  SimulateOptions& scenario = target.scenario;
  Usage usage{.synopsis = "roofcast whatif [SCENARIO.json] --vary KEY=VALUES ... [options]",
              .example =
                  "roofcast whatif --model llama-3.1-8b --gpu h100 --request-rate 10 "
                  "--vary gpu=l40s,h200",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("scenario", po::value(&scenario.scenario_path)->value_name("FILE"),
                              "the baseline: a scenario file; flags of simulate override it")(
      "vary", po::value(&target.vary)->multitoken()->value_name("KEY=VALUES ..."),
      "flag of simulate or key of a scenario file, and its values: gpu=h100,l40s, "
      "request_rate=2-10+2, max_num_seqs=64-512*2; relative to the baseline: replicas=-1, "
      "request_rate=*2, input_len=*1.5, num_prompts=+20%")(
      "one-at-a-time", po::bool_switch(&target.one_at_a_time),
      "vary one key at a time, instead of all combinations")(
      "seeds", converted(target.seeds, "--seeds", count_up_to(kMaxSeeds))->value_name("N"),
      "repeat with N seeds, the same for every variant (default 5; 1 for a trace)")(
      "metric", po::value(&target.metrics)->multitoken()->value_name("NAME[:STATISTIC] ..."),
      "metrics to compare: ttft:p95, tpot:mean, output_tokens, goodput, cost_usd_per_h ... "
      "(default ttft, tpot and e2e at p95, output tokens per second, and the SLO's metrics)")(
      "explain", po::bool_switch(&target.explain),
      "which limit binds each variant, and the gain from 10 % more of it")(
      "plot", po::value(&target.plot_path)->value_name("FILE.svg"),
      "write a figure with one panel per metric")(
      "threads", converted(target.threads, "--threads", count_up_to(kMaxThreads))->value_name("N"),
      "parallel simulations (default: all cores); the answer does not depend on it")(
      "store", po::value(&scenario.store_path)->value_name("FILE"),
      "the SQLite store, one run per variant (default roofcast.db)")(
      "no-store", po::bool_switch()->notifier([&scenario](bool off) { scenario.store = !off; }),
      "do not store the runs");
  add_scenario_options(scenario, usage.unlisted, usage.unlisted);
  usage.more = "Baseline: flags of roofcast simulate";
  usage.positional.add("scenario", 1);
  return usage;
}

std::vector<Settings> settings_of(const WhatIfOptions& options) {
  if (options.vary.empty()) {
    throw UsageError(fmt::format("whatif: --vary is missing, expected {}", kVaryForms));
  }
  std::vector<Knob> knobs;
  for (const std::string& text : options.vary) knobs.push_back(parse_knob(text, "--vary"));
  if (options.one_at_a_time && knobs.size() == 1) {
    throw UsageError("--one-at-a-time: needs at least two knobs");
  }
  return options.one_at_a_time ? one_at_a_time(knobs) : grid_of(knobs);
}

std::vector<MetricName> metrics_of(const WhatIfOptions& options) {
  std::vector<MetricName> metrics;
  for (const std::string& text : options.metrics) {
    const MetricName metric = parse_metric_name(text);
    if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) {
      throw UsageError(fmt::format("--metric: {} is given twice", text));
    }
    metrics.push_back(metric);
  }
  return metrics;
}

void check_plot_path(const WhatIfOptions& options, const Scenario& baseline) {
  std::vector<std::string> used = input_files(baseline);
  used.push_back(options.scenario.scenario_path);
  if (options.scenario.store) used.push_back(options.scenario.store_path);
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
  for (const Run& run : runs) store.add(run);
  context.err << counted(std::ssize(runs), "run") << " stored in " << path
              << " (roofcast runs --store " << path << ")\n";
}

/// One figure per metric that any variant has.
void draw(const std::string& path, const WhatIfAnswer& answer) {
  const std::vector<Figure> figures = what_if_figures(answer);
  if (figures.empty()) throw Error(path + ": nothing to draw: no variant has figures");
  write_whole(path, stacked_svg("What if: " + answer.variants.front().labels.headline, figures));
}

bool any_answered(const WhatIfAnswer& answer) {
  return std::any_of(answer.variants.begin(), answer.variants.end(),
                     [](const VariantAnswer& row) { return row.reason.empty(); });
}

}  // namespace

int run_whatif(CommandContext& context) {
  WhatIfOptions options;
  const auto common = parse(context, whatif_usage(options));
  if (!common) return kExitDone;
  const WhatIfQuestion question{
      .baseline = simulate_scenario(options.scenario),
      .settings = settings_of(options),
      .metrics = metrics_of(options),
      .seeds = options.seeds,
      .threads = static_cast<int>(options.threads.value_or(available_threads())),
      .explain = options.explain};
  const WhatIfTask task = what_if_task(question);
  // Opened before the work: an unwritable file should not cost a simulation.
  if (!options.plot_path.empty()) check_plot_path(options, question.baseline);
  std::optional<Store> store;
  if (options.scenario.store) store.emplace(options.scenario.store_path, Store::Mode::write);
  const auto answer = run_with_progress(task, context.err);
  if (!answer) {
    context.err << "interrupted; nothing was stored\n";
    return kExitFailed;
  }
  if (store) keep(*store, options.scenario.store_path, *answer, context);
  if (!options.plot_path.empty()) {
    draw(options.plot_path, *answer);
  }
  print(what_if_document(*answer), common->output, context.out);
  return any_answered(*answer) ? kExitDone : kExitNo;
}

}  // namespace roofcast
