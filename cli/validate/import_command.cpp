// roofcast runs import FILE|FOLDER...: imports results of other tools into the store.
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <ostream>
#include <utility>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/options/arguments.hpp"
#include "cli/validate/import_document.hpp"
#include "reports/importers/importer.hpp"
#include "reports/store.hpp"

namespace roofcast {
namespace {

struct ImportCommand {
  std::vector<std::string> paths;
  std::vector<std::string> meta;
  ImportOptions import;
  std::string store_path = "roofcast.db";
  bool store = true;
  bool keep_requests = false;
};

Usage import_usage(ImportCommand& target) {
  Usage usage{.synopsis = "roofcast runs import FILE|FOLDER... [options]",
              .example = "roofcast runs import results/ --meta gpu=h100 tp=2 --store roofcast.db",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()(
      "path", po::value(&target.paths)->value_name("PATH"),
      "results of vLLM, SGLang, aiperf, guidellm and others, told by what they hold")(
      "format", po::value(&target.import.format)->value_name("NAME"),
      fmt::format("one of {}", fmt::join(measured_formats(), ", ")).c_str())(
      "meta", po::value(&target.meta)->value_name("KEY=VALUE...")->multitoken(),
      "what the files do not say, and wins over what they say: gpu=h100 tp=2 engine=vllm "
      "vllm_version=0.19.0 dtype=fp8")(
      "since", po::value(&target.import.since)->value_name("FILE"),
      "an earlier Prometheus scrape of the same server: what came after it is imported")(
      "keep-requests", po::bool_switch(&target.keep_requests),
      "store a row per request, of results that have them")(
      "store", po::value(&target.store_path)->value_name("FILE"),
      "the SQLite store (default roofcast.db)")(
      "no-store", po::bool_switch()->notifier([&target](bool off) { target.store = !off; }),
      "keep nothing");
  usage.positional.add("path", -1);
  return usage;
}

void read_meta(ImportCommand& options) {
  for (const std::string& pair : options.meta) {
    const std::size_t cut = pair.find('=');
    if (cut == std::string::npos || cut == 0) {
      throw UsageError(fmt::format("--meta: '{}', expected KEY=VALUE as in gpu=h100", pair));
    }
    options.import.meta[pair.substr(0, cut)] = pair.substr(cut + 1);
  }
  const auto formats = measured_formats();
  const std::string& format = options.import.format;
  if (!format.empty() && std::find(formats.begin(), formats.end(), format) == formats.end()) {
    throw UsageError(
        fmt::format("--format: '{}', expected one of {}", format, fmt::join(formats, ", ")));
  }
}

/// Reads one file or folder; skips broken files in a folder. Returns false if a file was broken.
bool read_path(const std::string& path, const ImportCommand& options,
               std::vector<ImportedRun>& runs, std::ostream& err) {
  FolderReading reading = read_folder(path, options.import);
  for (const BrokenFile& broken : reading.broken) err << "roofcast: " << broken.problem << "\n";
  const bool whole = reading.broken.empty();
  const bool any = !reading.runs.empty();
  for (MeasuredRun& run : reading.runs) runs.push_back({std::move(run)});
  if (const std::string note = passed_over_note(reading); !note.empty()) err << note << "\n";
  if (!whole || any) return whole;
  err << fmt::format("roofcast: {}: holds no result of a known format (--format: {})\n", path,
                     fmt::join(measured_formats(), ", "));
  return false;
}

}  // namespace

int run_import(CommandContext& context) {
  ImportCommand options;
  const auto common = parse(context, import_usage(options));
  if (!common) return kExitDone;
  if (options.paths.empty()) throw UsageError("runs import takes a file or a folder");
  read_meta(options);
  std::vector<ImportedRun> runs;
  bool whole = true;
  for (const std::string& path : options.paths) {
    whole = read_path(path, options, runs, context.err) && whole;
  }
  if (runs.empty()) return kExitFailed;
  Json inputs = {{"paths", options.paths}, {"meta", options.import.meta}};
  if (options.store) {
    Store store(options.store_path, Store::Mode::write);
    for (ImportedRun& imported : runs) {
      imported.id =
          store.add(measured_row(imported.run, context.command_line, options.keep_requests));
    }
    inputs["store"] = options.store_path;
    context.err << fmt::format("{} kept in {} (roofcast runs --store {})\n",
                               runs.size() == 1 ? "1 run" : fmt::format("{} runs", runs.size()),
                               options.store_path, options.store_path);
  }
  write(import_document(runs, std::move(inputs)), common->output, context.out);
  return whole ? kExitDone : kExitFailed;
}

}  // namespace roofcast
