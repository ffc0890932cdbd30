// roofcast estimate: the cost of prefill and of a decode step, and the reasons for it.
#include "cli/estimate_document.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/from_command.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

std::int64_t parse_batch(const std::string& text, const std::string& flag) {
  return parse_count_by(
      {.what = "number of sequences", .examples = "1, 256", .min = 1, .max = kMaxEstimatedBatch},
      text, flag);
}

}  // namespace

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
  usage.options.add_options()("batch",
                              converted(question.batch, "--batch", parse_batch)->value_name("N"),
                              "number of sequences (default 1)")(
      "input-len",
      converted(question.input_tokens, "--input-len", parse_positive)->value_name("TOKENS"),
      "prompt tokens per sequence, also --isl (default 1024)")(
      "output-len",
      converted(question.output_tokens, "--output-len", parse_positive)->value_name("TOKENS"),
      "generated tokens per sequence, also --osl (default 128)")(
      "ops", po::bool_switch(&operators), "list every operator of both steps");
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  take_from_command(options, line, context.err);
  leave_out_drafts(options, context.err);

  write(estimate_document(estimate(question), operators), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
