// roofcast validate: predictions beside measured runs, metric by metric.
#include <optional>
#include <ostream>
#include <thread>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/wording.hpp"
#include "cli/options/arguments.hpp"
#include "cli/progress.hpp"
#include "cli/validate/validate_document.hpp"
#include "cli/validate/validate_inputs.hpp"
#include "cli/validate/validation_limits.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/stacked_svg.hpp"
#include "reports/pages/validation_figures.hpp"

namespace roofcast {
namespace {

struct ValidateOptions {
  ValidationInputs inputs;
  bool store = true;
  std::string store_path = "roofcast.db";
  bool ledger = false;
  std::string plot_path;
  std::vector<std::string> thresholds;
};

Usage validate_usage(ValidateOptions& target) {
  Usage usage{.synopsis = "roofcast validate FILE|FOLDER ... [options]",
              .example = "roofcast validate my-runs.json --ledger --threshold 10% ttft_s=15%",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("file", po::value(&target.inputs.files)->value_name("FILE"),
                              "manifests of measured runs (reports/validation.schema.json), "
                              "results of benchmarks, folders of those")(
      "ledger", po::bool_switch(&target.ledger),
      "sum up by engine, GPU, model and group instead of listing every case")(
      "plot", po::value(&target.plot_path)->value_name("FILE.svg"),
      "a figure of predicted against measured, a panel a metric")(
      "threshold",
      po::value(&target.thresholds)->multitoken()->value_name("[METRIC[:STATISTIC]=]SHARE"),
      "exit 3 where the mean absolute error of a metric is past it (10%, ttft_s=15%, "
      "ttft_s:p99=30%), 1 where a case or a named metric has no figure to judge")(
      "store", po::value(&target.store_path)->value_name("FILE"),
      "the SQLite store of both sides (default roofcast.db)")(
      "no-store", po::bool_switch()->notifier([&target](bool off) { target.store = !off; }),
      "keep nothing");
  add_result_options(usage, target.inputs);
  usage.positional.add("file", -1);
  return usage;
}

void check_plot_path(const ValidateOptions& options) {
  std::vector<std::string> used = options.inputs.files;
  if (options.store) used.push_back(options.store_path);
  check_not_among(options.plot_path, "--plot", used);
  if (!has_charts()) throw Error("--plot: this build draws no pictures (ROOFCAST_CHARTS=OFF)");
  check_writable(options.plot_path);
}

/// A figure a metric.
void draw(const std::string& path, const ValidationReport& report) {
  std::vector<ComparedCase> cases;
  for (const ValidatedCase& validated : report.cases) cases.push_back(validated.compared);
  const std::vector<Figure> figures = predicted_over_measured(cases);
  if (figures.empty()) throw Error(path + ": nothing to draw, no case has a figure");
  write_whole(
      path, stacked_svg(report.name.empty() ? "Predicted against measured" : report.name, figures));
}

/// Nothing when the user interrupted it.
std::optional<std::vector<ValidatedCase>> validate_with_progress(
    const std::vector<ValidationCase>& cases, std::ostream& err) {
  ProgressBar bar(err, "cases");
  return run_validation(
      cases, static_cast<int>(std::thread::hardware_concurrency()),
      [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
}

void sum_up(ValidationReport& report) {
  std::vector<ComparedCase> compared;
  for (const ValidatedCase& one : report.cases) compared.push_back(one.compared);
  report.ledger = ledger_of(compared);
  report.exceeded = exceeded_limits(report.ledger, report.limits);
  report.unjudged = unjudged_limits(report.ledger, report.limits);
}

int exit_code(const ValidationReport& report) {
  if (answered(report) == 0) return kExitFailed;
  if (!report.limits.empty() && !is_judged_whole(report)) return kExitFailed;
  return report.exceeded.empty() ? kExitDone : kExitNo;
}

}  // namespace

int run_validate(CommandContext& context) {
  ValidateOptions options;
  const auto common = parse(context, validate_usage(options));
  if (!common) return kExitDone;
  options.inputs.arguments = context.arguments;
  if (options.inputs.files.empty()) {
    throw UsageError("validate: expected a manifest or the result of a benchmark");
  }
  ValidationReport report{.files = options.inputs.files, .sum_up = options.ledger};
  for (const std::string& text : options.thresholds)
    report.limits.push_back(parse_error_limit(text));
  const ValidationManifest asked = read_inputs(options.inputs);
  report.name = asked.name;
  for (const std::string& line : asked.remarks) context.err << line << "\n";
  // Opened before the work: what cannot be written should not cost a validation.
  if (!options.plot_path.empty()) check_plot_path(options);
  std::optional<Store> store;
  if (options.store) store.emplace(options.store_path, Store::Mode::write);
  auto validated = validate_with_progress(asked.cases, context.err);
  if (!validated) {
    context.err << "interrupted; nothing was stored\n";
    return kExitFailed;
  }
  report.cases = *std::move(validated);
  sum_up(report);
  if (store) {
    const auto runs = validation_runs(report, asked.cases, context.command_line);
    store->add_validations(runs);
    context.err << counted(std::ssize(runs), "case") << " kept in " << options.store_path
                << ", both sides (roofcast runs --store " << options.store_path << ")\n";
  }
  if (!options.plot_path.empty()) {
    draw(options.plot_path, report);
  }
  write(validation_document(report), common->output, context.out);
  return asked.whole ? exit_code(report) : kExitFailed;
}

}  // namespace roofcast
