// roofcast staircase: what the KV cache saves, counted; with a model and a GPU also timed.
#include "cli/options/flag_options.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/question_flags.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {

int run_staircase(CommandContext& context) {
  DeploymentOptions deployment;
  StaircaseQuestion question;
  Usage usage{
      .synopsis = "roofcast staircase [--prompt P] [--generate T] [--model M --gpu G]",
      .example = "roofcast staircase --prompt 500 --generate 200 --model llama-3.1-8b --gpu h100",
      .options = option_group("Options"),
      .unlisted = scheduler_options(deployment),
      .positional = {}};
  add_flags(usage.options, staircase_flags(), question);
  usage.options.add(machine_options(deployment)).add(engine_options(deployment));
  usage.unlisted.add(more_machine_options(deployment));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;

  const StaircaseAnswer answer = staircase(staircase_question(question, deployment));
  print(staircase_document(answer), common->output, context);
  return code_of(is_yes(answer));
}

}  // namespace roofcast
