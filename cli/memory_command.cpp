// roofcast memory: what fits, term by term; --solve for the largest batch, context or smallest TP.
#include "base/error.hpp"
#include "cli/memory_document.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/from_command.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

using Solve = MemoryQuestion::Solve;

Solve parse_solve(const std::string& text, const std::string& flag) {
  if (text == "batch") return Solve::batch;
  if (text == "context") return Solve::context;
  if (text == "tp") return Solve::tensor_parallel;
  throw UsageError(flag + ": '" + text + "' is not one of batch, context, tp");
}

}  // namespace

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
  usage.unlisted.add(scheduler_options(options));
  usage.options.add_options()(
      "solve", converted(question.solve, "--solve", parse_solve)->value_name("WHAT"),
      "solve for batch (the largest), context (the longest) or tp (the smallest)")(
      "context", converted(question.context, "--context", parse_token_count)->value_name("TOKENS"),
      "for batch and tp: tokens per sequence (default --max-model-len)")(
      "batch", converted(question.batch, "--batch", parse_positive)->value_name("N"),
      "for context and tp: number of sequences (default 1)");
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  take_from_command(options, line, context.err);
  leave_out_drafts(options, context.err);

  const MemoryAnswer answer = memory(question);
  write(memory_document(answer), common->output, context.out);
  return is_yes(answer) ? kExitDone : kExitNo;
}

}  // namespace roofcast
