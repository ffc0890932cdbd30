// roofcast report: a run, a plan, all validations or a hardware profile as a page, with pictures.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/quantity.hpp"
#include "cli/default_store.hpp"
#include "cli/options/arguments.hpp"
#include "cli/progress.hpp"
#include "planner/evaluate_all.hpp"
#include "reports/figures/chart_option.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/drawn_series.hpp"
#include "reports/figures/png.hpp"
#include "reports/pages/html_page.hpp"
#include "reports/pages/report.hpp"
#include "reports/pages/report_document.hpp"
#include "reports/pages/reports.hpp"
#include "roofcast/stored_runs.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

/// Paths; empty: not requested. "-" for md, csv and json is standard output.
struct ReportFiles {
  std::string html{}, md{}, csv{}, json{};
  std::string svg{}, png{};  // folders, one file per figure

  bool any() const;
};

namespace fs = std::filesystem;

// PNG pixels per CSS pixel.
constexpr double kScale = 2;

struct Flagged {
  const char* flag;
  const std::string& path;
};

std::vector<Flagged> single_files(const ReportFiles& files) {
  return {{"--html", files.html}, {"--md", files.md}, {"--csv", files.csv}, {"--json", files.json}};
}

bool is_stdout(const std::string& path) { return path == "-"; }

void make_folder(const std::string& path, const char* flag) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (!fs::is_directory(path, failure)) {
    throw Error(std::string(flag) + ": " + path + " is not a folder and cannot be created");
  }
  check_writable((fs::path(path) / ".roofcast").string());
}

void write_form(const Report& report, const std::string& path, OutputFormat format,
                std::ostream& out) {
  if (path.empty()) return;
  std::ostringstream text;
  write(report, format, text);
  if (is_stdout(path)) {
    out << text.str();
  } else {
    write_whole(path, text.str());
  }
}

void write_pictures(const Report& report, const ReportFiles& files) {
  if (files.svg.empty() && files.png.empty()) return;
  ChartRenderer renderer;
  for (const ReportSection& section : report.sections) {
    for (const Figure& figure : section.figures) {
      if (!can_be_drawn(figure)) continue;
      const std::string svg =
          renderer.svg(chart_option(figure, ChartTitle::inside), chart_size(figure), "c");
      if (!files.svg.empty()) {
        write_whole((fs::path(files.svg) / (figure_id(figure) + ".svg")).string(), svg);
      }
      if (!files.png.empty()) {
        write_whole((fs::path(files.png) / (figure_id(figure) + ".png")).string(),
                    png_of(svg, kScale));
      }
    }
  }
}

bool ReportFiles::any() const {
  return !html.empty() || !md.empty() || !csv.empty() || !json.empty() || !svg.empty() ||
         !png.empty();
}

/// Call before the work starts: throws UsageError if a file would overwrite one that the report
/// reads or another output, Error if one cannot be written or this build cannot draw.
void check_files(const ReportFiles& files, const std::vector<std::string>& read) {
  std::vector<std::string> taken = read;
  bool printed = false;
  for (const Flagged& file : single_files(files)) {
    if (file.path.empty()) continue;
    if (is_stdout(file.path)) {
      if (std::exchange(printed, true)) {
        throw UsageError(std::string(file.flag) + ": standard output takes only one format");
      }
      if (std::string(file.flag) == "--html") throw UsageError("--html: expected a file, not '-'");
      continue;
    }
    check_not_among(file.path, file.flag, taken);
    check_writable(file.path);
    taken.push_back(file.path);
  }
  if ((!files.svg.empty() || !files.png.empty()) && !has_charts()) {
    throw Error("this build cannot draw charts (ROOFCAST_CHARTS=OFF)");
  }
  if (!files.png.empty() && !has_png()) {
    throw Error("PNG needs librsvg (Debian: librsvg2-2), which was not found (--svg works)");
  }
  if (!files.svg.empty()) make_folder(files.svg, "--svg");
  if (!files.png.empty()) make_folder(files.png, "--png");
}

/// Writes each file completely or not at all.
void write_report(const Report& report, const ReportFiles& files, std::ostream& out) {
  if (!files.html.empty()) write_whole(files.html, html_page(report));
  write_form(report, files.md, OutputFormat::md, out);
  write_form(report, files.csv, OutputFormat::csv, out);
  write_form(report, files.json, OutputFormat::json, out);
  write_pictures(report, files);
}

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
  if (!store_given) options.store_path = kDefaultStore;
  constexpr std::string_view kProfile = "profile:";
  if (options.what == "ledger") {
    open_store(options.store_path);
    check_files(options.files, {options.store_path});
    return ledger_report(options.store_path);
  }
  if (const auto id = run_id(options.what)) {
    const Store store = open_store(options.store_path);
    const Run run = stored_run(store, options.store_path, *id);
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
    const std::size_t width = context.terminal.width;
    write(report, common->output, context.out,
          [width](Document part) { return fitted(std::move(part), width); });
    return kExitDone;
  }
  write_report(report, options.files, context.out);
  for (const std::string* path : {&options.files.html, &options.files.svg, &options.files.png}) {
    if (!path->empty()) context.err << "written to " << *path << "\n";
  }
  return kExitDone;
}

}  // namespace roofcast
