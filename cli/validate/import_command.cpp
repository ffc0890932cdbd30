// roofcast runs import FILE|FOLDER...: imports results of other tools into the store.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/error.hpp"
#include "base/wording.hpp"
#include "cli/command.hpp"
#include "cli/default_store.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/store.hpp"
#include "roofcast/accuracy_flags.hpp"
#include "roofcast/import.hpp"

namespace roofcast {
namespace {

struct ImportCommand {
  ImportQuestion question;
  StoreOptions store;
};

Usage import_usage(ImportCommand& target) {
  Usage usage{.synopsis = "roofcast runs import FILE|FOLDER... [options]",
              .example = "roofcast runs import results/ --meta gpu=h100 tp=2 --store roofcast.db",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()(
      "path", po::value(&target.question.paths)->value_name("PATH"),
      "results of vLLM, SGLang, aiperf, guidellm and others, recognised by content");
  add_flags(usage.options, result_flags(), target.question.options);
  usage.options.add_options()("since",
                              po::value(&target.question.options.since)->value_name("FILE"),
                              "an earlier Prometheus scrape of the same server, to be subtracted");
  add_keep_requests(usage.options, target.store,
                    "store one row per request, if the result has them");
  add_store_options(usage.options, target.store, {.off = "do not store the runs"});
  usage.positional.add("path", -1);
  return usage;
}

void check_format(const std::string& format) {
  const auto formats = measured_formats();
  if (!format.empty() && std::find(formats.begin(), formats.end(), format) == formats.end()) {
    throw UsageError(
        fmt::format("--format: '{}', expected one of {}", format, fmt::join(formats, ", ")));
  }
}

void keep(ImportAnswer& answer, const ImportCommand& options, CommandContext& context) {
  Store store(options.store.path, Store::Mode::write);
  for (ImportedRun& imported : answer.runs) {
    imported.id =
        store.add(measured_row(imported.run, context.command_line, options.store.keep_requests));
  }
  answer.inputs.store = options.store.path;
  context.err << fmt::format("{} stored in {} (roofcast runs --store {})\n",
                             counted(std::ssize(answer.runs), "run"), options.store.path,
                             options.store.path);
}

}  // namespace

int run_import(CommandContext& context) {
  ImportCommand options;
  const auto common = parse(context, import_usage(options));
  if (!common) return kExitDone;
  if (options.question.paths.empty()) throw UsageError("runs import needs a file or a folder");
  check(options.store);
  check_format(options.question.options.format);
  ImportAnswer answer = import_runs(options.question);
  for (const std::string& problem : answer.problems)
    context.err << "roofcast: " << with_flags(problem) << "\n";
  for (const std::string& note : answer.notes) context.err << note << "\n";
  if (answer.runs.empty()) return kExitFailed;
  if (options.store.on) keep(answer, options, context);
  print(import_document(answer), common->output, context);
  return answer.problems.empty() ? kExitDone : kExitFailed;
}

}  // namespace roofcast
