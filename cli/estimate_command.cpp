// roofcast estimate: the cost of prefill and of a decode step, and the reasons for it.
#include "cli/estimate_document.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {
int run_estimate(CommandContext& context) {
  EstimateQuestion question;
  DeploymentOptions& options = question.deployment;
  bool operators = false;
  std::string line;
  Usage usage{
      .synopsis = "roofcast estimate --model M|--from-cmd LINE --gpu G [options]",
      .example = "roofcast estimate --model llama-3.1-8b --gpu h100 --batch 32 --isl 1k --osl 256",
      .options = option_group("Options"),
      .unlisted = from_command_option(line),
      .positional = {}};
  usage.unlisted.add(scheduler_options(options));
  add_flags(usage.options, estimate_flags(), question);
  usage.options.add_options()("ops", po::bool_switch(&operators), "every operator of both steps");
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  take_from_command(options, line, context.err);
  leave_out_drafts(options, context.err);

  write(estimate_document(estimate(question), operators), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
