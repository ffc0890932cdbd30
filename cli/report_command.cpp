// roofcast report: a run, a plan, all validations or a hardware profile as a page, with pictures.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "cli/options/arguments.hpp"
#include "cli/progress.hpp"
#include "cli/write_report.hpp"
#include "planner/evaluate_all.hpp"
#include "reports/pages/report_document.hpp"
#include "reports/pages/reports.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

struct ReportOptions {
  std::string what{};
  std::string store_path{};  // empty: not given
  ReportFiles files{};
};

Usage report_usage(ReportOptions& target) {
  Usage usage{.synopsis = "roofcast report RUN|ledger|GPU [--html FILE] [options]",
              .example = "roofcast report 1 --store roofcast.db --html report.html",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  ReportFiles& files = target.files;
  usage.options.add_options()("what", po::value(&target.what)->value_name("WHAT"),
                              "number of a run in the store; 'ledger': all its validations; or a "
                              "GPU name or profile file, also as profile:NAME")(
      "store", po::value(&target.store_path)->value_name("FILE"),
      "the SQLite store (default roofcast.db)")(
      "html", po::value(&files.html)->value_name("FILE"),
      "self-contained HTML page: the answer, charts and their numbers")(
      "md", po::value(&files.md)->value_name("FILE"), "Markdown; '-' is standard output")(
      "csv", po::value(&files.csv)->value_name("FILE"),
      "all tables as CSV; '-' is standard output")(
      "json", po::value(&files.json)->value_name("FILE"),
      "all figures with all points as JSON; '-' is standard output")(
      "svg", po::value(&files.svg)->value_name("FOLDER"), "every figure as an SVG file")(
      "png", po::value(&files.png)->value_name("FOLDER"), "every figure as a PNG file");
  usage.positional.add("what", 1);
  return usage;
}

std::optional<std::int64_t> run_id(const std::string& text) {
  const auto id = to_number<std::int64_t>(text);
  return id && *id > 0 ? id : std::nullopt;
}

Store open_store(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw Error(path + ": no such store (roofcast simulate creates one; --store selects another)");
  }
  return {path, Store::Mode::read};
}

Run find_run(const Store& store, const std::string& path, std::int64_t id) {
  auto run = store.run(id);
  if (!run) throw Error(fmt::format("{}: no run {} (roofcast runs lists them)", path, id));
  return *std::move(run);
}

/// Files that the report reads: the store and the inputs of the run.
std::vector<std::string> files_read(const ReportOptions& options, const Run& run) {
  std::vector<std::string> files{options.store_path};
  try {
    for (std::string& file : input_files(parse_scenario(run.row.scenario_json, "scenario"))) {
      files.push_back(std::move(file));
    }
  } catch (const Error&) {  // inputs of another kind of run: it reads none
  }
  return files;
}

/// Whether -o is given in any spelling: with output files it would have no effect.
bool gives_output(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument.starts_with("-o") || argument.starts_with("--output");
  });
}

Report report_of(ReportOptions options, std::ostream& err) {
  const bool store_given = !options.store_path.empty();
  if (!store_given) options.store_path = "roofcast.db";
  constexpr std::string_view kProfile = "profile:";
  if (options.what == "ledger") {
    open_store(options.store_path);
    check_files(options.files, {options.store_path});
    return ledger_report(options.store_path);
  }
  if (const auto id = run_id(options.what)) {
    const Store store = open_store(options.store_path);
    const Run run = find_run(store, options.store_path, *id);
    check_files(options.files, files_read(options, run));
    ProgressBar bar(err, "steps of the work");
    return run_report(
        options.store_path, store, run,
        {.threads = available_threads(),
         .progress = [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); }});
  }
  if (store_given) {
    throw UsageError("--store: a hardware profile is not in a store, expected a run or 'ledger'");
  }
  const bool named = options.what.starts_with(kProfile);
  const std::string gpu = named ? options.what.substr(kProfile.size()) : options.what;
  check_files(options.files, {gpu});
  return profile_report(gpu);
}

}  // namespace

int run_report_command(CommandContext& context) {
  ReportOptions options;
  const auto common = parse(context, report_usage(options));
  if (!common) return kExitDone;
  if (options.what.empty()) {
    throw UsageError("report: missing argument, expected the number of a run, 'ledger' or a GPU");
  }
  if (options.files.any() && gives_output(context.arguments)) {
    throw UsageError(
        "--output: applies to standard output, expected --md -, --csv - or --json - instead");
  }
  const Report report = report_of(options, context.err);
  if (!options.files.any()) {
    write(report, common->output, context.out);
    return kExitDone;
  }
  write_report(report, options.files, context.out);
  for (const std::string* path : {&options.files.html, &options.files.svg, &options.files.png}) {
    if (!path->empty()) context.err << "written to " << *path << "\n";
  }
  return kExitDone;
}

}  // namespace roofcast
