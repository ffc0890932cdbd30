// roofcast staircase: what the KV cache saves, counted; with a model and a GPU also timed.
#include "base/error.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/staircase_document.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {

int run_staircase(CommandContext& context) {
  DeploymentOptions deployment;
  StaircaseQuestion question;
  Usage usage{
      .synopsis = "roofcast staircase --prompt P --generate T [--model M --gpu G]",
      .example = "roofcast staircase --prompt 500 --generate 200 --model llama-3.1-8b --gpu h100",
      .options = option_group("Options"),
      .unlisted = scheduler_options(deployment),
      .positional = {}};
  usage.options.add_options()(
      "prompt",
      converted(question.prompt, "--prompt", parse_token_count)->required()->value_name("TOKENS"),
      "tokens of the prompt")("generate",
                              converted(question.generate, "--generate", parse_token_count)
                                  ->required()
                                  ->value_name("TOKENS"),
                              "tokens generated")(
      "acceptance", converted(question.acceptance, "--acceptance", parse_share)->value_name("P"),
      "speculative decoding: acceptance probability of a draft token")(
      "num-speculative-tokens", po::value(&question.drafts)->value_name("K"),
      "draft tokens per step (default 4 with --acceptance)");
  usage.options.add(machine_options(deployment)).add(engine_options(deployment));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;

  if (!deployment.model.empty() || !deployment.gpu.empty()) {
    if (question.generate > kMaxTimedTokens) {
      throw UsageError(
          "--generate: at most 1,000,000 tokens are timed individually (without --model and --gpu "
          "they are only counted, in any number)");
    }
    question.deployment = deployment;
  }
  write(staircase_document(staircase(question)), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
