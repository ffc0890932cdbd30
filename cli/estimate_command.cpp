// roofcast estimate: the cost of prefill and of a decode step, and the reasons for it; of one
// batch, or of several beside each other.
#include <string>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/pages/estimate_report.hpp"
#include "reports/pages/html_page.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {
namespace {

struct EstimateOptions {
  BatchesQuestion question{};
  bool operators = false;
  std::string html{};
};

int answer_one(const EstimateQuestion& question, const EstimateOptions& options,
               OutputFormat format, const CommandContext& context) {
  if (!options.html.empty()) {
    throw UsageError("--html: needs several batches or prompt lengths (--batch 1-256*2)");
  }
  const EstimateAnswer answer = estimate(question);
  print(estimate_document(answer, options.operators), format, context);
  return code_of(is_yes(answer));
}

int answer_several(const EstimateOptions& options, OutputFormat format, CommandContext& context) {
  if (options.operators) throw UsageError("--ops: needs a single batch and prompt length");
  if (!options.html.empty()) check_writable(options.html);
  const BatchesAnswer answer = estimate_batches(options.question);
  if (!options.html.empty()) {
    write_whole(options.html, html_page(estimate_report(answer)));
    context.err << "written to " << options.html << "\n";
  }
  print(batches_document(answer), format, context);
  return code_of(is_yes(answer));
}

}  // namespace

int run_estimate(CommandContext& context) {
  EstimateOptions asked;
  DeploymentOptions& options = asked.question.deployment;
  std::string line;
  Usage usage{
      .synopsis = "roofcast estimate --model M|--from-cmd LINE --gpu G [options]",
      .example = "roofcast estimate --model llama-3.1-8b --gpu h100 --batch 32 --isl 1k --osl 256",
      .options = option_group("Options"),
      .unlisted = from_command_option(line),
      .positional = {}};
  usage.unlisted.add(more_machine_options(options)).add(scheduler_options(options));
  auto features = option_group("Features");
  add_flags(features, estimate_feature_flags(), options.overrides);
  usage.unlisted.add(features);
  usage.unlisted.add_options()("html", po::value(&asked.html)->value_name("FILE"),
                               "page with figures, of several batches or prompts");
  add_flags(usage.options, estimate_flags(), asked.question);
  usage.options.add_options()("ops", po::bool_switch(&asked.operators),
                              "list every operator of both steps");
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  const EngineOverrides given = options.overrides;  // those of a server's command line are its own
  take_from_command(options, line, context.err);
  leave_out_drafts(options, context.err);
  refuse_idle_flags(given, asked.question);
  note_version(options, context.err);

  if (const auto one = single_estimate(asked.question)) {
    return answer_one(*one, asked, common->output, context);
  }
  return answer_several(asked, common->output, context);
}

}  // namespace roofcast
