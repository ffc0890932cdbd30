// roofcast validate: compares predictions with measured runs, metric by metric.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/quantity.hpp"
#include "base/wording.hpp"
#include "cli/default_store.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "cli/validate/follow_command.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/stacked_svg.hpp"
#include "reports/pages/figures/validation_figures.hpp"
#include "roofcast/accuracy_flags.hpp"
#include "roofcast/import.hpp"
#include "roofcast/stored_runs.hpp"
#include "roofcast/validate.hpp"

namespace roofcast {
namespace {

constexpr Seconds kDefaultWindow{60};

struct ValidateOptions {
  ValidationQuestion question;
  StoreOptions store;
  bool ledger = false;
  bool decisions = false;
  bool versions = false;
  std::string plot_path;
  std::string follow;
  std::optional<Seconds> every{};
};

Seconds parse_window(const std::string& text, const std::string& name) {
  const Seconds window = parse_time(text, name);
  if (window.value > 0) return window;
  throw UsageError(fmt::format("{}: '{}', expected a time above 0", name, text));
}

/// Flags for results: --format, --meta, and what they ran on.
void add_result_options(Usage& usage, ValidationFiles& target) {
  po::options_description results = option_group("Benchmark results (not manifests)");
  add_flags(results, result_flags(), target.import);
  usage.options.add(results).add(machine_options(target.given.deployment));
  usage.unlisted.add(more_machine_options(target.given.deployment))
      .add(engine_options(target.given.deployment))
      .add(scheduler_options(target.given.deployment))
      .add(synthetic_options(target.given.workload))
      .add(feature_options(target.given.deployment.overrides));
  usage.unlisted.add(cluster_options(target.given.cluster));
  usage.unlisted.add_options()(
      "max-concurrency",
      converted(target.given.workload.max_concurrency, "--max-concurrency", parse_positive)
          ->value_name("N"),
      "maximum requests in flight");
  usage.more = "More: the engine, its knobs, load settings absent from a result";
}

/// The flag for results in `arguments`, in the user's spelling; empty: none.
std::string result_flag_in(const std::vector<std::string>& arguments) {
  ValidationFiles unused;
  Usage usage{.synopsis = "", .example = "", .options = {}, .unlisted = {}, .positional = {}};
  add_result_options(usage, unused);
  usage.options.add(usage.unlisted);
  for (const std::string& argument : normalise(arguments, usage.options)) {
    if (!argument.starts_with('-')) continue;
    const std::string flag = argument.substr(0, argument.find('='));
    const std::string name = flag.starts_with("--") ? flag.substr(2) : flag;  // short ones: "-q"
    if (usage.options.find_nothrow(name, false) != nullptr) return flag;
  }
  return {};
}

Usage validate_usage(ValidateOptions& target) {
  Usage usage{.synopsis = "roofcast validate FILE|FOLDER|RUN ... [options]",
              .example = "roofcast validate my-runs.json --ledger --threshold 10% ttft_s=15%",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("file", po::value(&target.question.files.files)->value_name("FILE"),
                              "manifests, results, folders, numbers of imported runs")(
      "ledger", po::bool_switch(&target.ledger), "summarise by engine, GPU, model and group")(
      "decisions", po::bool_switch(&target.decisions), "throughput lost by choosing by prediction")(
      "versions", po::bool_switch(&target.versions),
      "how far versions of an engine differ (labels `date`)");
  add_flags(usage.options, validation_flags(), target.question);
  usage.options.add_options()("plot", po::value(&target.plot_path)->value_name("FILE.svg"),
                              "draw predicted against measured values, a panel per metric")(
      "follow", po::value(&target.follow)->value_name("FILE"),
      "a server's metrics as they come (Prometheus, query_range)");
  add_store_options(usage.options, target.store,
                    {.path = "the SQLite store for both sides (default roofcast.db)",
                     .off = "do not store the runs"});
  usage.unlisted.add_options()("every",
                               converted(target.every, "--every", parse_window)->value_name("TIME"),
                               "with --follow: minimum length of a window (default 1min)");
  add_result_options(usage, target.question.files);
  usage.positional.add("file", -1);
  return usage;
}

/// The flags that go with --follow besides --every, --threshold, --output and the deployment's.
void refuse_beside_follow(const ValidateOptions& options) {
  const ValidationQuestion& question = options.question;
  const WorkloadOptions& load = question.files.given.workload;
  if (!question.files.files.empty() || options.ledger || options.decisions || options.versions ||
      !options.plot_path.empty() || !question.by.empty() || !question.prices.empty() ||
      is_synthetic(load) || load.trace || options.store.path != kDefaultStore ||
      !question.files.import.format.empty()) {
    throw UsageError(
        "--follow: takes the deployment, --every, --threshold and --seed, and no other file or "
        "flag; the load is what the metrics count, and nothing is stored");
  }
}

int run_validate_follow(const ValidateOptions& options, OutputFormat output,
                        CommandContext& context) {
  refuse_beside_follow(options);
  const ScenarioOptions& given = options.question.files.given;
  Scenario scenario = with_options({}, given);
  if (scenario.deployment.gpu.empty())
    throw UsageError("--follow: needs --gpu, which metrics do not name");
  return run_follow({.file = options.follow,
                     .scenario = std::move(scenario),
                     .every = options.every.value_or(kDefaultWindow),
                     .limits = options.question.limits},
                    output, context);
}

/// Takes numbers of imported runs, "3", out of the files and reads these runs from the store.
void take_stored_runs(ValidationFiles& files, const std::string& store_path) {
  std::vector<std::string> kept;
  std::optional<Store> store;
  for (std::string& file : files.files) {
    const auto id = to_number<std::int64_t>(file);
    std::error_code failure;
    if (!id || *id < 1 || std::filesystem::exists(file, failure)) {
      kept.push_back(std::move(file));
      continue;
    }
    if (!std::filesystem::exists(store_path, failure)) {
      throw Error(store_path + ": no such store (roofcast runs import creates one)");
    }
    if (!store) store.emplace(store_path, Store::Mode::read);
    files.runs.push_back(stored_measured_run(stored_run(*store, store_path, *id),
                                             fmt::format("{}, run {}", store_path, *id)));
  }
  files.files = std::move(kept);
}

void check_plot_path(const ValidateOptions& options) {
  std::vector<std::string> used = options.question.files.files;
  if (options.store.on) used.push_back(options.store.path);
  check_not_among(options.plot_path, "--plot", used);
  if (!has_charts()) throw Error("--plot: this build cannot draw charts (ROOFCAST_CHARTS=OFF)");
  check_writable(options.plot_path);
}

/// One figure per metric.
void draw(const std::string& path, const ValidationAnswer& answer) {
  std::vector<ComparedCase> cases;
  for (const CaseAnswer& one : answer.cases) cases.push_back(one.compared);
  const std::vector<Figure> figures = predicted_over_measured(cases);
  if (figures.empty()) throw Error(path + ": nothing to draw: no case has a figure");
  const std::string& name = answer.inputs.name;
  write_whole(path, stacked_svg(name.empty() ? "Predicted against measured" : name, figures));
}

/// Nullopt if the user interrupted it.
std::optional<ValidationOutcome> validate_with_progress(const ValidationQuestion& question,
                                                        ValidationManifest manifest,
                                                        std::ostream& err) {
  ProgressBar bar(err, "cases");
  return validate(question, std::move(manifest),
                  [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
}

}  // namespace

int run_validate(CommandContext& context) {
  ValidateOptions options;
  ValidationQuestion& question = options.question;
  const auto common = parse(context, validate_usage(options));
  if (!common) return kExitDone;
  if (!options.follow.empty()) return run_validate_follow(options, common->output, context);
  if (options.every) throw UsageError("--every: needs --follow");
  question.files.override_name = result_flag_in(context.arguments);
  if (question.files.files.empty()) {
    throw UsageError(
        "validate: expected a manifest, a benchmark result or the number of an imported run");
  }
  take_stored_runs(question.files, options.store.path);
  ValidationManifest manifest = read_inputs(question.files);
  for (const std::string& line : manifest.remarks) context.err << with_flags(line) << "\n";
  // Opened before the work: an unwritable file should not cost a validation.
  if (!options.plot_path.empty()) check_plot_path(options);
  const bool keeps = can_store(options.store, context.err);
  std::optional<Store> store;
  if (keeps && options.store.path != kDefaultStore) {
    store.emplace(options.store.path, Store::Mode::write);
  }
  const auto outcome = validate_with_progress(question, std::move(manifest), context.err);
  if (!outcome) {
    context.err << "interrupted; nothing was stored\n";
    return kExitFailed;
  }
  // A file of the default name is not made for a question that could not be answered.
  if (keeps && !store) store.emplace(options.store.path, Store::Mode::write);
  if (store) {
    const auto runs = validation_runs(*outcome, context.command_line);
    store->add_validations(runs);
    if (!runs.empty()) {
      context.err << counted(std::ssize(runs), "case") << " stored in " << options.store.path
                  << ", both sides (roofcast runs --store " << options.store.path << ")\n";
    }
  }
  const ValidationAnswer& answer = outcome->answer;
  if (!options.plot_path.empty()) draw(options.plot_path, answer);
  const ValidationParts parts{.ledger = options.ledger || !question.by.empty(),
                              .decisions = options.decisions,
                              .versions = options.versions};
  print(validation_document(answer, parts), common->output, context);
  if (is_yes(answer)) return kExitDone;
  return is_judged(answer) ? kExitNo : kExitFailed;
}

}  // namespace roofcast
