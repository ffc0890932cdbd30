// roofcast estimate: the cost of prefill and of a decode step, and the reasons for it.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/spelling.hpp"
#include "reports/document.hpp"
#include "reports/pages/operator_table.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {
namespace {

std::string change(Seconds before, Seconds after) {
  const double percent = std::round((after / before - 1.0) * 100.0);
  return percent == 0 ? "0 %" : fmt::format("{:+.0f} %", percent);
}

Table variant_table(const std::vector<FormatAnswer>& variants) {
  Table table{.title = "Other number formats",
              .columns = {{"Format", false},
                          {"Prefill"},
                          {""},
                          {"Decode step"},
                          {""},
                          {"Weights/GPU"},
                          {"KV cache/GPU"}},
              .rows = {}};
  for (const FormatAnswer& variant : variants) {
    const FormatAnswer& first = variants.front();
    table.rows.push_back({variant.name, as_time(variant.prefill),
                          change(first.prefill, variant.prefill), as_time(variant.decode_step),
                          change(first.decode_step, variant.decode_step),
                          as_gib(variant.weight_bytes), as_gib(variant.cache_bytes)});
  }
  return table;
}

std::string source(double relative_uncertainty, const std::vector<OperatorAnswer>& operators) {
  return fmt::format("±{} ({})", as_percent(relative_uncertainty, 0),
                     describe_provenance(operators));
}

Table answer_table(const EstimateAnswer& answer) {
  Table table{.title = "", .columns = {{"", false}, {""}, {"", false}}, .rows = {}};
  const auto row = [&](const char* name, const std::string& value, const std::string& remark) {
    table.rows.push_back({name, value, remark});
  };
  row("prefill", as_time(answer.prefill),
      source(answer.prefill_relative_uncertainty, answer.operators.prefill));
  row("decode step, mean", as_time(answer.decode_step),
      source(answer.decode_relative_uncertainty, answer.operators.decode));
  row("output tokens/s", fixed(answer.output_tokens_per_s, 1), "prefill included");
  row("decode tokens/s", fixed(answer.decode_tokens_per_s, 1), "once prefill is done");
  row("MFU of prefill", as_percent(answer.mfu), "of the dense peak");
  row("MBU of decode", as_percent(answer.mbu), "of the memory bandwidth");
  row("ridge point", fixed(answer.ridge.value, 1), "FLOP/byte");
  row("decode becomes compute-bound at",
      answer.compute_bound_batch ? with_separators(*answer.compute_bound_batch) : "never",
      "sequences");
  return table;
}

Section head_section(const EstimateAnswer& answer) {
  const EstimateInputs& inputs = answer.inputs;
  Section head{.heading = headline(inputs.deployment),
               .lines = {fmt::format("{} of {} prompt and {}", counted(inputs.batch, "sequence"),
                                     with_separators(inputs.input_tokens),
                                     counted(inputs.output_tokens, "output token"))},
               .table = answer_table(answer)};
  if (!answer.fits && answer.fitting_sequences) {
    const std::int64_t fitting = *answer.fitting_sequences;
    head.lines.push_back(fmt::format(
        "Only {} in memory at once (roofcast memory).",
        fitting == 1 ? "1 such sequence fits" : with_separators(fitting) + " such sequences fit"));
  }
  return head;
}

/// Prefill and decode time, rates, MFU, MBU, ridge and crossing, and the effect of other number
/// formats; with `list_operators` also a table of the operators of both steps in text output.
Document estimate_document(const EstimateAnswer& answer, bool list_operators) {
  Document document{.machine = to_json(answer), .sections = {head_section(answer)}};
  const auto add = [&](Table table) {
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  };
  if (list_operators) {
    const auto& [prefill, decode] = answer.operators;
    add(operator_table({prefill, answer.host.prefill, answer.step.prefill}, "Prefill"));
    add(operator_table({decode, answer.host.decode, answer.step.decode}, "Decode step"));
  }
  add(variant_table(answer.variants));
  return document;
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
  add_flags(usage.options, estimate_flags(), question);
  usage.options.add_options()("ops", po::bool_switch(&operators),
                              "list every operator of both steps");
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  take_from_command(options, line, context.err);
  leave_out_drafts(options, context.err);

  print(estimate_document(estimate(question), operators), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
