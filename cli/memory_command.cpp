// roofcast memory: what fits, term by term; whether a batch does, by one engine's rule or by all;
// --solve for the largest batch, context or smallest TP.
#include <string>

#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/memory.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {

int run_memory(CommandContext& context) {
  MemoryQuestion question;
  DeploymentOptions& options = question.deployment;
  std::string line;
  Usage usage{
      .synopsis = "roofcast memory --model M|--from-cmd LINE --gpu G [options]",
      .example = "roofcast memory --model llama-3.1-70b --gpu h200 --tp 2 --max-model-len 32k",
      .options = option_group("Options"),
      .unlisted = from_command_option(line),
      .positional = {}};
  usage.unlisted.add(more_machine_options(options)).add(scheduler_options(options));
  auto features = option_group("Features");
  add_flags(features, memory_feature_flags(), options.overrides);
  usage.unlisted.add(features);
  add_flags(usage.options, memory_flags(), question);
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  const EngineOverrides given = options.overrides;  // those of a server's command line are its own
  take_from_command(options, line, context.err);
  refuse_idle_flags(given, question);
  note_version(options, context.err);

  const MemoryAnswer answer = memory(question);
  print(memory_document(answer), common->output, context);
  return code_of(is_yes(answer));
}

}  // namespace roofcast
